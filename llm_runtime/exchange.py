"""The ledger's requests to outside, and the answers that come back.

See docs/reference/exchange.md.

A request that is out is a call with the outcome `pending`; its answer is a row `answered`, whose
endpoint is "exchange". The poster finds the answer in the ledger as it finds any other,
checks it, and stores the call itself.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from llm_runtime.base import ModelReply
from llm_runtime.calls.exchange_files import (
    ENDPOINT,
    AnswerRefused,
    PostedRequest,
    answer_files,
    find_answer,
    has_request,
    parse_request,
)
from llm_runtime.ledger import find_reply, response_body
from llm_runtime.models import ModelCall, ModelRequestText, Outcome


@dataclass
class AnswerReport:
    """The result of reading a folder.

    `answered` are the digests whose answers are there now, `known` of them were there before.

    `left` counts answers to requests that are others' to import: these are in the same folder or
    were posted by another run.
    """

    answered: list[str] = field(default_factory=list)
    known: int = 0
    left: int = 0
    refused: list[str] = field(default_factory=list)


def find_unanswered(owner_type: str, owner_ids: Collection[str]) -> QuerySet[ModelCall]:
    """The requests of these owners that are out."""
    replies = ModelCall.objects.filter(request_id=OuterRef("request_id"), response__isnull=False)
    asked = ModelCall.objects.filter(
        owner_type=owner_type, owner_id__in=owner_ids, outcome=Outcome.PENDING
    )
    return asked.filter(~Exists(replies)).order_by("pk")


def build_requests(calls: QuerySet[ModelCall]) -> list[PostedRequest]:
    """The requests of these calls, each once."""
    found = {}
    for call in calls.select_related("request").iterator(chunk_size=100):
        request = parse_request(json.loads(call.request.body))
        found[call.request_id] = PostedRequest(
            request, call.model, call.role, call.prompt, call.prompt_sha256, call.part
        )
    return list(found.values())


def store_answers(
    folder: Path, owner_type: str, owner_ids: Collection[str], by: str = ""
) -> AnswerReport:
    """Store every answer in the folder to a request of these owners.

    A refused answer stops none of the others. Raises OSError.

    A second answer to a request is accepted only if it is the same, which changes nothing.
    """
    brought = AnswerReport()
    for sha256, paths in answer_files(folder).items():
        try:
            call = _find_call(sha256, owner_type, owner_ids)
            if call is None and _is_known(folder, sha256):
                brought.left += 1
                continue
            if call is None:
                raise AnswerRefused(f"{paths[0].name}: no run needs this answer")
            new = _answer(call, find_answer(folder, sha256, paths), paths[0], by)
        except AnswerRefused as refused:
            brought.refused.append(str(refused))
        else:
            brought.answered.append(sha256)
            brought.known += not new
    return brought


def _find_call(sha256: str, owner_type: str, owner_ids: Collection[str]) -> ModelCall | None:
    """The call of these owners that posted the request."""
    calls = ModelCall.objects.filter(
        owner_type=owner_type, owner_id__in=owner_ids, request_id=sha256, outcome=Outcome.PENDING
    )
    return calls.order_by("pk").first()


def _is_known(folder: Path, sha256: str) -> bool:
    """Return whether the request is known.

    It is in the folder unchanged, or anyone here has posted it.
    """
    return (
        has_request(folder, sha256)
        or ModelCall.objects.filter(request_id=sha256, outcome=Outcome.PENDING).exists()
    )


@transaction.atomic
def _answer(call: ModelCall, reply: ModelReply, path: Path, by: str) -> bool:
    """Store the reply; return False if it is there already.

    Raises AnswerRefused if another one is.
    """
    ModelRequestText.objects.select_for_update().get(pk=call.request_id)
    kept = find_reply(call.request_id)
    if kept is not None:
        if (kept.text, kept.finish_reason) != (reply.text, reply.finish_reason):
            raise AnswerRefused(
                f"{path.name}: this request has another answer already, which was not changed"
            )
        return False
    ModelCall.objects.create(
        owner_type=call.owner_type,
        owner_id=call.owner_id,
        role=call.role,
        model=call.model,
        endpoint=ENDPOINT,
        prompt=call.prompt,
        prompt_sha256=call.prompt_sha256,
        request_id=call.request_id,
        part=call.part,
        covers=call.covers,
        parameters=call.parameters,
        seed=call.seed,
        attempt=call.attempt,
        seconds=0.0,
        finish_reason=reply.finish_reason,
        response=response_body(replace(reply, raw={**reply.raw, **({"by": by} if by else {})})),
        outcome=Outcome.ANSWERED,
    )
    return True
