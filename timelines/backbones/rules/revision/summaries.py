"""Revision from the words of series summaries, without rows.

A summary states observations with their times: all of a short series; of a long one the first,
last, lowest and highest, and when the series begins and ends. Those are judged like rows; nothing
else can date an occurrence. The words do not say which act a time belongs to, and there are no rows
to cite.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from timelines.backbones.rules.revision.reviser import RuleReviser
from timelines.domain import (
    Entry,
    Evidence,
    Expansion,
    KeptSummary,
    SourceRow,
    TaggedNote,
    Timeline,
    Window,
)
from timelines.pipeline.backbone import Check, never_stop
from timelines.pipeline.config import PipelineConfig

_CLOCK = r"(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?)"
#: "4.1 at 2150-03-01T11:00"; an observation without a value is its time alone.
_STATED = re.compile(rf"(?:(.*?) )??at {_CLOCK}(?:; |$)")
_ALL = "all observations: "
_EXTREMES = re.compile(r"(?:^|; )(?:first|last|min|max) ")
_EXTENT = re.compile(rf"^count \d+, (?:at|from) {_CLOCK}(?: to {_CLOCK})?$")
_QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?)(?: (\D\S*))?")


@dataclass(frozen=True)
class SummaryRuleReviser:
    """SummaryReviser of the rules backbone."""

    check: Check = never_stop

    def revise_by_summaries(
        self,
        note: TaggedNote,
        text_only: Timeline,
        summaries: Sequence[KeptSummary],
        window: Window,
        alternatives: int,
    ) -> list[Timeline]:
        """As `RuleReviser.revise`, with stated observations in the place of rows."""
        stated: dict[str, list[SourceRow]] = {}
        first = 0
        evidence = []
        for s in summaries:
            if s.event not in stated:
                stated[s.event] = list(stated_observations(s, window, first))
                first += len(stated[s.event])
            evidence += [
                Evidence(s.uid, s.query, row, s.dense_rank, s.dense_score, s.rerank_score)
                for row in stated[s.event]
            ]
        rows = {row.row_index: row for found in stated.values() for row in found}
        revised = RuleReviser(self.check).revise(
            note, text_only, Expansion(tuple(evidence)), window, alternatives
        )
        return [replace(t, entries=tuple(_drop_rows(e, rows) for e in t)) for t in revised]


def stated_observations(
    summary: KeptSummary, window: Window, first: int = 0
) -> Iterator[SourceRow]:
    """Yield the observations that a summary states, once each, in hours.

    They are numbered from `first`; the numbers do not name rows. Observations later than the
    discharge allows are omitted, as rows would be.
    """
    heading, *lines = summary.text.split("\n")
    unit = heading.removeprefix(summary.event).strip(" ()")
    grace = PipelineConfig().discharge_grace_hours
    latest = None if window.discharge is None else window.discharge + grace
    seen: set[tuple[str, str]] = set()
    for value, clock in _read_observations(lines):
        hours = window.anchor.hours(datetime.fromisoformat(clock))
        if (value, clock) in seen or (latest is not None and hours > latest):
            continue
        quantity = _QUANTITY.fullmatch(value)
        number = float(quantity[1]) if quantity else None
        yield SourceRow(
            first + len(seen),
            hours,
            summary.event,
            value,
            unit or (quantity[2] or "" if quantity else ""),
            numeric_value=number,
        )
        seen.add((value, clock))


def _read_observations(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (value, clock time) of the observations of a summary.

    If all observations are listed, these; else the marked ones and both ends.
    """
    listed = [line for line in lines if line.startswith(_ALL)]
    for line in listed:
        yield from _STATED.findall(line.removeprefix(_ALL))
    if listed:
        return
    for line in lines:
        extent = _EXTENT.match(line)
        if extent:
            yield from (("", clock) for clock in extent.groups() if clock)
        elif line.startswith("first "):
            yield from ((_EXTREMES.sub("", value), clock) for value, clock in _STATED.findall(line))


def _drop_rows(entry: Entry, stated: dict[int, SourceRow]) -> Entry:
    if not entry.adopted_rows:
        return replace(entry, near_rows=())
    row = stated[entry.adopted_rows[0]]
    what = f"{row.value} {row.unit}".strip() or "an observation"
    reason = (
        f"the summary of {row.event} states {what} at {row.time:.1f} h; no row behind it was seen"
    )
    return replace(entry, adopted_rows=(), link=None, decided_by="rules: summary", reason=reason)
