"""The ledger's requests to outside, and the answers that come back.

See docs/reference/exchange.md. A request that is out is a call with the outcome `pending`; its
answer is a row `answered`, whose endpoint is "exchange". The poster finds the answer in the ledger
as it finds any other, checks it, and stores the call itself.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from llm_runtime.base import ModelReply
from llm_runtime.calls.exchange_files import (
    ENDPOINT,
    AnswerRefused,
    ExchangeFolder,
    PostedRequest,
    parse_request,
    scan_folder,
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


@dataclass(frozen=True, slots=True)
class FoundAnswer:
    """A usable answer file and the call that posted its request.

    `known` says that this answer is stored.
    """

    call: ModelCall
    reply: ModelReply
    path: Path
    known: bool


def find_unanswered(owners: Q) -> QuerySet[ModelCall]:
    """The requests of these owners that are out."""
    replies = ModelCall.objects.filter(request_id=OuterRef("request_id"), response__isnull=False)
    asked = ModelCall.objects.filter(owners, outcome=Outcome.PENDING)
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


def read_answers(folder: ExchangeFolder, owners: Q) -> tuple[dict[str, FoundAnswer], AnswerReport]:
    """Return the usable answers to requests of these owners, by digest.

    The report has the other files. A refused answer stops none of the others. A second answer to a
    request is accepted only if it is the same.
    """
    usable, report = {}, AnswerReport()
    for sha256, paths in folder.answers.items():
        calls = ModelCall.objects.filter(owners, request_id=sha256, outcome=Outcome.PENDING)
        call = calls.order_by("pk").first()
        try:
            if call is not None:
                reply = folder.find_answer(sha256)
                known = _is_stored(sha256, reply, paths[0])
                usable[sha256] = FoundAnswer(call, reply, paths[0], known)
            elif _is_known(folder, sha256):
                report.left += 1
            else:
                raise AnswerRefused(f"{paths[0].name}: no run needs this answer")
        except AnswerRefused as refused:
            report.refused.append(str(refused))
    return usable, report


def store_answers(folder: Path, owners: Q, by: str = "") -> AnswerReport:
    """Store every answer in the folder to a request of these owners.

    Raises OSError.
    """
    usable, report = read_answers(scan_folder(folder), owners)
    for sha256, answer in usable.items():
        try:
            new = not answer.known and _store(answer, by)
        except AnswerRefused as refused:
            report.refused.append(str(refused))
        else:
            report.answered.append(sha256)
            report.known += not new
    return report


def _is_known(folder: ExchangeFolder, sha256: str) -> bool:
    """Return whether the request is known.

    It is in the folder unchanged, or anyone here has posted it.
    """
    return (
        folder.has_request(sha256)
        or ModelCall.objects.filter(request_id=sha256, outcome=Outcome.PENDING).exists()
    )


def _is_stored(sha256: str, reply: ModelReply, path: Path) -> bool:
    """Return whether this answer is stored.

    Raises AnswerRefused if another one is.
    """
    stored = find_reply(sha256)
    if stored is None:
        return False
    if (stored.text, stored.finish_reason) != (reply.text, reply.finish_reason):
        raise AnswerRefused(
            f"{path.name}: this request has another answer already, which was not changed"
        )
    return True


@transaction.atomic
def _store(answer: FoundAnswer, by: str) -> bool:
    """Store the reply; return False if it is there already.

    Raises AnswerRefused if another one is.
    """
    call, reply = answer.call, answer.reply
    ModelRequestText.objects.select_for_update().get(pk=call.request_id)
    if _is_stored(call.request_id, reply, answer.path):
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
