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
from adjudication import dashboard_tables
from adjudication.changes import comparable_runs
from adjudication.eligibility import REFUSAL
from adjudication.finding_words import CATEGORY_WORDS
from adjudication.judge_tools import RULES
from adjudication.models import Finding, JudgeRun
from adjudication.readers import closed_to, has_closed_games
from adjudication.report_data import agreement_of, report_of
from adjudication.reporting import tables
from adjudication.reporting.values import CATEGORIES, Favoured, JudgeReport, Rated
from adjudication.scoring.errors import WEIGHTS
from adjudication.views.findings_download import DICTIONARY
from adjudication.views.report_card import FORMATS, table_file
from timelines.evaluation.tables import Table
from timelines.evaluation.values import SourceKey
from timelines.models import Authoring, Timeline

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
    others = _others(request, run) if report.games else []
    against = _against(request, others)
    compared, agreement = agreement_table(run, against) if against else (0, None)
    links = dashboard_tables.links_of(report)
    context: dict[str, Any] = {
        "run": run,
        "report": report,
        "tables": {name: dashboard_tables.linked(build(report), links.get(name, {})) for name, build in tables.TABLES.items()},
        "others": others,
        "against": against,
        "compared": compared,
        "agreement": dashboard_tables.linked(agreement, {}) if agreement else None,
        "favoured_percent": _percent(report.favoured) if report.favoured else "",
        "formats": [(name, "LaTeX" if name == "latex" else name.upper()) for name in FORMATS],
        "file_formats": [("csv", "CSV"), ("jsonl", "JSONL"), ("parquet", "Parquet"), (DICTIONARY, "Data dictionary")],
        "pairs_left_out": [m for m in report.matchups if m.unjudged or m.open],
        "own_reader": own_reader(run),
        "plots": json_script(_plots(report), "evaluation-data"),
    }
    return render(request, "adjudication/dashboard.html", context)


@require_GET
@study_role_required(*CASE_READERS)
def dashboard_table(request: StudyRequest, public_id: str, name: str, format: str) -> HttpResponse:
    """One table as a file."""
    return rated_table(request, rated_run(request, public_id), name, format)


def rated_table(request: StudyRequest, run: JudgeRun, name: str, format: str) -> HttpResponse:
    """One table of a run that is open to the person as a file, told of in the trail. Raises Http404 for what is no table or no format."""
    response = table_file(_table(request, run, name), format, f"{name}-{run.public_id}")
    record(actor=request.user, study=run.study, action="judge.export", object_type="adjudication.judgerun", object_id=run.public_id)
    return response


def _table(request: StudyRequest, run: JudgeRun, name: str) -> Table:
    """One of the report's tables, or "agreement" with the judge run that `against` names. Raises Http404."""
    if name in tables.TABLES:
        return tables.TABLES[name](current_report(run))
    against = _against(request, _others(request, run)) if name == "agreement" else None
    if against is None:
        raise Http404
    return agreement_table(run, against)[1]


def _others(request: StudyRequest, run: JudgeRun) -> list[JudgeRun]:
    """Judge runs over the same comparisons, newest first, without those that are closed to the person."""
    closed = closed_to(request.user)
    return [other for other in comparable_runs(run) if not has_closed_games(other, closed)]


def _against(request: StudyRequest, others: list[JudgeRun]) -> JudgeRun | None:
    """The other run that is asked for, else the newest one. Raises Http404 for one that cannot be compared."""
    wanted = request.GET.get("against", "")
    found = next((o for o in others if o.public_id == wanted), None) if wanted else next(iter(others), None)
    if wanted and found is None:
        raise Http404
    return found


def rated_run(request: StudyRequest, public_id: str) -> JudgeRun:
    """The judge run, unless cases of it are closed to the person: a sum over them tells of each. Raises Http404, NotAllowed."""
    found = scoped(JudgeRun.objects.filter(study=request.study), request.user, roles=CASE_READERS).select_related("study")
    run = get_object_or_404(found, public_id=public_id)
    if has_closed_games(run, closed_to(request.user)):
        raise NotAllowed(REFUSAL)
    return run


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
    return _kept(run.pk, state_of(run))


def state_of(run: JudgeRun) -> object:
    """Differs whenever the report may."""
    games = tuple(run.games.order_by("state", "outcome").values_list("state", "outcome").annotate(n=Count("pk")))
    last = Finding.objects.filter(game__run=run).aggregate(last=Max("pk"))["last"]
    references = Authoring.objects.filter(encounter__dataset__in=run.datasets.all()).aggregate(last=Max("submitted_at"))["last"]
    return games, last, references


@lru_cache(maxsize=KEPT)
def _kept(run_id: int, state: object) -> JudgeReport:
    return report_of(JudgeRun.objects.get(pk=run_id))


def agreement_table(run: JudgeRun, other: JudgeRun) -> tuple[int, Table]:
    """(comparisons that both judged, what both told of them)."""
    return _compared(run.pk, other.pk, (state_of(run), state_of(other)))


@lru_cache(maxsize=KEPT)
def _compared(run_id: int, other_id: int, state: object) -> tuple[int, Table]:
    run, other = JudgeRun.objects.get(pk=run_id), JudgeRun.objects.get(pk=other_id)
    count, found = agreement_of(run, other)
    return count, tables.overlap_table("agreement", f"Against {other.label or other.judge_name}", ("This run", "The other"), found)


def _percent(favoured: Favoured) -> str:
    return f"{100 * (favoured.rate or 0):.1f} % ({100 * (favoured.low or 0):.1f} to {100 * (favoured.high or 0):.1f})"


def _plots(report: JudgeReport) -> dict[str, Any]:
    """Ratings with intervals, and the cost of errors a matchup, for the page's plots."""
    weights = [WEIGHTS[c] for c in CATEGORIES]
    order = [r.source for r in report.rated.ratings]
    profiles = sorted(report.profiles[:-1], key=lambda p: order.index(p.source))
    costs = [[p.source, [round((n or 0.0) * w, 4) for n, w in zip(p.a_matchup, weights, strict=True)]] for p in profiles]
    return {
        "ratings": _rated(report.rated),
        "without": _rated(report.without_flagged) if report.flagged else [],
        "categories": [CATEGORY_WORDS[c] for c in CATEGORIES],
        "costs": costs,
    }


def _rated(rated: Rated) -> list[list[Any]]:
    return [[r.source, *(None if v is None else round(v, 1) for v in (r.rating, r.low, r.high))] for r in rated.ratings]
