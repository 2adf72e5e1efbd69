"""The report on a judge run, with every table as a file.

Ratings with their uncertainty, errors, pairs, and the basis of the ratings.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.html import json_script
from django.views.decorators.http import require_GET

from accounts.api_access.errors import build_sentence
from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from adjudication.findings.files import DICTIONARY
from adjudication.judge_runs.tools import RULES
from adjudication.judging.finding_words import CATEGORY_WORDS
from adjudication.models import JudgeRun
from adjudication.ratings.figures import FiguresPending
from adjudication.ratings.reports import (
    agreement_table,
    choose_other_run,
    export_table,
    find_other_runs,
    find_rated_run,
    load_report,
    load_search_table,
)
from adjudication.reports.league import pages as dashboard_tables
from adjudication.reports.league import tables
from adjudication.reports.league.result import describe_ratings
from adjudication.reports.league.values import (
    CATEGORIES,
    JudgeReport,
    PositionPreference,
    SourceRatings,
)
from adjudication.scoring.errors import WEIGHTS
from timelines.evaluation.tables import Table
from timelines.evaluation.values import SourceKey
from timelines.evaluations.table_files import FORMATS
from timelines.models import Timeline

#: The backbone that shares its code with the rules judge.
RULES_BACKBONE = "rules"


@require_GET
@study_role_required(*CASE_READERS)
def dashboard(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show the report on all games judged so far."""
    run = find_rated_run(request, public_id)
    try:
        report, stored = load_report(run)
    except FiguresPending as pending:
        return _render_pending(request, run, pending)
    others = find_other_runs(request, run) if report.games else []
    against = choose_other_run(request, others)
    compared, agreement = _compare(run, against)
    links = dashboard_tables.build_links(report)
    context: dict[str, Any] = {
        "run": run,
        "report": report,
        "stored": stored,
        "result": describe_ratings(report.rated),
        "tables": {
            name: dashboard_tables.link_table(build(report), links.get(name, {}))
            for name, build in tables.TABLES.items()
        },
        "searched": dashboard_tables.link_table(load_search_table(run, request.user), {}),
        "others": others,
        "against": against,
        "compared": compared,
        "agreement": dashboard_tables.link_table(agreement, {}) if agreement else None,
        "favoured_percent": _percent(report.favoured) if report.favoured else "",
        "formats": [(name, "LaTeX" if name == "latex" else name.upper()) for name in FORMATS],
        "file_formats": [
            ("csv", "CSV"),
            ("jsonl", "JSONL"),
            ("parquet", "Parquet"),
            (DICTIONARY, "Data dictionary"),
        ],
        "pairs_left_out": [m for m in report.matchups if m.unjudged or m.open],
        "own_reader": find_dependent_sources(run),
        "plots": json_script(_plots(report), "evaluation-data"),
    }
    return render(request, "adjudication/ratings/dashboard.html", context)


@require_GET
@study_role_required(*CASE_READERS)
def dashboard_table(request: StudyRequest, public_id: str, name: str, format: str) -> HttpResponse:
    """Return one table as a file."""
    run = find_rated_run(request, public_id)
    try:
        return export_table(request, run, name, format)
    except FiguresPending as pending:
        return _render_pending(request, run, pending)


def _compare(run: JudgeRun, against: JudgeRun | None) -> tuple[int, Table | None]:
    """Return the agreement with another run; no table until it is computed."""
    try:
        return agreement_table(run, against) if against else (0, None)
    except FiguresPending:
        return 0, None


def _render_pending(request: StudyRequest, run: JudgeRun, pending: FiguresPending) -> HttpResponse:
    """Say that a large run's figures are not computed yet, or why not."""
    context = {"run": run, "why": build_sentence(pending)}
    return render(request, "adjudication/ratings/pending.html", context, status=HTTPStatus.ACCEPTED)


def find_dependent_sources(run: JudgeRun) -> list[str]:
    """Return the sources made by the backbone that the judge also uses.

    The judge reads notes with it, so it is no independent witness for or against them.
    """
    if run.judge != RULES:
        return []
    keys = [SourceKey(*source) for source in run.sources]
    made = Timeline.objects.filter(
        encounter__dataset__in=run.datasets.all(), case_run__run__backbone=RULES_BACKBONE
    )
    names = set(
        made.filter(source__in=[k.source for k in keys]).values_list("source", flat=True).distinct()
    )
    return [k.label for k in keys if k.source in names]


def _percent(favoured: PositionPreference) -> str:
    return (
        f"{100 * (favoured.rate or 0):.1f} % ({100 * (favoured.low or 0):.1f} to"
        f" {100 * (favoured.high or 0):.1f})"
    )


def _plots(report: JudgeReport) -> dict[str, Any]:
    """Return data of the plots: ratings with intervals, errors' costs.

    Costs are per matchup.
    """
    weights = [WEIGHTS[c] for c in CATEGORIES]
    order = [r.source for r in report.rated.ratings]
    profiles = sorted(report.profiles[:-1], key=lambda p: order.index(p.source))
    costs = [
        [p.source, [round((n or 0.0) * w, 4) for n, w in zip(p.a_matchup, weights, strict=True)]]
        for p in profiles
    ]
    return {
        "ratings": _rating_rows(report.rated),
        "without": _rating_rows(report.without_flagged) if report.flagged else [],
        "categories": [CATEGORY_WORDS[c] for c in CATEGORIES],
        "costs": costs,
    }


def _rating_rows(rated: SourceRatings) -> list[list[Any]]:
    return [
        [r.source, *(None if v is None else round(v, 1) for v in (r.rating, r.low, r.high))]
        for r in rated.ratings
    ]
