"""The values of adjudication: findings and verdicts. No Django.

They are frozen and check themselves. A finding names two timelines by the labels A and B, never by
their sources. Source: protocol section 4, "Finding".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FindingPolarity(StrEnum):
    """Whether the event happened; a judge knows no other polarity."""

    PRESENT = "present"
    ABSENT = "absent"


class FindingType(StrEnum):
    VALUE = "VALUE"
    TIMING = "TIMING"
    A_ONLY = "A_ONLY"
    B_ONLY = "B_ONLY"
    SHARED_UNSUPPORTED = "SHARED_UNSUPPORTED"
    DUPLICATE = "DUPLICATE"

    @property
    def one_sided(self) -> bool:
        return self in (FindingType.A_ONLY, FindingType.B_ONLY)


class Verdict(StrEnum):
    A = "A"
    B = "B"
    BOTH = "BOTH"
    NEITHER = "NEITHER"
    UNCLEAR = "UNCLEAR"

    @property
    def decisive(self) -> bool:
        """Whether the verdict is for one side."""
        return self in (Verdict.A, Verdict.B)


class Grounding(StrEnum):
    NOTE = "NOTE"
    TABLE = "TABLE"
    BOTH = "BOTH"
    NONE = "NONE"


class Relation(StrEnum):
    NOVEL_EVENT = "novel_event"
    ADDED_DETAIL = "added_detail"


class Side(StrEnum):
    A = "A"
    B = "B"

    @property
    def other(self) -> Side:
        return Side.B if self is Side.A else Side.A


#: Which sides have a row, (A, B); for other types both have.
_SIDES = {
    FindingType.A_ONLY: ((True, False),),
    FindingType.B_ONLY: ((False, True),),
    FindingType.DUPLICATE: ((True, False), (False, True)),
}


class IllegalFinding(ValueError):
    """A finding that breaks a rule of the protocol.

    The message names the rule and quotes nothing.
    """

    log_safe = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One difference between timelines A and B, as returned and validated.

    Times are whole hours from admission, None for N/A; `*_event` is None if the side has no row.
    `a_row` and `b_row` are the judge's opaque row numbers. `flagged` marks a TIMING finding whose
    hours are within the tolerance; it counts like any other.
    """

    type: FindingType
    verdict: Verdict
    polarity: FindingPolarity = FindingPolarity.PRESENT
    a_event: str | None = None
    a_time: int | None = None
    b_event: str | None = None
    b_time: int | None = None
    a_row: int | None = None
    b_row: int | None = None
    note_evidence: str | None = None
    table_evidence: str | None = None
    grounding: Grounding = Grounding.NONE
    relation: Relation | None = None
    reason: str = ""
    flagged: bool = False

    def __post_init__(self) -> None:
        if reasons := find_illegalities(self):
            raise IllegalFinding("; ".join(reasons))

    @property
    def holder(self) -> Side | None:
        """The side with the row of a one-sided or repeated event, else None."""
        if self.type is FindingType.A_ONLY:
            return Side.A
        if self.type is FindingType.B_ONLY:
            return Side.B
        if self.type is FindingType.DUPLICATE:
            return Side.A if self.a_event is not None else Side.B
        return None


def find_illegalities(finding: Finding) -> list[str]:
    """Return the rules on type, verdict, sides and relation that it breaks."""
    kind, verdict = finding.type, finding.verdict
    faults = []
    if kind is FindingType.SHARED_UNSUPPORTED and verdict is not Verdict.NEITHER:
        faults.append("SHARED_UNSUPPORTED needs the verdict NEITHER")
    if kind.one_sided and verdict in (Verdict.BOTH, Verdict.NEITHER):
        faults.append("a one-sided finding cannot have the verdict BOTH or NEITHER")
    filled = (finding.a_event is not None, finding.b_event is not None)
    if filled not in _SIDES.get(kind, ((True, True),)):
        faults.append("the sides with a row do not match the type")
    for side, event, time in (
        ("a", finding.a_event, finding.a_time),
        ("b", finding.b_event, finding.b_time),
    ):
        if event is None and time is not None:
            faults.append(f"{side}_time has no {side}_event")
    if kind.one_sided != (finding.relation is not None):
        faults.append("one-sided findings need a relation, other findings must not have one")
    return faults
