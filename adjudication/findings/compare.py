"""Data of the compare page: two timelines of one case as one list of rows.

Each row has its place on the plot and its findings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models import Q, QuerySet
from django.urls import reverse

from accounts.wording import inflect_noun
from adjudication.findings.listing import FindingLine, finding_line
from adjudication.judging.aligning import AlignedRow, PlacedRow, align_rows
from adjudication.judging.config import JudgeConfig
from adjudication.judging.input import whole_hours
from adjudication.judging.validation import TOLERANCE, Tolerance
from adjudication.models import Finding, Game, JudgeRun
from ehr.presentation.clock import Clock, Moment
from ehr.presentation.wording import span_words
from timelines.cases.choices import Choice, Choices
from timelines.domain import Lane
from timelines.evaluation.values import SourceKey
from timelines.models import Entry
from timelines.pipeline.uids import unescape_mention
from timelines.presentation.axis import draw_ticks
from timelines.presentation.case_plot import DENSITY_BINS, both_ways
from timelines.presentation.plots import ZERO, Axis, LaneRows, Mark, build_axis, density, lanes
from timelines.presentation.sentence import find_sentence
from timelines.presentation.wording import LANE_WORDS
from timelines.runs.stay_text import StayText


@dataclass(frozen=True)
class CompareRow:
    """One line of the aligned table.

    `state` is "differs", "agrees", "only-a" or "only-b"; `apart` says by how much.
    """

    key: str
    number: int
    row: AlignedRow
    a: Moment | None
    b: Moment | None
    state: str
    apart: str
    findings: tuple[FindingLine, ...]

    @property
    def finding_ids(self) -> list[str]:
        return [line.finding.public_id for line in self.findings]

    @property
    def other_words(self) -> str:
        """B's words, if they differ from A's."""
        a, b = self.row.first, self.row.second
        return b.mention if a and b and b.mention != a.mention else ""


def label_choices(choices: Choices) -> list[tuple[Choice, str]]:
    """Return every timeline of the case with its label.

    If several have one label, the run is added.
    """
    named = [
        (c, format_choice_label(c), g.label)
        for g in choices.groups
        for c in (g.text_only, *g.revised)
        if c is not None
    ]
    named = [*((c, format_choice_label(c), "") for c in choices.references), *named]
    several = {label for _, label, _ in named if sum(other == label for _, other, _ in named) > 1}
    return [
        (c, f"{label} ({run})" if label in several and run else label) for c, label, run in named
    ]


def format_choice_label(choice: Choice) -> str:
    """Return its label in judge runs: "rules · revised"."""
    return SourceKey(choice.source, choice.kind.value, choice.alternative).label


def find_games(a: Choice, b: Choice) -> QuerySet[Game]:
    """Return the games of these two timelines in first positions.

    The order of the two does not matter.
    """
    pair = Q(comparison__first=a.pk, comparison__second=b.pk) | Q(
        comparison__first=b.pk, comparison__second=a.pk
    )
    return Game.objects.filter(pair, swapped=False)


def build_compare_rows(
    a: Choice, b: Choice, run: JudgeRun | None, clock: Clock, text: StayText | None
) -> list[CompareRow]:
    """Return the aligned rows with any findings of the judge run.

    Their places are those in `text`, which is None for a stay without a note.
    """
    shared = a.inventory_id is not None and a.inventory_id == b.inventory_id
    tolerance = JudgeConfig.from_dict(run.config).tolerance if run else TOLERANCE
    by_entry = _findings(a, b, run)
    rows = align_rows(_placed_rows(a, text), _placed_rows(b, text), shared_uids=shared)
    return [
        _row(number, row, tolerance, by_entry, clock) for number, row in enumerate(rows, start=1)
    ]


def build_payload(rows: Sequence[CompareRow], clock: Clock, note: str) -> dict[str, Any]:
    """Return all data for the page's scripts, with words.

    It has the form of `presentation.case_plot.payload`.
    """
    discharge = clock.discharge
    axis = build_axis((h for r in rows for h in r.row.times), discharge)
    laid = lanes([_build_mark(r) for r in rows], axis)
    index = {found.lane: place for place, found in enumerate(laid)}
    return {
        "kind": "compare",
        "pairs": sum(r.row.how is not None for r in rows),
        "zero": ZERO,
        "ticks": {
            "day": draw_ticks(axis.day_ticks(clock.admitted, discharge)),
            "hours": draw_ticks(axis.ticks()),
        },
        "discharge": None if discharge is None else round(axis.position(discharge), 5),
        "dischargeWords": None if discharge is None else both_ways(clock.read(discharge)),
        "lanes": [
            {"label": LANE_WORDS[r.lane], "count": r.count, "unplaced": r.unplaced, "rows": r.rows}
            for r in laid
        ],
        "density": density((axis.position(h) for r in rows for h in r.row.times), DENSITY_BINS),
        "items": [_item(r, clock, axis, laid, index, note) for r in rows],
    }


def _placed_rows(choice: Choice, text: StayText | None) -> list[PlacedRow]:
    place = partial((text or StayText()).place, choice.inventory_id)
    fields = (
        "pk",
        "event",
        "time",
        "lower",
        "upper",
        "occurrence__mention",
        "occurrence__uid4",
        "occurrence__start",
        "occurrence__end",
    )
    rows = Entry.objects.filter(timeline_id=choice.pk).order_by("occurrence__ordinal", "pk")
    found = rows.values_list(*fields, "occurrence__lane", "occurrence__polarity")
    return [
        PlacedRow(
            entry=pk,
            mention=unescape_mention(mention or event),
            time=time,
            uid=uid,
            start=place(start),
            end=place(end),
            lower=lower,
            upper=upper,
            lane=Lane(lane) if lane else Lane.FINDING,
            absent=polarity == "absent",
        )
        for pk, event, time, lower, upper, mention, uid, start, end, lane, polarity in found
    ]


def _findings(a: Choice, b: Choice, run: JudgeRun | None) -> dict[int, list[FindingLine]]:
    """Return each entry's findings in the judge run."""
    by_entry: dict[int, list[FindingLine]] = {}
    if run is None:
        return by_entry
    games = find_games(a, b).filter(run=run)
    related = ("game__comparison__encounter", "game__comparison__first", "game__comparison__second")
    for finding in Finding.objects.filter(game__in=games).select_related(*related):
        line = finding_line(finding)
        for entry in {finding.a_entry_id, finding.b_entry_id} - {None}:
            assert entry is not None
            by_entry.setdefault(entry, []).append(line)
    return by_entry


def _row(
    number: int,
    row: AlignedRow,
    tolerance: Tolerance,
    by_entry: dict[int, list[FindingLine]],
    clock: Clock,
) -> CompareRow:
    a, b = row.first, row.second
    both = [by_entry.get(side.entry, []) for side in (a, b) if side is not None]
    findings = {line.finding.pk: line for lines in both for line in lines}
    if a is None or b is None:
        state, apart = ("only-a" if b is None else "only-b"), ""
    else:
        state = "agrees" if tolerance.equal(whole_hours(a.time), whole_hours(b.time)) else "differs"
        apart = _format_difference(a.time, b.time)
    return CompareRow(
        f"r{number}",
        number,
        row,
        clock.read(row.first.time) if row.first else None,
        clock.read(row.second.time) if row.second else None,
        state,
        apart,
        tuple(findings[pk] for pk in sorted(findings)),
    )


def _format_difference(a: float | None, b: float | None) -> str:
    """Return the difference from A to B in words."""
    if a is None or b is None:
        return "" if a is b else "one has no time"
    if abs(b - a) * 60 < 0.5:
        return "same time"
    return f"{span_words(b - a)} {'later' if b > a else 'earlier'}"


def _build_mark(row: CompareRow) -> Mark:
    times = row.row.times
    return Mark(
        row.key,
        row.row.either.lane,
        times[0] if times else None,
        times[1] if len(times) > 1 else None,
    )


def _item(
    row: CompareRow,
    clock: Clock,
    axis: Axis,
    laid: Sequence[LaneRows],
    index: dict[Lane, int],
    note: str,
) -> dict[str, Any]:
    a, b = row.row.first, row.row.second
    lane = index[row.row.either.lane]
    found: dict[str, Any] = {
        "u": row.key,
        "n": row.number,
        "m": row.row.either.mention,
        "l": lane,
        "s": row.state,
        "how": row.row.how,
    }
    sides = [(name, both_ways(at)) for name, at in (("A", row.a), ("B", row.b)) if at]
    found["w"] = [" · ".join(f"{name} {ways[way]}" for name, ways in sides) for way in (0, 1)]
    if times := row.row.times:
        found |= {
            "t": round(times[0], 3),
            "x": _place(axis, times[0]),
            "r": laid[lane].row_of[row.key],
        }
    for name, side in (("a", a), ("b", b)):
        if side is not None:
            found[name] = _side(side, clock, axis)
    if a and b and a.time is not None and b.time is not None:
        found |= {"d": round(b.time - a.time, 3)}
    if row.apart:
        found["dw"] = row.apart
    spanned = next(
        (s for s in (a, b) if s is not None and s.start is not None and s.end is not None), None
    )
    if (
        spanned is not None
        and spanned.end is not None
        and spanned.start is not None
        and spanned.end <= len(note)
    ):
        sentence = find_sentence(note, spanned.start, spanned.end)
        found["q"] = [sentence.before, sentence.span, sentence.after]
    if row.findings:
        found["f"] = [_finding(line) for line in row.findings]
    return found


def _side(row: PlacedRow, clock: Clock, axis: Axis) -> dict[str, Any]:
    moment = clock.read(row.time)
    side: dict[str, Any] = {
        "m": row.mention,
        "w": moment.hours,
        "c": moment.day,
        "o": row.uid or "",
    }
    if row.time is not None:
        side["x"] = _place(axis, row.time)
    if bounds := clock.bounds(row.lower, row.upper):
        side["b"] = both_ways(bounds)
    return side


def _finding(line: FindingLine) -> dict[str, str]:
    charged = (
        f"{line.charged}: {line.category}, {line.weight} {inflect_noun(float(line.weight), 'point')}"
        if line.charged
        else ""
    )
    return {
        "kind": line.difference,
        "verdict": line.sided_verdict,
        "charged": charged,
        "grounding": line.grounding,
        "reason": line.finding.reason,
        "flag": "within tolerance" if line.finding.flagged else "",
        "url": reverse("adjudication:finding", args=[line.finding.public_id]),
    }


def _place(axis: Axis, hours: float) -> float:
    return round(axis.position(hours), 5)
