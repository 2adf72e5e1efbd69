"""The stored report of a judge run, for pages, files and the API."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404

from accounts.audit.trail import record
from accounts.models import User
from accounts.permissions import CASE_READERS, NotAllowed
from accounts.scoping import StudyRequest, filter_by_role
from adjudication.access.closed import find_closed_objects, has_closed_games
from adjudication.access.eligibility import REFUSAL
from adjudication.findings.changes import find_comparable_runs
from adjudication.models import JudgeRun
from adjudication.ratings.card.searches import load_run_search_rates
from adjudication.ratings.figures import Stored, load_figures
from adjudication.reports.card.tables import search_table
from adjudication.reports.league import tables
from adjudication.reports.league.plain import agreement_from_plain, report_from_plain
from adjudication.reports.league.values import JudgeReport
from timelines.evaluation.tables import Table
from timelines.evaluations.table_files import table_file

#: The name of the table of people's searches.
SEARCH = "search"


def export_table(request: StudyRequest, run: JudgeRun, name: str, format: str) -> HttpResponse:
    """Return one table of a run as a file, and record it in the trail.

    Raises Http404 for an unknown table or format, FiguresPending.
    """
    response = table_file(_table(request, run, name), format, f"{name}-{run.public_id}")
    record(
        actor=request.user,
        study=run.study,
        action="judge.export",
        object_type="adjudication.judgerun",
        object_id=run.public_id,
    )
    return response


def _table(request: StudyRequest, run: JudgeRun, name: str) -> Table:
    """Return a table of the report, "search", or "agreement".

    `against` in the address names the judge run to agree with. Raises Http404.
    """
    if name == SEARCH:
        return load_search_table(run, request.user)
    if name in tables.TABLES:
        return tables.TABLES[name](load_report(run)[0])
    against = (
        choose_other_run(request, find_other_runs(request, run)) if name == "agreement" else None
    )
    if against is None:
        raise Http404
    return agreement_table(run, against)[1]


def load_search_table(run: JudgeRun, person: User) -> Table:
    """Return how the judge's findings match what people found without them.

    Of packets whose report card the person may see.
    """
    return search_table(load_run_search_rates(run, person))


def find_other_runs(request: StudyRequest, run: JudgeRun) -> list[JudgeRun]:
    """Return judge runs over the same comparisons, newest first.

    Leaves out those with games closed to the person.
    """
    closed = find_closed_objects(request.user)
    return [other for other in find_comparable_runs(run) if not has_closed_games(other, closed)]


def choose_other_run(request: StudyRequest, others: list[JudgeRun]) -> JudgeRun | None:
    """Return the requested other run, else the newest.

    Raises Http404 for one that cannot be compared.
    """
    wanted = request.GET.get("against", "")
    found = (
        next((o for o in others if o.public_id == wanted), None)
        if wanted
        else next(iter(others), None)
    )
    if wanted and found is None:
        raise Http404
    return found


def find_rated_run(request: StudyRequest, public_id: str) -> JudgeRun:
    """Return the judge run if none of its cases is closed to the person.

    Its sums reveal each case. Raises Http404, NotAllowed.
    """
    found = filter_by_role(
        JudgeRun.objects.filter(study=request.study), request.user, roles=CASE_READERS
    ).select_related("study")
    run = get_object_or_404(found, public_id=public_id)
    if has_closed_games(run, find_closed_objects(request.user)):
        raise NotAllowed(REFUSAL)
    return run


def load_report(run: JudgeRun) -> tuple[JudgeReport, Stored]:
    """Return the stored report, and how new it is. Raises FiguresPending."""
    stored = load_figures(run)
    return report_from_plain(stored.figures), stored


def agreement_table(run: JudgeRun, other: JudgeRun) -> tuple[int, Table]:
    """Return (comparisons that both judged, overlap of their findings).

    Raises FiguresPending.
    """
    found = agreement_from_plain(load_figures(run, other).figures)
    return found.comparisons, tables.overlap_table(
        "agreement",
        f"Against {other.label or other.judge_name}",
        ("This run", "The other"),
        found.rows,
    )
