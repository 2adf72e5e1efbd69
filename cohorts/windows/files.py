"""Write the members of a result as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from cohorts.models import MemberDecision, WindowMember
from timelines.formats.tables.writer import safe_cell

HEADS = (
    "case", "first", "first_share", "second", "second_share", "first_deciding", "second_deciding",
    "answer", "answer_reason", "answered_by", "member",
)  # fmt: skip


class _Echo:
    """Return what is written, so that lines are streamed."""

    def write(self, text: str) -> str:
        return text


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
