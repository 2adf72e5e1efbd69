"""Charging: the error, the side and the cost of a decisive finding.

Protocol section 4, "Charging". Swapping A and B, with everything that names them, changes no
charge: charges follow from the rows of the sides, never from a label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from adjudication.domain import Finding, FindingPolarity, FindingType, Side, Verdict


class Category(StrEnum):
    OVER_ANNOTATION = "over_annotation"
    FALSE_DUPLICATE = "false_duplicate"
    WRONG_TIME = "wrong_time"
    WRONG_VALUE = "wrong_value"
    MISSED_POSITIVE = "missed_positive"
    MISSED_NEGATIVE = "missed_negative"
    MISSED_RECURRENCE = "missed_recurrence"


#: The prespecified weights.
WEIGHTS: Mapping[Category, float] = {
    Category.OVER_ANNOTATION: 3.0,
    Category.FALSE_DUPLICATE: 2.0,
    Category.WRONG_TIME: 2.0,
    Category.WRONG_VALUE: 2.0,
    Category.MISSED_POSITIVE: 1.0,
    Category.MISSED_NEGATIVE: 0.5,
    Category.MISSED_RECURRENCE: 0.5,
}


@dataclass(frozen=True, slots=True)
class Charge:
    """An error of one side."""

    side: Side
    category: Category


def charge(finding: Finding) -> Charge | None:
    """Return the charge of a finding; None if its verdict is not decisive.

    BOTH, NEITHER and UNCLEAR are not decisive. One-sided and rejected: over-annotation by the side
    with the row. One-sided and supported: missed by the other side, positive or negative. DUPLICATE
    rejected as an extra copy: false duplicate of the side that repeats; a real recurrence: missed
    by the other side. Decisive TIMING and VALUE: charged to the side that is judged wrong. Flagged
    findings are charged like any other.
    """
    if not finding.verdict.decisive:
        return None
    right = Side.A if finding.verdict is Verdict.A else Side.B
    wrong, holder = right.other, finding.holder
    if finding.type is FindingType.TIMING:
        return Charge(wrong, Category.WRONG_TIME)
    if finding.type is FindingType.VALUE:
        return Charge(wrong, Category.WRONG_VALUE)
    supported = holder is right
    if finding.type is FindingType.DUPLICATE:
        return Charge(wrong, Category.MISSED_RECURRENCE if supported else Category.FALSE_DUPLICATE)
    if not supported:
        return Charge(wrong, Category.OVER_ANNOTATION)
    return Charge(
        wrong,
        Category.MISSED_POSITIVE
        if finding.polarity is FindingPolarity.PRESENT
        else Category.MISSED_NEGATIVE,
    )
