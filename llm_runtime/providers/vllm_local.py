"""vLLM in the worker's own process.

For a GPU worker that owns its card and needs no server. Requests that come while a batch is being
computed wait and form the next one, so the engine's continuous batching stays full. vLLM fails a
whole batch for one conversation that is too long, so every prompt is counted before it joins.
Weights are read at the first use.
"""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from llm_runtime.base import Limits, Message, ModelReply, ModelRequest, ProviderError
from llm_runtime.errors import ModelError, PromptTooLong, SchemaRefused, Unavailable
from llm_runtime.thinking import TEMPLATE, choose_thinking, thinking_tokens

#: Fields of `extra` that a server reads beside the sampling parameters.
_NOT_SAMPLING = frozenset({TEMPLATE, "priority"})


@dataclass
class _Waiting:
    """A request and the future that its caller awaits on its own loop."""

    request: ModelRequest
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[ModelReply]


class LocalVllm:
    """One engine for each process.

    `engine` goes to `vllm.LLM` unchanged (tensor_parallel_size, dtype, gpu_memory_utilization…).

    `extra` has sampling parameters that replace a request's own (temperature, top_p…)
    and `chat_template_kwargs`. Raises ProviderError for an output that is neither schema nor table,
    for an `extra` or `engine` that is no object, and for settings of thinking that contradict each
    other (`llm_runtime.thinking`).
    """

    def __init__(
        self,
        *,
        model: str,
        context: int,
        batch: int = 64,
        output: str = "schema",
        thinking: str | None = None,
        reasoning: int = 4000,
        engine: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        if output not in ("schema", "table"):
            raise ProviderError("output must be schema or table")
        for option, value in (("engine", engine), ("extra", extra)):
            if value is not None and not isinstance(value, Mapping):
                raise ProviderError(f"{option} must be an object")
        self.model = model
        self.name = f"{model.rstrip('/').split('/')[-1]}@local"
        self.limits = Limits(
            context=context,
            concurrency=batch,
            schema=output == "schema",
            **thinking_tokens(choose_thinking(thinking, reasoning, extra), reasoning),
        )
        self.extra: Mapping[str, Any] = dict(extra or {})
        self._template = (
            {"chat_template_kwargs": dict(self.extra[TEMPLATE])} if TEMPLATE in self.extra else {}
        )
        self._engine_options = dict(engine or {})
        self._waiting: list[_Waiting] = []
        self._lock = threading.Lock()
        # One thread computes; the engine is not to be entered by two.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="vllm")

    def describe(self) -> dict[str, Any]:
        """Return what a run records about the model."""
        return {
            "name": self.name,
            "endpoint": "",
            "context": self.limits.context,
            "concurrency": self.limits.concurrency,
            "output": "schema" if self.limits.schema else "table",
            "thinking": self.limits.thinking.value,
            "reasoning": self.limits.reasoning or self.limits.native,
            "extra": dict(self.extra),
        }

    async def generate(self, request: ModelRequest) -> ModelReply:
        """One reply. Raises PromptTooLong, SchemaRefused, Unavailable."""
        used = await self.count_tokens(request.messages)
        if used + request.max_tokens > self.limits.context:
            raise PromptTooLong("prompt and answer do not fit the context of the model")
        loop = asyncio.get_running_loop()
        waiting = _Waiting(request, loop, loop.create_future())
        with self._lock:
            self._waiting.append(waiting)
        self._thread.submit(self._drain)
        return await waiting.answer

    async def count_tokens(self, messages: Sequence[Message]) -> int:
        """As the model's chat template renders them."""
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, self._count, list(messages)
        )

    def _count(self, messages: list[Message]) -> int:
        words = self._template.get(TEMPLATE, {})
        rendered = self._engine.get_tokenizer().apply_chat_template(
            _chat(messages), add_generation_prompt=True, tokenize=True, **words
        )
        ids = rendered["input_ids"] if hasattr(rendered, "keys") else rendered
        return len(ids)

    def _drain(self) -> None:
        """Compute all waiting requests as one batch, without the cancelled ones."""
        with self._lock:
            batch = [
                w for w in self._waiting[: self.limits.concurrency] if not w.answer.cancelled()
            ]
            del self._waiting[: self.limits.concurrency]
        if not batch:
            return
        for waiting, outcome in zip(
            batch, self._compute_replies([w.request for w in batch]), strict=True
        ):
            waiting.loop.call_soon_threadsafe(_settle, waiting.answer, outcome)

    def _compute_replies(self, requests: list[ModelRequest]) -> list[ModelReply | ModelError]:
        try:
            parameters = [self._parameters(r) for r in requests]
            outputs = self._engine.chat(
                [_chat(r.messages) for r in requests], parameters, use_tqdm=False, **self._template
            )
        except Exception as error:  # the engine may raise anything; the words may quote the prompt
            if len(requests) > 1:
                # One request can fail a batch: each is tried separately, so that only the culprit
                # fails.
                return [
                    outcome for request in requests for outcome in self._compute_replies([request])
                ]
            return [_failure(error)]
        return [_reply(output) for output in outputs]

    def _parameters(self, request: ModelRequest) -> Any:
        parameters = importlib.import_module("vllm").SamplingParams
        structured = None
        if request.schema is not None:
            structured = importlib.import_module("vllm.sampling_params").StructuredOutputsParams(
                json=dict(request.schema)
            )
        asked = {
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "seed": request.seed,
        }
        own = {name: value for name, value in request.extra.items() if name not in _NOT_SAMPLING}
        return parameters(**{**asked, **own}, structured_outputs=structured)

    @cached_property
    def _engine(self) -> Any:
        try:
            vllm = importlib.import_module("vllm")
        except ImportError as error:
            raise ProviderError(
                "the provider 'vllm' needs the package vllm in the worker's own environment: pip"
                " install vllm. Its pins clash with the application's; where that matters, serve"
                " the model and use the provider 'openai'"
            ) from error
        return vllm.LLM(model=self.model, max_model_len=self.limits.context, **self._engine_options)


def _chat(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [{"role": m.role, "content": m.content} for m in messages]


def _reply(output: Any) -> ModelReply:
    (choice,) = output.outputs
    return ModelReply(
        text=choice.text,
        finish_reason=choice.finish_reason or "stop",
        tokens_in=len(output.prompt_token_ids or ()),
        tokens_out=len(choice.token_ids),
        tokens_cached=output.num_cached_tokens,
        raw={"text": choice.text, "finish_reason": choice.finish_reason},
    )


def _failure(error: Exception) -> ModelError:
    words = str(error).lower()
    if "maximum" in words and ("length" in words or "context" in words):
        return PromptTooLong("prompt and answer do not fit the context of the model")
    if "grammar" in words or "schema" in words or "structured" in words:
        return SchemaRefused("the engine cannot hold an answer to this schema")
    return Unavailable(f"the engine failed ({type(error).__name__})")


def _settle(answer: asyncio.Future[ModelReply], outcome: ModelReply | ModelError) -> None:
    if answer.done():
        return
    if isinstance(outcome, ModelReply):
        answer.set_result(outcome)
    else:
        answer.set_exception(outcome)
