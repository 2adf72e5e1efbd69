"""What a judge run adds up to: ratings with their uncertainty, errors, pairs, and what the ratings rest on; every table as a file."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from django.db.models import Count, Max
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.html import json_script
from django.views.decorators.http import require_GET

from accounts.audit import record
from accounts.permissions import CASE_READERS, NotAllowed
from accounts.scoping import StudyRequest, scoped, study_role_required
from adjudication.changes import comparable_runs
from adjudication.eligibility import REFUSAL
from adjudication.judge_tools import RULES
from adjudication.models import Finding, JudgeRun
from adjudication.readers import closed_to
from adjudication.report_data import agreement_of, report_of
from adjudication.reporting import tables
from adjudication.reporting.values import CATEGORIES, JudgeReport, Rated
from adjudication.scoring.errors import WEIGHTS
from adjudication.views.report_card import FORMATS, ShownTable
from timelines.evaluation.tables import Table
from timelines.evaluation.values import SourceKey
from timelines.models import Timeline

#: The backbone that shares its code with the rules judge.
RULES_BACKBONE = "rules"
#: Reports kept in a process: a run that is done never changes.
KEPT = 16


@require_GET
@study_role_required(*CASE_READERS)
def dashboard(request: StudyRequest, public_id: str) -> HttpResponse:
    """The report on what is judged by now."""
    run = rated_run(request, public_id)
    report = current_report(run)
    others = [o for o in comparable_runs(run) if not closed_games(request, o)] if report.games else []
    context: dict[str, Any] = {
        "run": run,
        "report": report,
        "tables": {name: ShownTable.of(build(report)) for name, build in tables.TABLES.items()},
        "agreements": [(other, *_agreement(run, other)) for other in others[:5]],
        "pairs_left_out": [m for m in report.matchups if m.unjudged or m.open],
        "own_reader": own_reader(run),
        "plots": json_script(_plots(report), "evaluation-data"),
    }
    return render(request, "adjudication/dashboard.html", context)


@require_GET
@study_role_required(*CASE_READERS)
def dashboard_table(request: StudyRequest, public_id: str, name: str, format: str) -> HttpResponse:
    """One table as a file."""
    run = rated_run(request, public_id)
    if name not in tables.TABLES or format not in FORMATS:
        raise Http404
    table = tables.TABLES[name](current_report(run))
    kind, ending = FORMATS[format]
    text = {"csv": table.to_csv, "latex": table.to_latex, "json": table.to_json}[format]()
    response = HttpResponse(text, content_type=f"{kind}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}-{run.public_id}.{ending}"'
    record(actor=request.user, study=run.study, action="judge.export", object_type="adjudication.judgerun", object_id=run.public_id)
    return response


def rated_run(request: StudyRequest, public_id: str) -> JudgeRun:
    """The judge run, unless cases of it are closed to the person: a sum over them tells of each. Raises Http404, NotAllowed."""
    found = scoped(JudgeRun.objects.filter(study=request.study), request.user).select_related("study")
    run = get_object_or_404(found, public_id=public_id)
    if closed_games(request, run):
        raise NotAllowed(REFUSAL)
    return run


def closed_games(request: StudyRequest, run: JudgeRun) -> bool:
    """Whether the run has games that are closed to the person now."""
    closed = closed_to(request.user)
    return bool(closed) and run.games.filter(closed.condition("comparison__")).exists()


def own_reader(run: JudgeRun) -> list[str]:
    """Sources that were made by the backbone whose reading of notes the judge uses: it is no independent witness for or against them."""
    if run.judge != RULES:
        return []
    keys = [SourceKey(*source) for source in run.sources]
    made = Timeline.objects.filter(encounter__dataset__in=run.datasets.all(), case_run__run__backbone=RULES_BACKBONE)
    names = set(made.filter(source__in=[k.source for k in keys]).values_list("source", flat=True).distinct())
    return [k.label for k in keys if k.source in names]


def current_report(run: JudgeRun) -> JudgeReport:
    """The report, computed again only where games have been judged since."""
    games = tuple(run.games.order_by("state", "outcome").values_list("state", "outcome").annotate(n=Count("pk")))
    last = Finding.objects.filter(game__run=run).aggregate(last=Max("pk"))["last"]
    return _kept(run.pk, (games, last))


@lru_cache(maxsize=KEPT)
def _kept(run_id: int, state: object) -> JudgeReport:
    return report_of(JudgeRun.objects.get(pk=run_id))


def _agreement(run: JudgeRun, other: JudgeRun) -> tuple[int, ShownTable]:
    count, found = agreement_of(run, other)
    table: Table = tables.overlap_table("agreement", f"Against {other.label or other.judge_name}", ("This run", "The other"), found)
    return count, ShownTable.of(table)


def _plots(report: JudgeReport) -> dict[str, Any]:
    """Ratings with intervals, and the cost of errors a matchup, for the page's plots."""
    weights = [WEIGHTS[c] for c in CATEGORIES]
    costs = [[p.source, [round((n or 0.0) * w, 4) for n, w in zip(p.a_matchup, weights, strict=True)]] for p in report.profiles[:-1]]
    return {
        "ratings": _rated(report.rated),
        "without": _rated(report.without_flagged) if report.flagged else [],
        "categories": [tables.CATEGORY_WORDS[c] for c in CATEGORIES],
        "costs": costs,
    }


def _rated(rated: Rated) -> list[list[Any]]:
    return [[r.source, *(None if v is None else round(v, 1) for v in (r.rating, r.low, r.high))] for r in rated.ratings]
