"""Ask a model until its answer is valid.

A fixed retry policy that stores every attempt. Source: protocol section 2, "Rejected output".

Three attempts; attempt k uses seed s + k; from the second on the validator's reasons are shown to
the model. A call that the ledger already has is not made again: neither one that succeeded nor
one whose answer was refused. If a person repeats the whole case, the attempts are counted on:
valid answers are reused, and refused ones are asked again with later seeds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from asgiref.sync import async_to_sync

from llm_runtime.base import LanguageModel, Message, ModelReply, ModelRequest, Served
from llm_runtime.errors import (
    AnswerRejected,
    AttemptsExhausted,
    ModelError,
    Pending,
    PromptTooLong,
    SchemaRefused,
    TooLarge,
    Truncated,
    Unavailable,
)
from llm_runtime.prompts import Rendered

ATTEMPTS = 3

T = TypeVar("T")
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt as it is stored.

    `reasons` say why its answer was refused, or how it ended; empty when it was accepted.

    `error` is the class of a ModelError if no reply came, "AnswerRejected" if the answer was
    refused, "" if it was accepted. `covers` names what the answer decides (UIDs, or "start:end"
    of the note).
    """

    role: str
    model: str
    prompt: str
    prompt_sha256: str
    part: str
    request: ModelRequest
    request_sha256: str
    attempt: int
    reply: ModelReply | None
    reasons: tuple[str, ...]
    seconds: float
    error: str = ""
    covers: tuple[str, ...] = ()
    #: What the prompt left out to fit, "" for nothing.
    shortened: str = ""


class Ledger(Protocol):
    """The store of all calls. No reply of a model is discarded."""

    async def find(self, request_sha256: str) -> ModelReply | None:
        """Return the stored reply to the same request; None without one.

        From any run.
        """
        ...

    async def too_large(self, request_sha256: str) -> TooLarge | None:
        """Return the size refusal of the same request; None without one."""
        ...

    async def keep(self, call: Call) -> None:
        """Store one attempt."""
        ...

    async def reuse(self, call: Call) -> None:
        """Record that a stored reply was reused at no cost."""
        ...


class MemoryLedger:
    """A ledger for notebooks and tests."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.reused: list[Call] = []

    async def find(self, request_sha256: str) -> ModelReply | None:
        return next(
            (
                c.reply
                for c in self.calls
                if c.request_sha256 == request_sha256 and c.reply is not None
            ),
            None,
        )

    async def too_large(self, request_sha256: str) -> TooLarge | None:
        return too_large(
            {c.error for c in self.calls if c.request_sha256 == request_sha256 and c.reply is None}
        )

    async def keep(self, call: Call) -> None:
        self.calls.append(call)

    async def reuse(self, call: Call) -> None:
        self.reused.append(call)


def too_large(errors: Collection[str]) -> TooLarge | None:
    """Return the size refusal among these classes of errors, or None."""
    for kind in (PromptTooLong, SchemaRefused):
        if kind.__name__ in errors:
            return kind("the server refused this request as too large before, and is away now")
    return None


def ask_again_whole(reasons: Sequence[str]) -> str:
    """Return the request for a whole new answer, with the reasons."""
    listed = "\n".join(f"- {reason}" for reason in reasons[:40])
    return (
        f"An earlier answer to this was refused by a program that checks it:\n{listed}\nAnswer"
        " again, whole, without these faults."
    )


@dataclass(frozen=True, slots=True)
class Asker:
    """One role's model with its ledger and policy.

    `round` counts how often a person asked for the whole case again: each round adds `attempts` to
    those of the rounds before it, whose answers are in the ledger.
    """

    role: str
    model: LanguageModel
    ledger: Ledger
    seed: int = 0
    attempts: int = ATTEMPTS
    round: int = 0
    temperature: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict)

    async def ask(
        self,
        prompt: Rendered,
        validate: Callable[[ModelReply], T],
        *,
        max_tokens: int,
        part: str,
        schema: Mapping[str, Any] | None = None,
        covers: Sequence[str] = (),
        complain: Callable[[Sequence[str]], str] = ask_again_whole,
    ) -> T:
        """Return the first valid answer, as `validate` returns it.

        `validate` refuses an answer by raising AnswerRejected. `complain` turns the reasons into
        the message that asks again.

        Raises AttemptsExhausted after the last refused attempt; TooLarge if a smaller request is
        needed (also if the last attempt of a round was cut at `max_tokens`); Unavailable
        and RequestRefused as the provider raises them.
        """
        refused: list[tuple[str, ...]] = []
        made = 0
        # Written into the request, and so into its digest: an answer under other settings is
        # another answer.
        extra = {**self.model.extra, **self.extra}
        for number in range(1, self.attempts * (self.round + 1) + 1):
            request = ModelRequest(
                messages=(*prompt.messages, *_complaint(refused, complain)),
                max_tokens=max_tokens,
                schema=schema,
                temperature=self.temperature,
                seed=self.seed + number,
                extra=extra,
            )
            call = Call(
                role=self.role,
                model=self.model.name,
                prompt=prompt.name,
                prompt_sha256=prompt.sha256,
                part=part,
                request=request,
                request_sha256=request.sha256(self.model.name),
                attempt=number,
                reply=None,
                reasons=(),
                seconds=0.0,
                covers=tuple(covers),
                shortened=prompt.shortened,
            )
            reply, paid, call = await self._reply(call)
            store = self.ledger.keep if paid else self.ledger.reuse
            made += paid
            try:
                if reply.finish_reason == "length":
                    raise AnswerRejected(
                        [
                            f"the answer was cut off after {reply.tokens_out or max_tokens} tokens;"
                            " answer more briefly"
                        ]
                    )
                answer = validate(reply)
            except AnswerRejected as rejection:
                refused.append(rejection.reasons)
                await _finish_saving(
                    store(replace(call, reasons=rejection.reasons, error=type(rejection).__name__))
                )
                if reply.finish_reason == "length" and number % self.attempts == 0:
                    raise Truncated(
                        f"{part}: every answer was cut off at {max_tokens} tokens"
                    ) from None
                if made == self.attempts:
                    break
                continue
            await _finish_saving(store(call))
            return answer
        raise AttemptsExhausted(part, refused)

    def run(self, main: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Run `main(*args)` from synchronous code and return its result.

        On an event loop of its own. First it learns what the server must say; afterwards it closes
        the connections.
        """

        async def run_main() -> T:
            served = self.model if isinstance(self.model, Served) else None
            try:
                if served:
                    await served.learn()
                return await main(*args)
            finally:
                if served:
                    await served.close()

        return async_to_sync(run_main)()

    async def _reply(self, call: Call) -> tuple[ModelReply, bool, Call]:
        """Return the ledger's reply or a new one.

        With whether it was paid for, and the call with it.
        """
        found = await self.ledger.find(call.request_sha256)
        if found is not None:
            return found, False, replace(call, reply=found)
        begun = time.monotonic()
        try:
            reply = await self.model.generate(call.request)
        except ModelError as error:
            if isinstance(error, Unavailable) and (
                refusal := await self.ledger.too_large(call.request_sha256)
            ):
                # What was split before is split again, and its halves are found.
                raise refusal from None
            name = type(error).__name__
            await self.ledger.keep(
                replace(
                    call,
                    reasons=(f"{name}: {error}",),
                    seconds=time.monotonic() - begun,
                    error=name,
                )
            )
            raise
        return reply, True, replace(call, reply=reply, seconds=time.monotonic() - begun)


async def _finish_saving(storing: Awaitable[None]) -> None:
    """Finish saving even if the caller is cancelled.

    The answer was paid for.
    """
    task = asyncio.ensure_future(storing)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise


def _complaint(
    refused: Sequence[Sequence[str]], complain: Callable[[Sequence[str]], str]
) -> tuple[Message, ...]:
    """Return the message that shows the model why its last answer was invalid.

    It comes last, so that the prompt before it stays a shared prefix.
    """
    return (Message("user", complain(refused[-1])),) if refused else ()


async def ask_in_parts(
    items: Sequence[Item], ask: Callable[[Sequence[Item]], Awaitable[Mapping[str, T]]]
) -> dict[str, T]:
    """Ask for all items at once, and for halves if that is too large.

    Too large for schema, context or answer. Nothing is dropped: the result covers every item.
    Raises TooLarge if a single item does not fit.
    """
    try:
        return dict(await ask(items))
    except TooLarge:
        if len(items) < 2:
            raise
    half = len(items) // 2
    first, second = await gather_results(
        [ask_in_parts(items[:half], ask), ask_in_parts(items[half:], ask)]
    )
    return {**first, **second}


async def gather_results(waiting: Sequence[Awaitable[T]]) -> list[T]:
    """Return the results in order.

    When one fails the others are cancelled, which frees the server, and the first error is raised.

    One whose answer comes from outside (Pending) stops no other: each goes on as far as it gets, so
    that all that is wanted is known.
    """
    tasks = [asyncio.ensure_future(one) for one in waiting]
    left = set(tasks)
    try:
        while left:
            done, left = await asyncio.wait(left, return_when=asyncio.FIRST_EXCEPTION)
            for error in (task.exception() for task in tasks if task in done):
                if error is not None and not isinstance(error, Pending):
                    raise error
        return [task.result() for task in tasks]
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
