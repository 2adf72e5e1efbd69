"""Evaluate a window in three values: yes, no or uncertain for each stay.

A join of columns for each level of events, and no loop over stays. That is sound, but it answers
"uncertain" if one inexact time matters twice; `settling` decides those stays exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from cohorts.engine import language as lang
from cohorts.engine.columns import (
    NO,
    UNCERTAIN,
    YES,
    Occurrences,
    judge_span,
    measure_gap,
)
from cohorts.engine.deciding import NOTHING, Judged, find_deciding, keep_rows
from cohorts.engine.language import All, Criterion, Event, Not, Picked, Some, Stay, Window
from cohorts.engine.pairs import Pairs
from cohorts.engine.stays import judge_stay, name_moments


def judge_window(
    window: Window,
    facts: pl.DataFrame,
    stays: pl.DataFrame,
    pairs: Pairs | None = None,
    *,
    explain: bool = True,
) -> Judged:
    """Return the three-valued answer of each stay, in the order of `stays`.

    A stay that is uncertain here may still be a yes or a no. `explain`: find the deciding facts.
    Raises TooManyPairs.
    """
    rows = name_moments(stays)
    judging = _Judging(Occurrences(window, facts), stays, pairs or Pairs(), explain)
    if isinstance(window.anchor, Picked):
        # The anchor is an event too, named for the criteria that refer to it.
        anchor = Event(window.anchor, name=lang.ANCHOR, where=window.where)
        return judging.judge_event(anchor, rows, {})
    moment = {f"anchor.{end}": pl.col(f"{window.anchor}.{end}") for end in _ENDS}
    return judging.judge(window.where, rows.with_columns(**moment), {})


_ENDS = ("fact", "lower", "upper")


@dataclass
class _Judging:
    occurrences: Occurrences
    stays: pl.DataFrame
    pairs: Pairs
    explain: bool

    def judge(self, criterion: Criterion, rows: pl.DataFrame, names: dict[str, str]) -> Judged:
        """Answer a criterion for each row; `names` are of events → concepts."""
        match criterion:
            case Stay():
                return Judged(judge_stay(criterion, rows, self.stays))
            case Event():
                return self.judge_event(criterion, rows, names)
            case Not(part):
                found = self.judge(part, rows, names)
                return replace(found, status=YES - found.status)
            case All(parts) | Some(parts):
                answers = [self.judge(part, rows, names) for part in parts]
                start = np.full(rows.height, YES if isinstance(criterion, All) else NO, np.int8)
                join = np.minimum if isinstance(criterion, All) else np.maximum
                status = join.reduce([start, *(part.status for part in answers)])
                # A part decides where its answer is the answer of all.
                kept = [keep_rows(part, part.status == status) for part in answers]
                return Judged(status, pl.concat([NOTHING, *kept]))

    def judge_event(self, event: Event, rows: pl.DataFrame, names: dict[str, str]) -> Judged:
        """Answer for slices of the rows, whose pairs need little memory."""
        slices = self.pairs.split(rows, self.occurrences.count(event.picked))
        if len(slices) == 1:
            return self._judge_rows(event, rows, names)
        found, start = [], 0
        for some in slices:
            numbered = some.with_columns(row=pl.int_range(pl.len(), dtype=pl.UInt32))
            judged = self._judge_rows(event, numbered, names)
            moved = (pl.col("row") + start).cast(pl.UInt32)
            found.append(replace(judged, deciding=judged.deciding.with_columns(moved)))
            start += some.height
        return Judged(
            np.concatenate([judged.status for judged in found]),
            pl.concat([judged.deciding for judged in found]),
        )

    def _judge_rows(self, event: Event, rows: pl.DataFrame, names: dict[str, str]) -> Judged:
        """Count occurrences that surely fit and that may fit, for each row."""
        pairs = self._pair(event, rows, names)
        inner = self._judge_inner(event, pairs, names)
        status = inner.status
        row = pairs["row"].to_numpy()
        sure = np.bincount(row[status == YES], minlength=rows.height)
        possible = np.bincount(row[status >= UNCERTAIN], minlength=rows.height)
        most = np.inf if event.at_most is None else event.at_most
        yes = (sure >= event.at_least) & (possible <= most)
        maybe = (possible >= event.at_least) & (sure <= most)
        answer = yes.astype(np.int8) + maybe.astype(np.int8)
        if not self.explain:
            return Judged(answer)
        return Judged(answer, find_deciding(event, pairs, inner, answer))

    def _pair(self, event: Event, rows: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
        """Join each row with the occurrences of its stay, and answer relations.

        `own` is the answer so far; occurrences that surely miss are kept to name the nearest.
        """
        pairs = rows.join(self.occurrences.pick(event.picked), on="stay", how="inner")
        for name, concept in names.items():
            if concept == event.picked.concept:
                pairs = pairs.filter(pl.col("fact") != pl.col(f"{name}.fact"))
        answers = [pl.col("status"), *(judge_span(span) for span in event.spans)]
        pairs = pairs.with_columns(own=pl.min_horizontal(answers))
        if not self.explain:
            return pairs.filter(pl.col("own") > NO)
        return pairs.with_columns(gap=measure_gap(event.spans))

    def _judge_inner(self, event: Event, pairs: pl.DataFrame, names: dict[str, str]) -> Judged:
        own = pairs["own"].to_numpy()
        if not event.where.parts:
            return Judged(own)
        # Levels are named even if the window does not name them: their occurrences count once.
        name = event.name or f"#{len(names)}"
        chosen = np.flatnonzero(own > NO).astype(np.uint32)
        kept = [c for c in pairs.columns if "." in c]
        ends = {f"{name}.{end}": pl.col(end) for end in _ENDS}
        inside = pairs[chosen].select("stay", *kept, **ends)
        inside = inside.with_columns(row=pl.int_range(pl.len(), dtype=pl.UInt32))
        found = self.judge(event.where, inside, names | {name: event.picked.concept})
        status = own.copy()
        status[chosen] = np.minimum(own[chosen], found.status)
        back = pl.Series(chosen)[found.deciding["row"]]
        return Judged(status, found.deciding.with_columns(row=back))
