"""The members of a result as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.http import StreamingHttpResponse

from accounts.audit.trail import record
from accounts.scoping import StudyRequest
from cohorts.exposing import expose
from cohorts.models import MemberDecision, WindowMember, WindowResult
from cohorts.windows.counting import choose_members, find_before, open_members
from cohorts.windows.results import standing_answers
from timelines.access.closed import closed_encounters
from timelines.formats.tables.writer import safe_cell

HEADS = (
    "case", "first", "first_share", "second", "second_share", "first_deciding", "second_deciding",
    "answer", "answer_reason", "answered_by", "member",
)  # fmt: skip


class _Echo:
    """Return what is written, so that lines are streamed."""

    def write(self, text: str) -> str:
        return text


def send_members(request: StudyRequest, result: WindowResult, shown: str) -> StreamingHttpResponse:
    """Return the members of the open cases; `shown` filters as `choose_members`.

    Every case in it counts as seen by the person. Raises AskFirst.
    """
    members = open_members(result, closed_encounters(request.user))
    chosen = choose_members(members, shown, find_before(result)).select_related("encounter")
    expose(request, chosen.values_list("encounter__public_id", flat=True))
    record(
        actor=request.user,
        study=request.study,
        action="window.download",
        object_type="cohorts.windowresult",
        object_id=result.public_id,
    )
    keys = list(chosen.values_list("encounter_id", flat=True))
    response = StreamingHttpResponse(
        write_members(
            chosen.iterator(chunk_size=2000), standing_answers(result.version.window, keys)
        ),
        content_type="text/csv; charset=utf-8",
    )
    response["Content-Disposition"] = 'attachment; filename="members.csv"'
    return response


def write_members(
    members: Iterable[WindowMember], answers: Mapping[int, MemberDecision]
) -> Iterator[str]:
    """Yield the lines; `member` is a person's answer, else that of the second source."""
    writer: Any = csv.writer(_Echo(), lineterminator="\n")
    yield writer.writerow(HEADS)
    for member in members:
        answer = answers.get(member.encounter_id)
        yield writer.writerow(
            [
                safe_cell(member.encounter.case_id),
                member.first,
                member.first_share,
                member.second,
                member.second_share,
                _deciding(member.first_deciding),
                _deciding(member.second_deciding),
                answer.status if answer else "",
                safe_cell(answer.reason) if answer else "",
                safe_cell(answer.by.username) if answer else "",
                answer.status if answer else member.second or member.first,
            ]
        )


def _deciding(stored: Sequence[Mapping[str, Any]]) -> str:
    words = "; ".join(
        f"{one['concept']}: {one['text']}"
        + ("" if one["row_index"] is None else f" [row {one['row_index']}]")
        for one in stored
    )
    return safe_cell(words)
