"""Validate the answers of a folder without importing them.

Each job that waits for one of them is repeated over a ledger that also has the folder's answers and
stores nothing. So an answer meets the validator that it meets after an import.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from asgiref.sync import sync_to_async
from django.db.models import Q

from jobs.errors import PermanentFailure, RequeueJob
from llm_runtime.base import ModelReply
from llm_runtime.calls.calling import Call
from llm_runtime.calls.exchange_files import scan_folder, write_index
from llm_runtime.errors import ModelError, TooLarge
from llm_runtime.exchange.answers import read_answers
from llm_runtime.exchange.runs import ExchangeRun, find_kinds
from llm_runtime.ledger import find_reply
from llm_runtime.models import ModelCall, Outcome


@dataclass
class CheckReport:
    """The result of a check.

    `rejected` are sentences that begin with the file's name. `unchecked` files answer requests
    that their job did not reach or does not ask any more, with the reason if one is known.
    """

    valid: int = 0
    known: int = 0
    left: int = 0
    unanswered: int = 0
    rejected: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)


@dataclass
class FolderLedger:
    """The stored replies and those of a folder. It stores no call.

    `reasons` are the validator's for each answer of the folder that was used; none if it is valid.
    """

    replies: Mapping[str, ModelReply]
    reasons: dict[str, tuple[str, ...]] = field(default_factory=dict)

    async def find(self, request_sha256: str) -> ModelReply | None:
        stored = await sync_to_async(find_reply)(request_sha256)
        return stored or self.replies.get(request_sha256)

    async def too_large(self, request_sha256: str) -> TooLarge | None:
        return None

    async def keep(self, call: Call) -> None:
        """Store nothing: no model was asked."""

    async def reuse(self, call: Call) -> None:
        if call.request_sha256 in self.replies:
            self.reasons[call.request_sha256] = call.reasons


def check_answers(path: Path, run: ExchangeRun | None = None) -> CheckReport:
    """Validate the folder's answers to requests of the run.

    Without a run, of every run here. Stores nothing but the folder's index. Raises OSError.
    """
    folder = scan_folder(path)
    write_index(path)
    kinds = find_kinds()
    owners = run.owners() if run else Q(owner_type__in=kinds)
    usable, others = read_answers(folder, owners)
    new = {sha256: answer for sha256, answer in usable.items() if not answer.known}
    ledger = FolderLedger({sha256: answer.reply for sha256, answer in new.items()})
    asking = ModelCall.objects.filter(owners, outcome=Outcome.PENDING, request_id__in=new)
    stopped: dict[str, str] = {}
    for owner_type, owner_id, sha256 in asking.order_by("pk").values_list(
        "owner_type", "owner_id", "request_id"
    ):
        if sha256 in ledger.reasons:
            continue
        try:
            kinds[owner_type].replay(int(owner_id), ledger)
        except (ModelError, RequeueJob):
            pass  # the next request has no answer, or an answer was rejected: both are recorded
        except PermanentFailure as failure:
            stopped[sha256] = str(failure)
    report = CheckReport(
        known=len(usable) - len(new),
        left=others.left,
        unanswered=len(folder.unanswered),
        rejected=others.refused,
    )
    for sha256, answer in new.items():
        if sha256 not in ledger.reasons:
            why = stopped.get(sha256, "its job did not reach this request, or has ended")
            report.unchecked.append(f"{answer.path.name}: not checked: {why}")
        elif reasons := ledger.reasons[sha256]:
            report.rejected.append(f"{answer.path.name}: {'; '.join(reasons)}")
        else:
            report.valid += 1
    return report
