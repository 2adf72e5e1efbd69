"""A reviewer's own answers, with the judge's after the packet is closed.

Answers are in the labels that the reviewer saw.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from adjudication.blinding.page import ANSWER_WORDS, RowLine, build_item_page, format_entered_hours
from adjudication.blinding.visibility import (
    CandidateRow,
    ItemMaterial,
    PacketVisibility,
    are_sides_swapped,
    blinded_item,
    swap_answer,
)
from adjudication.models import Assignment, Decision, ItemMark, PacketItem, Slot

#: Number of one's own items in the blinding check.
ASKED = 20
#: The name of the blinding check's question in analysis (`adjudication.ratings.card.data`).
CLINICIAN = "clinician"


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """One current answer.

    `chosen`, and `judged` if the person may see it, are in the labels that they saw.
    """

    item: str
    number: int
    a: RowLine | None
    b: RowLine | None
    decision: Decision
    chosen: str
    flagged: bool
    judged: str | None = None
    upheld: bool | None = None

    @property
    def answer(self) -> str:
        return ANSWER_WORDS[self.chosen]

    @property
    def judge(self) -> str:
        return ANSWER_WORDS[self.judged] if self.judged else ""

    @property
    def own_time(self) -> str:
        return format_entered_hours(self.decision.own_time)

    @property
    def comment(self) -> str:
        return self.decision.comment

    @property
    def amended(self) -> bool:
        return self.decision.kind == Decision.Kind.AMENDMENT


@dataclass(frozen=True, slots=True)
class GuessLine:
    """One question of the blinding check, with any earlier guess.

    The guess is in the labels of the page.
    """

    item: str
    a: RowLine | None
    b: RowLine | None
    guess: str = ""


def load_own_answers(assignment: Assignment, may: PacketVisibility) -> list[AnswerLine]:
    """Return this person's current answers, in the order of their first one."""
    flagged = set(
        ItemMark.objects.filter(assignment=assignment, flagged=True).values_list(
            "item_id", flat=True
        )
    )
    slots = _find_decided_slots(assignment)
    return [
        _line(assignment, s, number, s.item_id in flagged, may) for number, s in enumerate(slots, 1)
    ]


def load_guess_lines(assignment: Assignment) -> list[GuessLine]:
    """Return the items that the blinding check asks about.

    They are drawn from all that the person decided on, and stay the same for the same person and
    items.
    """
    items = [slot.item for slot in _find_decided_slots(assignment)]
    asked = (
        items
        if len(items) <= ASKED
        else random.Random(assignment.seed).sample(sorted(items, key=lambda i: i.public_id), ASKED)
    )
    before = _last_guesses(assignment)
    lines = []
    for item in asked:
        a, b = load_sides(assignment, item)
        swapped = are_sides_swapped(assignment.seed, item.public_id)
        lines.append(GuessLine(item.public_id, a, b, swap_answer(before.get(item.pk, ""), swapped)))
    return lines


def load_sides(assignment: Assignment, item: PacketItem) -> tuple[RowLine | None, RowLine | None]:
    """Return the two rows of an item as this person saw them, A first."""
    f = item.finding
    material = ItemMaterial(
        item=item.public_id,
        repeated=False,
        a=None if f.a_event is None else CandidateRow(f.a_event, f.a_time),
        b=None if f.b_event is None else CandidateRow(f.b_event, f.b_time),
        a_rows=(),
        b_rows=(),
        note="",
    )
    left, right = build_item_page(blinded_item(material, assignment.seed)).sides
    return left.row, right.row


def _line(
    assignment: Assignment, slot: Slot, number: int, flagged: bool, may: PacketVisibility
) -> AnswerLine:
    item, decision = slot.item, slot.decision
    assert decision is not None
    swapped = are_sides_swapped(assignment.seed, item.public_id)
    a, b = load_sides(assignment, item)
    verdict = item.finding.verdict
    return AnswerLine(
        item=item.public_id,
        number=number,
        a=a,
        b=b,
        decision=decision,
        chosen=swap_answer(decision.answer, swapped),
        flagged=flagged,
        judged=swap_answer(verdict, swapped) if may.judge else None,
        upheld=decision.answer == verdict if may.judge else None,
    )


def _find_decided_slots(assignment: Assignment) -> list[Slot]:
    found = Slot.objects.filter(assignment=assignment, decision__isnull=False).select_related(
        "item__finding", "decision"
    )
    first = dict(
        Decision.objects.filter(assignment=assignment, kind=Decision.Kind.ANSWER)
        .order_by("sequence")
        .values_list("item_id", "sequence")
    )
    return sorted(found, key=lambda s: first.get(s.item_id, 0))


def _last_guesses(assignment: Assignment) -> dict[int, str]:
    """Map an item to its last guess, in the judge's labels."""
    links = Decision.objects.filter(
        assignment=assignment,
        kind=Decision.Kind.GUESS,
        detail__question=CLINICIAN,
        item__isnull=False,
    )
    return {
        d.item_id: str(d.detail.get("guess", ""))
        for d in links.order_by("sequence")
        if d.item_id is not None
    }
