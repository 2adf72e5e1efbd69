"""The ledger in the database.

Every call is stored as it ends, and a request that was ever answered is not sent again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from asgiref.sync import sync_to_async
from django.db import transaction

from llm_runtime.base import ModelReply, ModelRequest
from llm_runtime.calls.calling import Call, too_large
from llm_runtime.errors import TooLarge
from llm_runtime.models import ModelCall, ModelRequestText, Outcome
from llm_runtime.servers.counting import count_call

#: Class of the error that ended a call → outcome.
_OUTCOMES: Mapping[str, Outcome] = {
    "": Outcome.ACCEPTED,
    "AnswerRejected": Outcome.REJECTED,
    "Truncated": Outcome.CUT,
    "PromptTooLong": Outcome.TOO_LONG,
    "SchemaRefused": Outcome.SCHEMA_REFUSED,
    "RequestRefused": Outcome.REFUSED,
    "Unavailable": Outcome.UNAVAILABLE,
    "Pending": Outcome.PENDING,
}


@dataclass(frozen=True, slots=True)
class DatabaseLedger:
    """Store the calls of one owner; find answers for all owners.

    It works on the connection of the thread that waits for the coroutine (`async_to_sync`). Rows of
    a worker that lost its lease are stored too: they record what happened and what it cost.
    """

    owner_type: str
    owner_id: str

    async def find(self, request_sha256: str) -> ModelReply | None:
        """Return the first reply to the same request; None without one."""
        return await sync_to_async(find_reply)(request_sha256)

    async def too_large(self, request_sha256: str) -> TooLarge | None:
        """Return how a server once refused that very request, or None."""
        return await sync_to_async(_too_large)(request_sha256)

    async def keep(self, call: Call) -> None:
        """Store one attempt, committed when this returns."""
        await sync_to_async(self._store)(call, reused=False)

    async def reuse(self, call: Call) -> None:
        """Store that a stored reply served this owner.

        The entry carries the reply, so that it stays when the first owner is deleted.
        """
        await sync_to_async(self._store)(call, reused=True)

    @transaction.atomic
    def _store(self, call: Call, *, reused: bool) -> None:
        ModelRequestText.objects.bulk_create(
            [ModelRequestText(sha256=call.request_sha256, body=request_body(call.request))],
            ignore_conflicts=True,
        )
        reply, outcome = call.reply, classify_outcome(call)
        if outcome is Outcome.PENDING and self._has_posted(call.request_sha256):
            return
        _, _, endpoint = call.model.partition("@")
        ModelCall.objects.create(
            owner_type=self.owner_type,
            owner_id=self.owner_id,
            role=call.role,
            model=call.model,
            endpoint=endpoint,
            prompt=call.prompt,
            prompt_sha256=call.prompt_sha256,
            request_id=call.request_sha256,
            part=call.part[:300],
            covers=list(call.covers),
            parameters={
                **parameters(call.request),
                **({"shortened": call.shortened} if call.shortened else {}),
            },
            seed=call.request.seed,
            attempt=call.attempt,
            reused=reused and not _is_first_use(call.request_sha256),
            tokens_in=reply.tokens_in if reply else None,
            tokens_cached=reply.tokens_cached if reply else None,
            tokens_out=reply.tokens_out if reply else None,
            seconds=call.seconds,
            finish_reason=reply.finish_reason[:40] if reply else "",
            response=None if reply is None else response_body(reply),
            outcome=outcome,
            reasons=list(call.reasons),
        )
        if not reused:
            count_call(call, outcome)

    def _has_posted(self, request_sha256: str) -> bool:
        """Return whether this owner has posted the request already.

        A stage that looks for its answer does not post it again.
        """
        own = ModelCall.objects.filter(
            owner_type=self.owner_type, owner_id=self.owner_id, request_id=request_sha256
        )
        return own.filter(outcome=Outcome.PENDING).exists()


def _is_first_use(request_sha256: str) -> bool:
    """Return whether no call has used the outside reply yet."""
    replies = ModelCall.objects.filter(request_id=request_sha256, response__isnull=False)
    return not replies.exclude(outcome=Outcome.ANSWERED).exists()


def _too_large(request_sha256: str) -> TooLarge | None:
    outcomes = set(
        ModelCall.objects.filter(request_id=request_sha256, response__isnull=True).values_list(
            "outcome", flat=True
        )
    )
    return too_large({error for error, outcome in _OUTCOMES.items() if outcome in outcomes})


def find_reply(request_sha256: str) -> ModelReply | None:
    """Return the first stored reply to that request, or None."""
    found = (
        ModelCall.objects.filter(request_id=request_sha256, response__isnull=False)
        .values_list("response", flat=True)
        .first()
    )
    return None if found is None else parse_reply(found)


def classify_outcome(call: Call) -> Outcome:
    """Return the outcome of the call; CUT and INVALID are distinct."""
    if call.reply is not None and call.reply.finish_reason == "length":
        return Outcome.CUT
    return _OUTCOMES.get(call.error, Outcome.FAILED)


def parameters(request: ModelRequest) -> dict[str, Any]:
    """Return the settings of the request.

    For a schema only whether it had one. The stored text of the request contains the schema.
    """
    values: dict[str, Any] = {
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "schema": request.schema is not None,
    }
    return {**values, "extra": dict(request.extra)} if request.extra else values


def request_body(request: ModelRequest) -> str:
    """Return the request as ASCII JSON.

    PostgreSQL's text has no NUL and no lone surrogates: they are escapes there.
    """
    return json.dumps(asdict(request))


def request_messages(body: str) -> list[tuple[str, str]]:
    """(role, content) of each message of a stored request."""
    return [(m["role"], m["content"]) for m in json.loads(body)["messages"]]


def response_body(reply: ModelReply) -> str:
    """The reply as ASCII JSON."""
    return json.dumps(asdict(reply))


def parse_reply(body: str) -> ModelReply:
    """The reply that `response_body` stored."""
    return ModelReply(**json.loads(body))
