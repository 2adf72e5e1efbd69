"""A reviewer's own answers, with the judge's after the packet is closed.

Answers are in the labels that the reviewer saw.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from adjudication.blinding.page import answer_words, format_entered_hours
from adjudication.blinding.rows import ShownRow
from adjudication.blinding.visibility import (
    BlindedItem,
    PacketVisibility,
    are_sides_swapped,
    swap_answer,
)
from adjudication.models import Assignment, Decision, ItemMark, Slot
from adjudication.review.items import blind_candidates

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
    shown: BlindedItem
    decision: Decision
    chosen: str
    flagged: bool
    judged: str | None = None
    upheld: bool | None = None

    @property
    def a(self) -> ShownRow | None:
        return self.shown.left.row

    @property
    def b(self) -> ShownRow | None:
        return self.shown.right.row

    @property
    def answer(self) -> str:
        return answer_words(self.shown, self.chosen)

    @property
    def judge(self) -> str:
        return answer_words(self.shown, self.judged) if self.judged else ""

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
    a: ShownRow | None
    b: ShownRow | None
    guess: str = ""


def load_own_answers(assignment: Assignment, may: PacketVisibility) -> list[AnswerLine]:
    """Return this person's current answers, in the order of their first one."""
    flagged = set(
        ItemMark.objects.filter(assignment=assignment, flagged=True).values_list(
            "item_id", flat=True
        )
    )
    slots = _find_decided_slots(assignment)
    seen = blind_candidates(assignment=assignment, items=[slot.item for slot in slots])
    return [
        _line(assignment, s, number, s.item_id in flagged, may, seen[s.item_id])
        for number, s in enumerate(slots, 1)
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
    seen = blind_candidates(assignment=assignment, items=asked)
    lines = []
    for item in asked:
        shown = seen[item.pk]
        swapped = are_sides_swapped(assignment.seed, item.public_id)
        guess = swap_answer(before.get(item.pk, ""), swapped)
        lines.append(GuessLine(item.public_id, shown.left.row, shown.right.row, guess))
    return lines


def _line(
    assignment: Assignment,
    slot: Slot,
    number: int,
    flagged: bool,
    may: PacketVisibility,
    shown: BlindedItem,
) -> AnswerLine:
    item, decision = slot.item, slot.decision
    assert decision is not None
    swapped = are_sides_swapped(assignment.seed, item.public_id)
    verdict = item.finding.verdict
    return AnswerLine(
        item=item.public_id,
        number=number,
        shown=shown,
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
