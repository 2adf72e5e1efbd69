"""Storing what a judge said: each finding in the game's labels, with the entries, the span and the
charge behind it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from adjudication.domain import Finding as Told
from adjudication.domain import Side
from adjudication.judge_runs.data import LoadedGame
from adjudication.judging.input import JudgedFinding, JudgeInput, with_labels_swapped
from adjudication.models import Comparison, Finding, Game
from adjudication.scoring.errors import charge
from ehr.models import EventSeries
from timelines.evaluation.values import SourceKey
from timelines.models import Timeline


def save_findings(
    game: Game, comparison: Comparison, loaded: LoadedGame, findings: Sequence[JudgedFinding]
) -> None:
    """Replace the game's findings. Runs inside the caller's transaction."""
    Finding.objects.filter(game=game).delete()
    events = {f.series_event for f in findings if f.series_event is not None}
    series = dict(
        EventSeries.objects.filter(
            encounter_id=comparison.encounter_id, event__in=events
        ).values_list("event", "pk")
    )
    Finding.objects.bulk_create(
        (
            _row(game, comparison, loaded, number, judged, series)
            for number, judged in enumerate(findings, start=1)
        ),
        batch_size=500,
    )


def _row(
    game: Game,
    comparison: Comparison,
    loaded: LoadedGame,
    number: int,
    judged: JudgedFinding,
    series: Mapping[str, int],
) -> Finding:
    told = judged.finding
    start, end = judged.note_span or (None, None)
    charged = charge(told)
    return Finding(
        game=game,
        ordinal=number,
        type=told.type.value,
        verdict=told.verdict.value,
        polarity=told.polarity.value,
        a_event=told.a_event,
        a_time=told.a_time,
        b_event=told.b_event,
        b_time=told.b_time,
        a_row=told.a_row,
        b_row=told.b_row,
        a_entry_id=None if told.a_row is None else loaded.entries[told.a_row],
        b_entry_id=None if told.b_row is None else loaded.entries[told.b_row],
        note_evidence=told.note_evidence,
        note_start=start,
        note_end=end,
        table_evidence=told.table_evidence,
        series_id=None if judged.series_event is None else series.get(judged.series_event),
        grounding=told.grounding.value,
        relation=None if told.relation is None else told.relation.value,
        reason=told.reason,
        flagged=told.flagged,
        category="" if charged is None else charged.category.value,
        charged_first=None
        if charged is None
        else (charged.side is Side.A) == loaded.given.a_is_first,
        subject_sha256=subject_of(told, loaded.given, comparison),
    )


def subject_of(told: Told, given: JudgeInput, comparison: Comparison) -> str:
    """SHA-256 of what a finding is about: the case, the two sources, its type and its occurrences,
    told of the comparison's first timeline and then of its second. Verdict, evidence and hours are
    not in it: a judge may change its mind about one subject.
    """
    in_order = told if given.a_is_first else with_labels_swapped(told)
    rows = [given.by_row[n][1] if n is not None else None for n in (in_order.a_row, in_order.b_row)]
    names = ["" if r is None else (r.uid or r.event) for r in rows]
    sources = [_named(comparison.first), _named(comparison.second)]
    parts = [str(comparison.encounter_id), *sources, in_order.type.value, *names]
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def _named(timeline: Timeline) -> str:
    return SourceKey(timeline.source, timeline.kind, timeline.alternative).label
