"""The input and the answer of a judge. No Django.

Protocol section 4, "Input". Two timelines get the labels A and B. Only the caller knows which
source is behind a label; no source name is in the input. Row numbers are opaque and belong to a
row, not to a label: they stay the same when the labels are swapped.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Literal, Protocol

from adjudication.domain import Finding, FindingType, Side, Verdict
from ehr.presentation.rendering import JUDGE_SERIES, clock, judge_record, select_for_judge
from ehr.summarise import Series
from timelines.domain import Anchor, Polarity, SourceRow

#: Row numbers are drawn at random from four times as many numbers, so they reveal nothing.
ROW_NUMBERS_FROM, ROW_NUMBERS_EACH = 100, 4
#: How the record shows times: hours from time 0, or ISO moments as published.
RecordTimes = Literal["hours", "iso"]
_BARE_BAR = re.compile(r"(?<!\\)((?:\\\\)*)\|")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One row of a timeline as input for a judge.

    `time`, `lower` and `upper` are hours from admission, None for N/A or open. `uid`, span and
    context are set if the timeline belongs to an inventory.
    """

    event: str
    time: float | None
    uid: str | None = None
    polarity: Polarity = Polarity.PRESENT
    start: int | None = None
    end: int | None = None
    lower: float | None = None
    upper: float | None = None
    known: bool = False
    context: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CandidateRow:
    """A row as it is judged.

    `row` is its number, `event` its words on one line with bars escaped, `time` in whole hours
    (None for N/A). `source` is the original row with its UID; a prompt shows only what `uid_table`
    allows.
    """

    row: int
    event: str
    time: int | None
    source: Candidate

    @property
    def uid(self) -> str | None:
        return self.source.uid


@dataclass(frozen=True)
class JudgeInput:
    """One game: the complete note, two timelines, the structured record.

    `summaries` are all series of the encounter; at most `series_limit` of them are supplied. `rows`
    are the source rows of the encounter, hours from admission: for judges that read rows, never for
    a prompt. `a_is_first` unblinds: whether A is the comparison's first timeline.
    """

    note: str
    a_rows: tuple[CandidateRow, ...]
    b_rows: tuple[CandidateRow, ...]
    anchor: Anchor
    summaries: tuple[Series, ...] = ()
    rows: tuple[SourceRow, ...] = ()
    a_is_first: bool = True
    uid_table: bool = False
    series_limit: int = JUDGE_SERIES
    record_times: RecordTimes = "hours"

    @cached_property
    def series(self) -> tuple[Series, ...]:
        """The summaries in `record_text`, in its order."""
        return tuple(select_for_judge(self.summaries, self.series_limit))

    @cached_property
    def record_text(self) -> str:
        """The structured record as a prompt shows it."""
        moment = self._hours if self.record_times == "hours" else clock
        return judge_record(self.summaries, self.series_limit, moment)

    def _hours(self, time: datetime) -> str:
        return f"{whole_hours(self.anchor.hours(time)):+d}h"  # a citation is written so

    @cached_property
    def by_row(self) -> dict[int, tuple[Side, CandidateRow]]:
        """Map a row number to its side and row; resolves findings, stays private."""
        return {
            r.row: (side, r)
            for side, rows in ((Side.A, self.a_rows), (Side.B, self.b_rows))
            for r in rows
        }

    @cached_property
    def by_series(self) -> dict[str, Series]:
        """Map event names, on one line as the record shows them, to summaries."""
        return {" ".join(s.event.split()): s for s in self.series}

    def swapped(self) -> JudgeInput:
        """Return the same game with the labels exchanged; row numbers stay."""
        return replace(self, a_rows=self.b_rows, b_rows=self.a_rows, a_is_first=not self.a_is_first)


@dataclass(frozen=True, slots=True)
class JudgedFinding:
    """A valid finding with its resolved evidence.

    `note_span` is `[start, end)` in the note, `series_event` the event name of the cited series.
    """

    finding: Finding
    note_span: tuple[int, int] | None = None
    series_event: str | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """A judge's answer; no findings mean that it found no difference.

    `series_shown`: summaries that the judge was given, fewer if more did not fit. `dropped` has the
    faults of each finding that stayed invalid; if there are any, the game is judged in part.
    """

    findings: tuple[JudgedFinding, ...]
    series_shown: int
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unjudged:
    """No valid answer, unlike no findings; `reasons` never quote patient text."""

    reasons: tuple[str, ...]


class Judge(Protocol):
    """`name` and `version` are recorded with every game."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str: ...

    def judge(self, given: JudgeInput) -> Judged | Unjudged:
        """Return every difference, or Unjudged."""
        ...


def judge_input(
    first: Sequence[Candidate],
    second: Sequence[Candidate],
    *,
    note: str,
    anchor: Anchor,
    seed: int,
    series: Sequence[Series] = (),
    rows: Sequence[SourceRow] = (),
    swap: bool = False,
    uid_table: bool = False,
    limit: int = JUDGE_SERIES,
    record_times: RecordTimes = "hours",
) -> JudgeInput:
    """Return the game of two timelines; `seed` draws which one is A.

    `swap` exchanges the two (the second game in swapped positions). Rows are sorted by time, N/A
    last, so that their order does not reveal a source. `series` are all of the encounter; at most
    `limit` are supplied. With `uid_table`, a row without a UID has an empty column.
    """
    rng = random.Random(seed)
    first_is_a = (rng.random() < 0.5) != swap
    count = len(first) + len(second)
    numbers = rng.sample(
        range(ROW_NUMBERS_FROM, ROW_NUMBERS_FROM + ROW_NUMBERS_EACH * count), count
    )
    one, two = (
        _number_rows(first, numbers[: len(first)]),
        _number_rows(second, numbers[len(first) :]),
    )
    return JudgeInput(
        note=note,
        a_rows=one if first_is_a else two,
        b_rows=two if first_is_a else one,
        anchor=anchor,
        summaries=tuple(series),
        rows=tuple(rows),
        a_is_first=first_is_a,
        uid_table=uid_table,
        series_limit=limit,
        record_times=record_times,
    )


def whole_hours(hours: float | None) -> int | None:
    """Round to the nearest whole hour, halves away from zero; None stays None."""
    if hours is None:
        return None
    below = math.floor(abs(hours))
    rounded = below + (abs(hours) - below >= 0.5)
    return -rounded if hours < 0 else rounded


def swap_labels(finding: Finding) -> Finding:
    """Exchange the labels of a finding: type, verdict and sides, no more."""
    types = {FindingType.A_ONLY: FindingType.B_ONLY, FindingType.B_ONLY: FindingType.A_ONLY}
    verdicts = {Verdict.A: Verdict.B, Verdict.B: Verdict.A}
    return replace(
        finding,
        type=types.get(finding.type, finding.type),
        verdict=verdicts.get(finding.verdict, finding.verdict),
        a_event=finding.b_event,
        a_time=finding.b_time,
        a_row=finding.b_row,
        b_event=finding.a_event,
        b_time=finding.a_time,
        b_row=finding.a_row,
    )


def _number_rows(given: Sequence[Candidate], numbers: Sequence[int]) -> tuple[CandidateRow, ...]:
    rows = [
        CandidateRow(n, format_one_line(c.event), whole_hours(c.time), c)
        for n, c in zip(numbers, given, strict=True)
    ]
    return tuple(sorted(rows, key=lambda r: (r.time is None, r.time or 0, r.event, r.row)))


def format_one_line(event: str) -> str:
    r"""Return the words on one line, each bar as `\|` so it ends no column."""
    return _BARE_BAR.sub(r"\1\\|", " ".join(event.split()))
