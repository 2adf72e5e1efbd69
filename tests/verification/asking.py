"""Helpers to ask a real small model: clients, a case, and biases.

The biases lead a model of 135 million parameters to simple rows.
"""

from __future__ import annotations

import json
import urllib.request
from dataclasses import replace
from datetime import datetime
from typing import Any

from llm_runtime.calls.calling import Asker, Ledger
from llm_runtime.providers.openai_http import OpenAIModel
from tests.verification.vllm_server import Server
from timelines.backbones.prompted.backbone import ROLES, prompted_backbone
from timelines.backbones.rules.backbone import rules_backbone
from timelines.domain import Anchor, Inventory, Occurrence, TaggedNote, Window
from timelines.pipeline.backbone import Backbone
from timelines.pipeline.config import PipelineConfig

ANCHOR = Anchor(datetime(2150, 3, 1, 10, 0))
WINDOW = Window(ANCHOR, discharge=120.0)


def model(server: Server, **options: Any) -> OpenAIModel:
    """Return a client.

    The model is too small to end a reasoning, so it is asked for none.
    """
    return OpenAIModel(
        **{
            "base_url": server.base_url,
            "model": server.name,
            "reasoning": 0,
            "backoff": 0.05,
            **options,
        }
    )


def load_plain_options(server: Server) -> dict[str, Any]:
    """Return request fields that lead the model to simple rows.

    It is led to `null` and to rows without contexts if the schema leaves it the choice. Otherwise
    it names identifiers over and over and breaks bounds, which the validators refuse. The content
    of its answers is of no interest here.
    """
    biases = {"null": 6.0, "]}": 6.0, '["': -10.0, ",[": -10.0}
    return {"logit_bias": {str(token(server, text)): bias for text, bias in biases.items()}}


def token(server: Server, text: str) -> int:
    """The one token of a text."""
    body = json.dumps({"model": server.name, "prompt": text, "add_special_tokens": False}).encode()
    address = f"http://127.0.0.1:{server.port}/tokenize"
    with urllib.request.urlopen(
        urllib.request.Request(address, body, {"Content-Type": "application/json"}), timeout=30
    ) as answer:
        (found,) = json.load(answer)["tokens"]
    return int(found)


def backbone(
    client: OpenAIModel, ledger: Ledger, config: PipelineConfig, **options: Any
) -> Backbone:
    """Return the prompted backbone with the tagger of the rules.

    A model this small invents the words it quotes.
    """
    askers = {role: Asker(role, client, ledger, seed=config.seed, **options) for role in ROLES}
    return replace(prompted_backbone(askers, config), tagger=rules_backbone().tagger)


def make_marked_note(words: int) -> TaggedNote:
    """A note of that many one-word events, each with an identifier."""
    names = [f"event{n}" for n in range(words)]
    text = " ".join(names)
    found, at = [], 0
    for n, name in enumerate(names):
        found.append(Occurrence(f"{0xA000 + 7 * n:04x}", n, name, at, at + len(name)))
        at += len(name) + 1
    return TaggedNote(text, Inventory(tuple(found)))
