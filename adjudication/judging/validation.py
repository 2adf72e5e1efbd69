"""From what a judge answered to findings, or to every reason why not (protocol section 4,
"Finding"). No Django here.

Nothing is repaired: an answer is valid or rejected as a whole. Reasons name the finding's number and
the rule. They never repeat the note, a row or the answer, because they are logged and shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adjudication.domain import (
    Finding,
    FindingType,
    Grounding,
    IllegalFinding,
    Relation,
    Side,
    Verdict,
)
from adjudication.judging.input import CandidateRow, JudgedFinding, JudgeInput
from adjudication.judging.quotes import NOT_FOUND, locate, plain
from adjudication.judging.table_evidence import read_table_evidence
from llm_runtime.errors import AnswerRejected
from llm_runtime.structured import keys_exactly, storable
from timelines.domain import Polarity
from timelines.evaluation.strata import LEAST_TOLERANCE, TOLERANCE_SHARE

FIELDS = (
    "type", "a_row", "a_event", "a_time", "b_row", "b_event", "b_time", "note_evidence", "table_evidence", "grounding", "polarity",
    "relation", "verdict", "reason",
)  # fmt: skip
N_A = "N/A"
_ENUMS: Mapping[str, type[FindingType] | type[Verdict] | type[Grounding] | type[Polarity]] = {
    "type": FindingType,
    "verdict": Verdict,
    "grounding": Grounding,
    "polarity": Polarity,
}


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Times are equal when |Δ| < max(`least` hours, `share` of the larger distance from admission),
    by whole hours.
    """

    least: float = LEAST_TOLERANCE
    share: float = TOLERANCE_SHARE

    def equal(self, first: int | None, second: int | None) -> bool:
        """Two N/A are equal; N/A and a time are not."""
        if first is None or second is None:
            return first is second
        return abs(first - second) < max(self.least, self.share * max(abs(first), abs(second)))


#: The compatibility option: three hours at any distance from admission.
FIXED_TOLERANCE = Tolerance(share=0.0)
TOLERANCE = Tolerance()


def validate_findings(
    raw: Sequence[object], given: JudgeInput, tolerance: Tolerance = TOLERANCE
) -> list[JudgedFinding]:
    """The findings of one answer; [] for no findings. Raises AnswerRejected with the faults of all
    of them.
    """
    found: list[JudgedFinding] = []
    faults: list[str] = []
    seen: set[tuple[object, ...]] = set()
    for number, one in enumerate(raw, start=1):
        try:
            judged = validate_finding(one, given, tolerance)
        except AnswerRejected as refused:
            faults += [f"finding {number}: {reason}" for reason in refused.reasons]
            continue
        about = (judged.finding.type, judged.finding.a_row, judged.finding.b_row)
        if about in seen:
            faults.append(f"finding {number}: the same difference of the same rows occurs twice")
        seen.add(about)
        found.append(judged)
    if faults:
        raise AnswerRejected(faults)
    return found


def validate_finding(
    raw: object, given: JudgeInput, tolerance: Tolerance = TOLERANCE
) -> JudgedFinding:
    """One finding. Raises AnswerRejected with every fault found."""
    if not isinstance(raw, Mapping):
        raise AnswerRejected(["not an object"])
    if faults := keys_exactly(raw, FIELDS, "fields"):
        raise AnswerRejected(faults)
    faults = [
        f"{name} is none of {', '.join(kind)}"
        for name, kind in _ENUMS.items()
        if raw[name] not in list(kind)
    ]
    if raw["relation"] is not None and raw["relation"] not in list(Relation):
        faults.append(f"relation is neither null nor one of {', '.join(Relation)}")
    faults += _text_faults(raw)
    if faults:
        raise AnswerRejected(faults)
    a, a_faults = _side(raw, Side.A, given)
    b, b_faults = _side(raw, Side.B, given)
    quote, span, note_faults = _note_evidence(raw["note_evidence"], given.note)
    cited = read_table_evidence(raw["table_evidence"], given.by_series, given.anchor)
    faults = [*a_faults, *b_faults, *note_faults, *cited.faults]
    faults += (
        _grounding_faults(Grounding(raw["grounding"]), span is not None, cited.series is not None)
        if not faults
        else []
    )
    if faults:
        raise AnswerRejected(faults)
    kind = FindingType(raw["type"])
    try:
        finding = Finding(
            type=kind,
            verdict=Verdict(raw["verdict"]),
            polarity=Polarity(raw["polarity"]),
            a_event=a.event if a else None,
            a_time=a.time if a else None,
            b_event=b.event if b else None,
            b_time=b.time if b else None,
            a_row=a.row if a else None,
            b_row=b.row if b else None,
            note_evidence=quote,
            table_evidence=cited.text,
            grounding=Grounding(raw["grounding"]),
            relation=Relation(raw["relation"]) if raw["relation"] is not None else None,
            reason=" ".join(raw["reason"].split()),
            flagged=kind is FindingType.TIMING
            and a is not None
            and b is not None
            and tolerance.equal(a.time, b.time),
        )
    except IllegalFinding as illegal:
        raise AnswerRejected(str(illegal).split("; ")) from None
    return JudgedFinding(finding, span, cited.series)


def _text_faults(raw: Mapping[str, Any]) -> list[str]:
    faults = []
    for name in ("a_event", "b_event", "note_evidence", "table_evidence", "reason"):
        value = raw[name]
        if value is None and name != "reason":
            continue
        if not isinstance(value, str) or not value.strip() or not storable(value):
            faults.append(
                f"{name} is not a text"
                + (" or null" if name != "reason" else "")
                + " that says something"
            )
    return faults


def _side(
    raw: Mapping[str, Any], side: Side, given: JudgeInput
) -> tuple[CandidateRow | None, list[str]]:
    """The supplied row that a side of the finding is about: all three fields are its own, or all
    three are null.
    """
    name = side.lower()
    number, event, time = (raw[f"{name}_{part}"] for part in ("row", "event", "time"))
    if number is None and event is None and time is None:
        return None, []
    if type(number) is not int or event is None or not (type(time) is int or time == N_A):
        return None, [
            f"{name}_row, {name}_event and {name}_time are not all of one row (number, text, whole"
            f" hours or {N_A}), nor all null"
        ]
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
    r"""Compared without regard to white space, kinds of quotation marks, and whether a bar is written `|` or `\|`."""
    return re.sub(r"\\+(?=\|)", "", plain(event)[0])


def _note_evidence(
    value: str | None, note: str
) -> tuple[str | None, tuple[int, int] | None, list[str]]:
    """Return (the quote as the note has it, its place in the note, faults)."""
    if value is None or value.strip().casefold() == NOT_FOUND:
        return (None if value is None else NOT_FOUND), None, []
    span = locate(value, note)
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
