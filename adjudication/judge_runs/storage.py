"""Store a judge's findings in the game's labels.

Each gets its entries, its span in the note and its charge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from adjudication.domain import Finding as DomainFinding
from adjudication.domain import Side
from adjudication.judge_runs.data import LoadedGame
from adjudication.judging.input import JudgedFinding, JudgeInput, swap_labels
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
    finding = judged.finding
    start, end = judged.note_span or (None, None)
    charged = charge(finding)
    return Finding(
        game=game,
        ordinal=number,
        type=finding.type.value,
        verdict=finding.verdict.value,
        polarity=finding.polarity.value,
        a_event=finding.a_event,
        a_time=finding.a_time,
        b_event=finding.b_event,
        b_time=finding.b_time,
        a_row=finding.a_row,
        b_row=finding.b_row,
        a_entry_id=None if finding.a_row is None else loaded.entries[finding.a_row],
        b_entry_id=None if finding.b_row is None else loaded.entries[finding.b_row],
        note_evidence=finding.note_evidence,
        note_start=start,
        note_end=end,
        table_evidence=finding.table_evidence,
        series_id=None if judged.series_event is None else series.get(judged.series_event),
        grounding=finding.grounding.value,
        relation=None if finding.relation is None else finding.relation.value,
        reason=finding.reason,
        flagged=finding.flagged,
        category="" if charged is None else charged.category.value,
        charged_first=None
        if charged is None
        else (charged.side is Side.A) == loaded.given.a_is_first,
        subject_sha256=hash_subject(finding, loaded.given, comparison),
    )


def hash_subject(finding: DomainFinding, given: JudgeInput, comparison: Comparison) -> str:
    """Hash the subject of a finding, first timeline first.

    That is the case, the two sources, its type and its occurrences. Verdict, evidence and hours are
    left out: a judge may change its mind about one subject.
    """
    in_order = finding if given.a_is_first else swap_labels(finding)
    rows = [given.by_row[n][1] if n is not None else None for n in (in_order.a_row, in_order.b_row)]
    names = ["" if r is None else (r.uid or r.event) for r in rows]
    sources = [_timeline_label(comparison.first), _timeline_label(comparison.second)]
    parts = [str(comparison.encounter_id), *sources, in_order.type.value, *names]
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


def _timeline_label(timeline: Timeline) -> str:
    return SourceKey(timeline.source, timeline.kind, timeline.alternative).label
