"""Read a row of a model's answer as a proposed entry.

Both output protocols are checked field by field. Faults name the UID and the field; they never
repeat what the model wrote.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from llm_runtime.errors import AnswerRejected
from llm_runtime.schema import FaultMessage, Strict
from llm_runtime.structured import parse_model
from timelines.domain import MAX_CONTEXT, UID_PATTERN, Entry, InvariantError
from timelines.pipeline.revision import ProposedEntry

#: No time of a patient is farther from the admission (228 years).
MOST_HOURS = 2_000_000
#: Words instead of a row: the row of the text-only table; the row of the answer's first timeline.
KEEP, FIRST = "keep", "first"
Row = Entry | ProposedEntry
#: word → UID → the row that the word refers to.
Standing = Mapping[str, Mapping[str, Row]]
NOTHING: Standing = {}


def plausible(hours: float | None) -> float | None:
    """Hours that a patient's life can have. Raises ValueError."""
    if hours is not None and not -MOST_HOURS <= hours <= MOST_HOURS:
        raise ValueError("too far from the admission")
    return hours


Hours = Annotated[
    float | None,
    AfterValidator(plausible),
    FaultMessage("is neither a number of hours nor null"),
]


Contexts = Annotated[list[str], FaultMessage("is not a list of identifiers")]
Numbers = Annotated[list[int], FaultMessage("is not a list of row numbers")]


class TimeAnswer(Strict):
    """What every row of an answer begins with."""

    time: Hours
    lower: Hours
    upper: Hours
    known: Annotated[
        int,
        Field(ge=0, le=1),
        WithJsonSchema({"type": "integer", "enum": [0, 1]}),
        FaultMessage("is neither 0 nor 1"),
    ]


class RowAnswer(TimeAnswer):
    """A row of an answer in JSON, there a list of these fields in this order."""

    context: Contexts = []


class CitingRowAnswer(TimeAnswer):
    """A row that names printed rows: those it rests on, and those it leans on."""

    rows: Numbers = []
    near: Numbers = []
    context: Contexts = []


AnyRow = type[RowAnswer] | type[CitingRowAnswer]
REQUIRED = len(TimeAnswer.model_fields)
#: Rows that a time may lean on.
MOST_NEAR = 5
_NUMBER = re.compile(r"[+-]?\d{1,9}(?:\.\d{1,6})?\Z")
_BOUNDS = re.compile(r"\[\s*([^,\[\]]*?)\s*,\s*([^,\[\]]*?)\s*\]\Z")
_BAR = re.compile(r"(?<!\\)((?:\\\\)*)\|")


def parse_row(
    uid: str,
    value: object,
    context: frozenset[str],
    decided_by: str,
    words: Standing = NOTHING,
    kind: AnyRow = RowAnswer,
) -> tuple[ProposedEntry | None, list[str]]:
    """Return (entry, faults) of a row of a JSON answer.

    The row is a list of the fields of `kind`; lists at its end may be left out. `context` are the
    UIDs that it may name. A word of `words` may replace the row and copies the row that it refers
    to. A row without contexts has none, unless "keep" is allowed: then it has that row's contexts.
    `adopted_rows` and `near_rows` of the entry are the numbers as the answer has them.
    """
    fields = tuple(kind.model_fields)
    kept = {word: rows[uid] for word, rows in words.items() if uid in rows}
    if isinstance(value, str):
        if value not in kept:
            return None, [f"{uid}: a word instead of a row, and no row that it refers to"]
        return _check_answer(uid, kept[value], context, decided_by)
    if not isinstance(value, list) or not REQUIRED <= len(value) <= len(fields):
        further = " and ".join(fields[REQUIRED:])
        return None, [
            f"{uid}: not a list of {', '.join(fields[:REQUIRED])}, with or without lists of"
            f" {further}"
        ]
    try:
        row = parse_model(kind, dict(zip(fields, value, strict=False)), uid)
    except AnswerRejected as rejected:
        return None, list(rejected.reasons)
    named: Sequence[str] = row.context
    if len(value) < len(fields) and KEEP in kept:
        named = kept[KEEP].context
    hours = {"time": row.time, "lower": row.lower, "upper": row.upper}
    entry, faults = check_row(uid, hours, bool(row.known), named, context, decided_by)
    if entry is None or not isinstance(row, CitingRowAnswer):
        return entry, faults
    return cite_numbers(entry, row.rows, row.near)


def cite_numbers(
    entry: ProposedEntry, rows: Sequence[int], near: Sequence[int]
) -> tuple[ProposedEntry | None, list[str]]:
    """Return (entry, faults) with the numbers of the rows that it names.

    How many it may cite is checked with the rows (`citation_faults`).
    """
    faults = []
    if len(near) > MOST_NEAR:
        faults.append(f"{entry.uid}: {len(near)} near rows, at most {MOST_NEAR}")
    if len({*rows, *near}) != len(rows) + len(near):
        faults.append(f"{entry.uid}: a row is named twice")
    if rows and entry.time is None:
        faults.append(f"{entry.uid}: rows for a time of N/A")
    if faults:
        return None, faults
    return replace(entry, adopted_rows=tuple(rows), near_rows=tuple(near)), []


def _check_answer(
    uid: str, row: Row, context: frozenset[str], decided_by: str
) -> tuple[ProposedEntry | None, list[str]]:
    hours = {"time": row.time, "lower": row.lower, "upper": row.upper}
    entry, faults = check_row(uid, hours, bool(row.known), row.context, context, decided_by)
    if entry is not None:
        entry = replace(entry, adopted_rows=row.adopted_rows, near_rows=row.near_rows)
    return entry, faults


def check_row(
    uid: str,
    hours: Mapping[str, float | None],
    known: bool,
    named: Sequence[str],
    context: frozenset[str],
    decided_by: str,
    mention: str | None = None,
) -> tuple[ProposedEntry | None, list[str]]:
    """Return (entry, faults) for the fields of either output protocol.

    Bounds must contain the time. Contexts are at most five other occurrences of the case.
    """
    faults = []
    if len(named) > MAX_CONTEXT:
        faults.append(f"{uid}: {len(named)} context identifiers, at most {MAX_CONTEXT}")
    if any(c not in context for c in named):
        faults.append(f"{uid}: a context identifier that the case does not have")
    if len(set(named)) != len(named) or uid in named:
        faults.append(f"{uid}: context identifiers must be different others")
    if faults:
        return None, faults
    try:
        entry = Entry(uid, hours["time"], hours["lower"], hours["upper"], known, tuple(named))
    except InvariantError:
        return None, [f"{uid}: the bounds do not contain the time, or are reversed"]
    return (
        ProposedEntry(
            uid, entry.time, entry.lower, entry.upper, known, entry.context, mention, decided_by
        ),
        [],
    )


def split_row(line: str) -> list[str]:
    r"""The cells of a bar-separated line; `\|` is a bar within a cell."""
    cells, last = [], 0
    for bar in _BAR.finditer(line):
        cells.append(line[last : bar.start() + len(bar[1])].strip())
        last = bar.end()
    return [*cells, line[last:].strip()]


def read_hours(cell: str) -> tuple[float | None, bool]:
    """(hours or None for N/A, whether the cell could be read)."""
    text = cell.strip().replace("−", "-")
    if text.upper() in ("N/A", "NA", "NULL", "NONE"):
        return None, True
    if not _NUMBER.match(text) or abs(float(text)) > MOST_HOURS:
        return None, False
    return float(text), True


def read_bounds(cell: str) -> tuple[float | None, float | None, bool]:
    """Return (lower, upper, whether it could be read) of `[-72, 0]`.

    N/A inside, or instead of the brackets, is an open bound.
    """
    if read_hours(cell) == (None, True):
        return None, None, True
    match = _BOUNDS.match(cell.strip())
    if not match:
        return None, None, False
    (lower, low_read), (upper, high_read) = read_hours(match[1]), read_hours(match[2])
    return lower, upper, low_read and high_read


def read_context(cell: str) -> list[str] | None:
    """Return the identifiers of `[3f0c, 9b21]`, None for other text."""
    text = cell.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return None
    named = [part.strip().strip("'\"") for part in text[1:-1].split(",") if part.strip()]
    return named if all(UID_PATTERN.fullmatch(name) for name in named) else None
