"""Validate a judge's answer (protocol section 4, "Finding"). No Django.

Nothing is repaired: a finding is valid or rejected. Reasons name the finding's number and the rule.
They never repeat the note, a row or the answer, because they are logged and shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from adjudication.domain import Finding, FindingType, Grounding, IllegalFinding, Side
from adjudication.judging.answers import N_A, NOT_ONE_ROW, FindingAnswer
from adjudication.judging.input import CandidateRow, JudgedFinding, JudgeInput
from adjudication.judging.quotes import NOT_FOUND, locate_quote, normalise_text
from adjudication.judging.table_evidence import read_table_evidence
from llm_runtime.errors import AnswerRejected
from llm_runtime.structured import parse_model
from timelines.domain import LEAST_TOLERANCE, TOLERANCE_SHARE


@dataclass(frozen=True, slots=True)
class Tolerance:
    """When two times, in whole hours, count as equal.

    They do if |Δ| < max(`least` hours, `share` of the larger distance from admission).
    """

    least: float = LEAST_TOLERANCE
    share: float = TOLERANCE_SHARE

    def __post_init__(self) -> None:
        if not (0 <= self.least < inf and 0 <= self.share <= 1):
            raise ValueError("a tolerance has hours from 0, and a share from 0 to 1")

    def equal(self, first: int | None, second: int | None) -> bool:
        """Return whether two times are equal: N/A equals N/A, and no other time."""
        if first is None or second is None:
            return first is second
        return abs(first - second) < max(self.least, self.share * max(abs(first), abs(second)))


#: The compatibility option: three hours at any distance from admission.
FIXED_TOLERANCE = Tolerance(share=0.0)
TOLERANCE = Tolerance()


@dataclass(frozen=True, slots=True)
class InvalidFinding:
    """A finding as answered, its number in the answer, and its faults."""

    number: int
    raw: object
    reasons: tuple[str, ...]

    @property
    def numbered_reasons(self) -> list[str]:
        return [f"finding {self.number}: {reason}" for reason in self.reasons]


def validate_findings(
    raw: Sequence[object], given: JudgeInput, tolerance: Tolerance = TOLERANCE
) -> list[JudgedFinding]:
    """Return the findings of one answer, [] for none.

    Raises AnswerRejected with the faults of all findings.
    """
    valid, invalid = sort_findings(raw, given, tolerance)
    if invalid:
        raise AnswerRejected([reason for one in invalid for reason in one.numbered_reasons])
    return valid


def sort_findings(
    raw: Sequence[object],
    given: JudgeInput,
    tolerance: Tolerance = TOLERANCE,
    earlier: Sequence[JudgedFinding] = (),
) -> tuple[list[JudgedFinding], list[InvalidFinding]]:
    """Return the valid and the invalid findings of one answer.

    Of two findings about one pair of rows the second is invalid; `earlier` ones come first.
    """
    valid: list[JudgedFinding] = []
    invalid: list[InvalidFinding] = []
    seen = {(one.finding.a_row, one.finding.b_row) for one in earlier}
    for number, one in enumerate(raw, start=1):
        try:
            judged = validate_finding(one, given, tolerance)
        except AnswerRejected as refused:
            invalid.append(InvalidFinding(number, one, refused.reasons))
            continue
        pair = (judged.finding.a_row, judged.finding.b_row)
        if pair in seen:
            invalid.append(
                InvalidFinding(number, one, ("the same pair of rows is reported twice",))
            )
            continue
        seen.add(pair)
        valid.append(judged)
    return valid, invalid


def validate_finding(
    raw: object, given: JudgeInput, tolerance: Tolerance = TOLERANCE
) -> JudgedFinding:
    """Return one finding; raise AnswerRejected with every fault."""
    said = parse_model(FindingAnswer, raw)
    a, a_faults = _side(said.a_row, said.a_event, said.a_time, Side.A, given)
    b, b_faults = _side(said.b_row, said.b_event, said.b_time, Side.B, given)
    quote, span, note_faults = _note_evidence(said.note_evidence, given.note)
    cited = read_table_evidence(said.table_evidence, given.by_series, given.anchor)
    faults = [*a_faults, *b_faults, *note_faults, *cited.faults]
    faults += (
        _grounding_faults(said.grounding, span is not None, cited.series is not None)
        if not faults
        else []
    )
    if faults:
        raise AnswerRejected(faults)
    try:
        finding = Finding(
            type=said.type,
            verdict=said.verdict,
            polarity=said.polarity,
            a_event=a.event if a else None,
            a_time=a.time if a else None,
            b_event=b.event if b else None,
            b_time=b.time if b else None,
            a_row=a.row if a else None,
            b_row=b.row if b else None,
            note_evidence=quote,
            table_evidence=cited.text,
            grounding=said.grounding,
            relation=said.relation,
            reason=" ".join(said.reason.split()),
            flagged=said.type is FindingType.TIMING
            and a is not None
            and b is not None
            and tolerance.equal(a.time, b.time),
        )
    except IllegalFinding as illegal:
        raise AnswerRejected(str(illegal).split("; ")) from None
    return JudgedFinding(finding, span, cited.series)


def _side(
    number: int | None, event: str | None, time: int | str | None, side: Side, given: JudgeInput
) -> tuple[CandidateRow | None, list[str]]:
    """Return the supplied row of one side of a finding, and any faults.

    Number, event and time must all be that row's, or all be null (no row on this side).
    """
    name = side.lower()
    if number is None and event is None and time is None:
        return None, []
    if number is None or event is None or time is None:
        return None, [f"{name}_row, {name}_event and {name}_time are {NOT_ONE_ROW}"]
    at, row = given.by_row.get(number, (None, None))
    if row is None or at is not side:
        return None, [f"{name}_row is no row of timeline {side}"]
    faults = [f"{name}_event is not the text of row {number}"] * (
        _words(event) != _words(row.event)
    )
    faults += [f"{name}_time is not the time of row {number}"] * (
        time != (N_A if row.time is None else row.time)
    )
    return row, faults


def _words(event: str) -> str:
    r"""Return the words without differences that do not count.

    These are white space, kinds of quotation marks, and whether a bar is written `|` or `\|`.
    """
    return re.sub(r"\\+(?=\|)", "", normalise_text(event)[0])


def _note_evidence(
    value: str | None, note: str
) -> tuple[str | None, tuple[int, int] | None, list[str]]:
    """Return (the quote as the note has it, its place in the note, faults)."""
    if value is None or value.strip().casefold() == NOT_FOUND:
        return (None if value is None else NOT_FOUND), None, []
    span = locate_quote(value, note)
    if span is None:
        return None, None, ["note_evidence is not copied word for word from the note"]
    return note[span[0] : span[1]], span, []


def _grounding_faults(grounding: Grounding, quoted: bool, cited: bool) -> list[str]:
    if grounding is Grounding.NONE:
        return ["grounding NONE goes with neither a quote nor a structured event"] * (
            quoted or cited
        )
    needs_quote, needs_row = (
        grounding in (Grounding.NOTE, Grounding.BOTH),
        grounding in (Grounding.TABLE, Grounding.BOTH),
    )
    faults = [f"grounding {grounding} needs note_evidence"] * (needs_quote and not quoted)
    return faults + [f"grounding {grounding} needs table_evidence"] * (needs_row and not cited)
