"""What a reviewer gets, as plain values: made of blinded items and of their own answers, and of
nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from adjudication.blinding.page import ANSWER_WORDS, RowLine
from adjudication.blinding.practice import PracticeCase
from adjudication.blinding.visibility import (
    BlindedItem,
    MaySee,
    RecordRow,
    ShownRow,
    ShownSeries,
    ShownSide,
    sides_swapped,
    unswapped,
)
from adjudication.judging.input import whole_hours
from adjudication.models import Assignment, Decision, ItemMark, PacketItem, Slot
from adjudication.review import slots
from adjudication.review.history import AnswerLine, GuessLine, guess_lines, own_answers
from adjudication.review.items import blind_item
from adjudication.review.opening import decision_draft
from adjudication.review.trail import record_item

_VALUES = {words: value for value, words in ANSWER_WORDS.items()}


def review_body(assignment: Assignment) -> dict[str, Any]:
    """One's place in a packet."""
    packet = assignment.packet
    return {
        "id": assignment.public_id,
        "study": packet.study.public_id,
        "packet": packet.public_id,
        "label": packet.label,
        "role": assignment.role,
        "state": packet.state,
        "practised": assignment.practised_at is not None,
        "signed_at": assignment.signed_at,
        "progress": progress_body(assignment),
    }


def progress_body(assignment: Assignment) -> dict[str, Any]:
    """How far one is."""
    found = slots.progress(assignment=assignment)
    return {
        "done": found.done,
        "total": found.total,
        "skipped": found.skipped,
        "flagged": found.flagged,
        "seconds_left": found.seconds_left,
    }


def item_body(
    assignment: Assignment, item: PacketItem, decided: Decision | None = None
) -> dict[str, Any]:
    """Return the blinded item with one's own draft or decision. The trail records it. Raise
    NoteChanged.
    """
    draft = decision_draft(decided) if decided else slots.draft_of(assignment=assignment, item=item)
    marked = ItemMark.objects.filter(assignment=assignment, item=item, flagged=True).exists()
    shown = blind_item(assignment=assignment, item=item)
    record_item(assignment=assignment, item=item)
    return {
        "id": item.public_id,
        **_content_body(shown),
        "stay_hours": whole_hours(shown.stay_hours),
        "admitted_at": shown.admitted_at.isoformat(timespec="minutes")
        if shown.admitted_at
        else None,
        "draft": _draft(assignment, item, draft),
        "flagged": marked,
        "decision": decided.public_id if decided else None,
    }


def practice_body(case: PracticeCase) -> dict[str, Any]:
    """A made-up case, without its answer."""
    return {"number": case.number, **_content_body(case.item)}


def rows_body(rows: Iterable[RecordRow]) -> list[dict[str, Any]]:
    """Rows of the record."""
    return [
        {"hours": r.hours, "value": r.value, "unit": r.unit, "time_kind": r.time_kind} for r in rows
    ]


def answers_body(assignment: Assignment, may: MaySee) -> list[dict[str, Any]]:
    """One's answers that stand, in the order they were first given; beside the judge's where they
    may be seen.
    """
    standing = Slot.objects.filter(assignment=assignment, decision__isnull=False).select_related(
        "decision"
    )
    decisions = {
        public_id: slot.decision
        for public_id, slot in ((s.item.public_id, s) for s in standing.select_related("item"))
    }
    return [
        _answer(assignment, line, decisions[line.item])
        for line in own_answers(assignment, may)
        if decisions.get(line.item)
    ]


def guesses_body(assignment: Assignment) -> list[dict[str, Any]]:
    """The questions of the blinding check."""
    return [_guess(line) for line in guess_lines(assignment)]


def _content_body(item: BlindedItem) -> dict[str, Any]:
    return {
        "question": item.question.value,
        "a": _side(item.left),
        "b": _side(item.right),
        "note": item.note,
        "spans": [{"start": start, "end": end} for start, end in item.spans],
        "series": [_series(s) for s in item.series],
    }


def _side(side: ShownSide) -> dict[str, Any]:
    return {
        "row": None if side.row is None else _row(side.row),
        "timeline": [_row(r) for r in side.timeline],
    }


def _row(row: ShownRow) -> dict[str, Any]:
    return {"event": row.event, "hours": row.hours, "candidate": row.candidate}


def _series(series: ShownSeries) -> dict[str, Any]:
    return {
        "number": series.number,
        "event": series.event,
        "summary": series.summary,
        "count": series.count,
        "rows": rows_body(series.rows),
    }


def _draft(assignment: Assignment, item: PacketItem, draft: Mapping[str, Any]) -> dict[str, Any]:
    """Build a draft's body: stored in the judge's labels, shown in the reviewer's."""
    return {
        "answer": unswapped(
            str(draft.get("answer") or ""), sides_swapped(assignment.seed, item.public_id)
        ),
        "own_time": draft.get("own_time"),
        "comment": str(draft.get("comment") or ""),
        "active_seconds": float(draft.get("active_seconds") or 0.0),
    }


def _answer(assignment: Assignment, line: AnswerLine, decision: Decision | None) -> dict[str, Any]:
    assert decision is not None
    return {
        "item": line.item,
        "decision": decision.public_id,
        "answer": unswapped(decision.answer, sides_swapped(assignment.seed, line.item)),
        "own_time": decision.own_time,
        "comment": line.comment,
        "flagged": line.flagged,
        "amended": line.amended,
        "a": _row_body(line.a),
        "b": _row_body(line.b),
        "judge": _VALUES[line.judge] if line.judge else None,
        "upheld": line.upheld,
    }


def _guess(line: GuessLine) -> dict[str, Any]:
    return {"item": line.item, "a": _row_body(line.a), "b": _row_body(line.b), "guess": line.guess}


def _row_body(row: RowLine | None) -> dict[str, Any] | None:
    return (
        None if row is None else {"event": row.event, "hours": row.at, "candidate": row.candidate}
    )
