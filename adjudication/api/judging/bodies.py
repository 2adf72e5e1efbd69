"""Judge runs, games, findings and comparisons as plain values, through the same functions as their
pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Count

from adjudication.access.closed import Closed
from adjudication.findings.changes import ChangeLine
from adjudication.findings.compare import CompareRow
from adjudication.findings.evidence import (
    CitedSeries,
    Side,
    cited_series,
    quote_of,
    sides_of_finding,
)
from adjudication.findings.listing import FindingLine, SideLine, finding_line
from adjudication.judge_runs.calls import sides_of, source_names
from adjudication.judge_runs.progress import (
    GameStatus,
    GameTotals,
    state_of,
    status_of,
    totals_of,
    waiting_warning,
)
from adjudication.judging.aligning import PlacedRow
from adjudication.judging.config import source_text
from adjudication.models import Finding, Game, JudgeRun
from adjudication.scoring.errors import WEIGHTS, Category
from ehr.models import Encounter
from timelines.cases.opening import stay
from timelines.evaluation.values import SourceKey
from timelines.runs.storage import checked_text, note_of


def source_body(key: SourceKey) -> dict[str, Any]:
    """A source as a run names it."""
    return {
        "source": key.source,
        "kind": key.kind,
        "alternative": key.alternative,
        "label": key.label,
        "written": source_text(key),
    }


def runs_body(runs: Sequence[JudgeRun], closed: Closed) -> list[dict[str, Any]]:
    """Return judge runs with their counts without the closed games, in three queries for all of
    them.
    """
    totals = totals_of(runs, closed)
    return [_run(run, totals[run.pk]) for run in runs]


def run_body(run: JudgeRun, closed: Closed) -> dict[str, Any]:
    """Return one with what it froze."""
    return {
        **runs_body([run], closed)[0],
        "config": run.config,
        "prompt_hashes": run.prompt_hashes,
        "language_models": run.language_models,
        "code_revision": run.code_revision,
        "warning": waiting_warning(run, totals_of([run], closed)[run.pk]),
    }


def findings_in(games: Sequence[Game]) -> dict[int, int]:
    """How many findings each of these games has, by primary key, in one query; games without any
    are not in it.
    """
    found = Finding.objects.filter(game__in=games).order_by().values_list("game_id")
    return dict(found.annotate(n=Count("pk")))


def game_body(game: Game, findings: int) -> dict[str, Any]:
    """Build the body of a game; `run` and `comparison` with its case and timelines are loaded."""
    first, second = source_names(game.comparison)
    status, sides, encounter = status_of(game), sides_of(game), game.comparison.encounter
    return {
        "id": game.public_id,
        "run": game.run.public_id,
        "case": encounter.public_id,
        "case_id": encounter.case_id,
        "first": first,
        "second": second,
        "a": sides[0] if sides else None,
        "swapped": game.swapped,
        "status": status,
        "findings": findings,
        "unjudged_reasons": game.unjudged_reasons if status is GameStatus.UNJUDGED else [],
        "failures": game.reasons if status is GameStatus.FAILED else [],
        "series_supplied": game.series_supplied,
        "series_omitted": game.series_omitted,
        "rounds": game.rounds,
    }


def finding_body(line: FindingLine, run: JudgeRun) -> dict[str, Any]:
    """One finding of the run in the judge's labels."""
    found, encounter = line.finding, line.game.comparison.encounter
    apart = (
        None if found.a_time is None or found.b_time is None else abs(found.a_time - found.b_time)
    )
    return {
        "id": found.public_id,
        "run": run.public_id,
        "game": line.game.public_id,
        "case": encounter.public_id,
        "case_id": encounter.case_id,
        "swapped": line.game.swapped,
        "type": found.type,
        "verdict": found.verdict,
        "polarity": found.polarity,
        "a": _side_body(line.a, found.a_time),
        "b": _side_body(line.b, found.b_time),
        "apart": apart,
        "grounding": found.grounding,
        "relation": found.relation,
        "note_evidence": found.note_evidence,
        "table_evidence": found.table_evidence,
        "reason": found.reason,
        "flagged": found.flagged,
        "category": found.category or None,
        "weight": WEIGHTS[Category(found.category)] if found.category else None,
    }


def finding_detail_body(found: Finding, encounter: Encounter) -> dict[str, Any]:
    """One finding with what it rests on. Raises NoteChanged where the note is not what was
    imported.
    """
    quote_of(found, encounter)
    a, b = sides_of_finding(found, encounter)
    series = cited_series(found, encounter)
    return {
        **finding_body(finding_line(found), found.game.run),
        "quote": _quote(found, encounter),
        "series": None if series is None else _series_body(series, encounter),
        "a_timeline": _timeline(a),
        "b_timeline": _timeline(b),
    }


def change_body(change: ChangeLine, earlier: JudgeRun, later: JudgeRun) -> dict[str, Any]:
    """One subject before and after."""
    return {
        "change": change.change,
        "before": finding_body(change.before, earlier) if change.before else None,
        "after": finding_body(change.after, later) if change.after else None,
    }


def compared_body(line: CompareRow) -> dict[str, Any]:
    """One line of two timelines."""
    return {
        "number": line.number,
        "state": line.state,
        "how": line.row.how,
        "a": _row_body(line.row.first),
        "b": _row_body(line.row.second),
        "findings": [found.finding.public_id for found in line.findings],
    }


def _run(run: JudgeRun, totals: GameTotals) -> dict[str, Any]:
    return {
        "id": run.public_id,
        "study": run.study.public_id,
        "label": run.label,
        "state": state_of(run, totals).words,
        "judge": run.judge,
        "judge_name": run.judge_name,
        "judge_version": run.judge_version,
        "datasets": [d.public_id for d in run.datasets.all()],
        "sources": [source_body(SourceKey(*source)) for source in run.sources],
        "swap": bool(run.config.get("swap")),
        "games": {status.value: totals.of(status) for status in GameStatus},
        "findings": totals.findings,
        "created_at": run.created_at,
        "created_by": run.created_by.get_username() if run.created_by else None,
    }


def _side_body(side: SideLine, hours: int | None) -> dict[str, Any]:
    return {
        "source": side.source,
        "event": side.event,
        "hours": None if side.event is None else hours,
        "charged": side.charged,
    }


def _quote(found: Finding, encounter: Encounter) -> dict[str, Any] | None:
    note = note_of(encounter)
    if note is None or found.note_start is None or found.note_end is None:
        return None
    return {
        "start": found.note_start,
        "end": found.note_end,
        "text": checked_text(note)[found.note_start : found.note_end],
    }


def _series_body(series: CitedSeries, encounter: Encounter) -> dict[str, Any]:
    anchor, _ = stay(encounter)
    rows = [
        {
            "hours": None
            if line.row.at is None
            else round(anchor.hours(datetime.fromisoformat(line.row.at.iso)), 3),
            "value": line.row.value,
            "time_kind": line.row.time_kind,
            "cited": line.cited,
        }
        for line in series.rows
    ]
    return {
        "event": series.series.event,
        "summary": series.series.summary,
        "count": series.series.count,
        "rows": rows,
    }


def _timeline(side: Side) -> dict[str, Any]:
    entry = side.entry
    return {
        "timeline": side.timeline.public_id,
        "source": side.source,
        "hours": entry.time if entry else None,
        "lower": entry.lower if entry else None,
        "upper": entry.upper if entry else None,
        "around": [
            {"event": n.event, "hours": n.hours, "uid": n.uid, "own": n.own} for n in side.around
        ],
    }


def _row_body(row: PlacedRow | None) -> dict[str, Any] | None:
    if row is None:
        return None
    return {
        "event": row.mention,
        "hours": row.time,
        "lower": row.lower,
        "upper": row.upper,
        "uid": row.uid,
        "absent": row.absent,
    }
