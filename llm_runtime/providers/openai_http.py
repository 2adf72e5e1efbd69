"""Language models behind an OpenAI-compatible server.

vLLM first; llama.cpp's server and others answer the same calls. Three jittered attempts on connect,
timeout, 429 and 5xx, never on 400 (see `http_client`), and every outcome becomes one of
`llm_runtime.errors`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from llm_runtime.base import Limits, Message, ModelReply, ModelRequest, ProviderError
from llm_runtime.calls.server_facts import CONTEXT, NO_FACTS, ServerFacts, messages_sha256
from llm_runtime.calls.slots import take_slot
from llm_runtime.errors import ModelError, PromptTooLong, RequestRefused, SchemaRefused, Unavailable
from llm_runtime.providers.http_client import TRIES, call_with_retries, client_library, parse_host
from llm_runtime.thinking import choose_thinking, thinking_tokens

#: Fewest characters of a token, on clinical English, if the server cannot count: an upper
#: estimate of the tokens.
CHARACTERS_A_TOKEN = 2.5


class OpenAIModel:
    """One model of one endpoint.

    `context` is its context length in tokens (None: as the server says, see `learn`), `concurrency`
    how many calls go out at once, `output` "schema" if the server constrains answers to a JSON
    schema, else "table"; `thinking` where it thinks, `reasoning` the tokens for that. `connect`
    and `read` are seconds. `extra` fields go with every request. Raises ProviderError if the
    client library is missing, the address is none or a number is out of its range.
    """

    #: Stores counts and a learned context for a time when the server is away.
    facts: ServerFacts = NO_FACTS

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        context: int | None = None,
        api_key: str = "",
        concurrency: int = 8,
        output: str = "schema",
        thinking: str | None = None,
        reasoning: int = 4000,
        connect: float = 5.0,
        read: float = 1800.0,
        extra: Mapping[str, Any] | None = None,
        backoff: float = 1.0,
    ) -> None:
        host = parse_host(base_url, port=8001)
        if output not in ("schema", "table"):
            raise ProviderError("output must be schema or table")
        for option, value, least in (
            ("context", context, 1),
            ("concurrency", concurrency, 1),
        ):
            if not (option == "context" and value is None) and (
                type(value) is not int or value < least
            ):
                raise ProviderError(f"{option} must be a whole number of {least} or more")
        for option, seconds in (("connect", connect), ("read", read), ("backoff", backoff)):
            if type(seconds) not in (int, float) or not seconds > 0:
                raise ProviderError(f"{option} must be a number of seconds above 0")
        if extra is not None and not isinstance(extra, Mapping):
            raise ProviderError("extra must be an object of request fields")
        chosen = choose_thinking(thinking, reasoning, extra)
        self.base_url = base_url.rstrip("/")
        self.model = model
        self.name = f"{model}@{host}"
        self.endpoint = host
        self._context = context
        self._certain = context is not None
        self._concurrency = concurrency
        self._schema = output == "schema"
        self._thinking, self._reasoning = chosen, thinking_tokens(chosen, reasoning)
        self._api_key = api_key or "none"
        self._timeouts = (connect, read)
        self.extra: Mapping[str, Any] = dict(extra or {})
        self._backoff = backoff
        # A client and its connections belong to one event loop; stages of several threads may each
        # run one.
        self._clients: dict[asyncio.AbstractEventLoop, tuple[Any, asyncio.Semaphore]] = {}

    @property
    def limits(self) -> Limits:
        """Return the limits.

        Raises ProviderError if the context length is neither set nor learned yet.
        """
        if self._context is None:
            raise ProviderError(f"{self.name}: the context length is not known yet")
        return Limits(
            context=self._context,
            concurrency=self._concurrency,
            schema=self._schema,
            **self._reasoning,
        )

    async def learn(self) -> None:
        """Ask the server once for the context length unless it is set.

        Raises Unavailable, RequestRefused.

        While the server is away the length that it said last will do.
        """
        if self._certain:
            return
        known = await self.facts.find(self.name, CONTEXT)
        try:
            served = (await self.fetch_model(TRIES if known is None else 1)).get("max_model_len")
        except Unavailable:
            if known is None:
                raise
            self._context = known
            return
        if not isinstance(served, int) or served < 1:
            raise RequestRefused(
                f"{self.name}: the server does not say its context length; set `context`"
            )
        if served != known:
            await self.facts.keep(self.name, CONTEXT, served)
        self._context, self._certain = served, True

    def describe(self) -> dict[str, Any]:
        """Return what a run records about the model; never the key."""
        return {
            "name": self.name,
            "endpoint": self.endpoint,
            "context": self._context,
            "concurrency": self._concurrency,
            "output": "schema" if self._schema else "table",
            "thinking": self._thinking.value,
            "reasoning": max(self._reasoning.values()),
            "extra": dict(self.extra),
        }

    async def generate(self, request: ModelRequest) -> ModelReply:
        """Return one reply.

        Raises Unavailable, PromptTooLong, SchemaRefused, RequestRefused.
        """
        fields: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "extra_body": {**self.extra, **request.extra},
        }
        if request.seed is not None:
            fields["seed"] = request.seed
        if request.schema is not None:
            fields["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": request.schema, "strict": True},
            }
        client, _ = self._client()
        async with take_slot(self.endpoint, self._concurrency):
            return self._reply(await self._retry(lambda: client.chat.completions.create(**fields)))

    async def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the tokens of the chat as the server renders it.

        An upper estimate if it does not offer that (other than vLLM). Messages that were counted
        before are not sent again. Counting takes no slot: it would wait for answers that others
        have begun to write.
        """
        digest = messages_sha256(messages)
        known = await self.facts.find(self.name, digest)
        if known is not None:
            return known
        try:
            tokens = await self._request_count(messages)
        except (RequestRefused, KeyError, TypeError, ValueError):
            tokens = sum(int(len(m.content) / CHARACTERS_A_TOKEN) + 8 for m in messages)
            if not await self._is_served():
                # A wrong key or name: the estimate must not outlast it.
                return tokens
        await self.facts.keep(self.name, digest, tokens)
        return tokens

    async def _request_count(self, messages: Sequence[Message]) -> int:
        client, gate = self._client()
        root = self.base_url.removesuffix("/v1")
        body = {
            "model": self.model,
            "messages": [{"role": m.role, "content": m.content} for m in messages],
        }
        async with gate:
            counted = await self._retry(
                lambda: client.post(f"{root}/tokenize", body=body, cast_to=dict[str, Any])
            )
        return int(counted["count"])

    async def _is_served(self) -> bool:
        try:
            await self.fetch_model(tries=1)
        except ModelError:
            return False
        return True

    async def fetch_model(self, tries: int = TRIES) -> Mapping[str, Any]:
        """Return what the endpoint says of this model.

        `max_model_len` with vLLM. Raises RequestRefused if it does not serve the model.
        """
        client, _ = self._client()
        page = await self._retry(client.models.list, tries)
        for entry in page.data:
            if entry.id == self.model:
                facts: Mapping[str, Any] = entry.model_dump()
                return facts
        raise RequestRefused(f"the server at {self.endpoint} does not serve the model {self.model}")

    def ready(self) -> None:
        """Import the client library, a second or more the first time.

        Raises ProviderError if it is missing.
        """
        _ = self._library

    async def state(self) -> tuple[Mapping[str, Any], str]:
        """Return (what the endpoint says of this model, its metrics).

        Metrics are text or ""; both are asked once. Raises Unavailable, RequestRefused.
        """
        client, _ = self._client()
        try:
            facts = await self.fetch_model(tries=1)
            try:
                metrics = await client.get(
                    f"{self.base_url.removesuffix('/v1')}/metrics", cast_to=str
                )
            except self._library.OpenAIError:
                metrics = ""
            return facts, str(metrics)
        finally:
            await self.close()

    def _client(self) -> tuple[Any, asyncio.Semaphore]:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._forget_closed()
            connect, read = self._timeouts
            timeout = self._library.Timeout(read, connect=connect)
            client = self._library.AsyncOpenAI(
                base_url=self.base_url, api_key=self._api_key, max_retries=0, timeout=timeout
            )
            self._clients[loop] = (client, asyncio.Semaphore(self._concurrency))
        return self._clients[loop]

    def _forget_closed(self) -> None:
        for loop in [loop for loop in list(self._clients) if loop.is_closed()]:
            self._clients.pop(loop, None)

    async def close(self) -> None:
        """Close the connections of the running event loop.

        The next call opens new ones.
        """
        client, _ = self._clients.pop(asyncio.get_running_loop(), (None, None))
        if client is not None:
            await client.close()

    @cached_property
    def _library(self) -> Any:
        return client_library("the provider 'openai'")

    async def _retry(self, call: Callable[[], Awaitable[Any]], tries: int = TRIES) -> Any:
        return await call_with_retries(
            call, name=self.name, refusal=_refusal, tries=tries, backoff=self._backoff
        )

    @staticmethod
    def _reply(completion: Any) -> ModelReply:
        raw: dict[str, Any] = completion.model_dump(exclude_unset=True)
        try:
            (choice,) = raw["choices"]
            message = choice["message"]
        except (KeyError, ValueError, TypeError):
            raise Unavailable("the server sent an answer without a choice") from None
        usage = raw.get("usage") or {}
        details = usage.get("prompt_tokens_details") or {}
        return ModelReply(
            text=message.get("content") or "",
            finish_reason=choice.get("finish_reason") or "stop",
            tokens_in=usage.get("prompt_tokens"),
            tokens_out=usage.get("completion_tokens"),
            tokens_cached=details.get("cached_tokens"),
            raw=raw,
            reasoning=message.get("reasoning") or message.get("reasoning_content") or "",
        )


def _refusal(status: int, message: str) -> ModelError:
    """Classify a 4xx. vLLM gives no code for these, only words."""
    words = message.lower()
    if status in (400, 413, 422) and (
        "context length" in words
        or "maximum model length" in words
        or "longer than the maximum" in words
    ):
        return PromptTooLong("prompt and answer do not fit the context of the model")
    if status in (400, 422) and ("grammar" in words or "schema" in words or "structured" in words):
        return SchemaRefused("the server cannot hold an answer to this schema")
    if status in (401, 403):
        return RequestRefused(f"the server refuses the key ({status})")
    if status == 404:
        return RequestRefused(
            "the server does not know the model, or the address has no such call (404)"
        )
    return RequestRefused(f"the server refuses the request ({status})")
