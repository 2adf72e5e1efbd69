"""The forward pass of a Llama-like decoder in NumPy.

It computes one text at a time, independently of transformers. Weights from safetensors, tokens from
tokenizer.json; no batching, no padding, no attention mask but "nothing later".
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

Floats = NDArray[np.float64]


class NumpyLlama:
    """Of a model folder. Everything is computed in 64-bit floats."""

    def __init__(self, folder: Path) -> None:
        self.weights = {
            name: values.astype(np.float64)
            for name, values in load_file(folder / "model.safetensors").items()
        }
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        self.layers = int(config["num_hidden_layers"])
        self.heads, self.groups = (
            int(config["num_attention_heads"]),
            int(config["num_key_value_heads"]),
        )
        self.size = int(config["hidden_size"]) // self.heads
        self.epsilon = float(config["rms_norm_eps"])
        self.theta = float((config.get("rope_parameters") or config)["rope_theta"])

    def tokens(self, text: str) -> list[int]:
        """Without tokens of the model's own."""
        found: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return found

    def last_state(self, tokens: list[int]) -> Floats:
        """(hidden,): the state of the last token after the final norm."""
        states = self.weights["model.embed_tokens.weight"][tokens]
        for layer in range(self.layers):
            name = f"model.layers.{layer}"
            states = states + self._attention(name, self._norm(states, f"{name}.input_layernorm"))
            inner = self._norm(states, f"{name}.post_attention_layernorm")
            gate = self._linear(inner, f"{name}.mlp.gate_proj")
            states = states + self._linear(
                gate / (1 + np.exp(-gate)) * self._linear(inner, f"{name}.mlp.up_proj"),
                f"{name}.mlp.down_proj",
            )
        last: Floats = self._norm(states, "model.norm")[-1]
        return last

    def embedding(self, tokens: list[int]) -> Floats:
        """(hidden,), of length 1."""
        state = self.last_state(tokens)
        unit: Floats = state / np.sqrt((state**2).sum())
        return unit

    def probability(self, tokens: list[int], yes: int, no: int) -> float:
        """Of `yes` as the next token, where only it and `no` may follow."""
        state, words = self.last_state(tokens), self.weights["model.embed_tokens.weight"]
        return float(1 / (1 + np.exp(words[no] @ state - words[yes] @ state)))

    def _attention(self, name: str, states: Floats) -> Floats:
        count = len(states)
        queries = self._turned(
            self._linear(states, f"{name}.self_attn.q_proj").reshape(count, self.heads, self.size)
        )
        keys = self._turned(
            self._linear(states, f"{name}.self_attn.k_proj").reshape(count, self.groups, self.size)
        )
        values = self._linear(states, f"{name}.self_attn.v_proj").reshape(
            count, self.groups, self.size
        )
        later = np.triu(np.full((count, count), -np.inf), 1)
        mixed = np.empty_like(queries)
        for head in range(self.heads):
            group = head * self.groups // self.heads
            scores = queries[:, head] @ keys[:, group].T / np.sqrt(self.size) + later
            weights = np.exp(scores - scores.max(1, keepdims=True))
            mixed[:, head] = weights / weights.sum(1, keepdims=True) @ values[:, group]
        return self._linear(mixed.reshape(count, -1), f"{name}.self_attn.o_proj")

    def _turned(self, states: Floats) -> Floats:
        """Apply rotary positions.

        The pair (i, i + size/2) is turned by the place times theta^(-2i/size).
        """
        half = self.size // 2
        angles = np.arange(len(states))[:, None] * self.theta ** (-np.arange(half) / half)
        cosine, sine = np.cos(angles)[:, None], np.sin(angles)[:, None]
        first, second = states[..., :half], states[..., half:]
        return np.concatenate(
            [first * cosine - second * sine, second * cosine + first * sine], axis=-1
        )

    def _norm(self, states: Floats, name: str) -> Floats:
        scaled: Floats = (
            states
            / np.sqrt((states**2).mean(-1, keepdims=True) + self.epsilon)
            * self.weights[f"{name}.weight"]
        )
        return scaled

    def _linear(self, states: Floats, name: str) -> Floats:
        product: Floats = states @ self.weights[f"{name}.weight"].T
        return product
