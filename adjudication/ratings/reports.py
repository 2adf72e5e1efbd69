"""The report of a judge run, cached until further games are judged."""

from __future__ import annotations

from functools import lru_cache

from django.db.models import Count, Max
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404

from accounts.audit.trail import record
from accounts.permissions import CASE_READERS, NotAllowed
from accounts.scoping import StudyRequest, filter_by_role
from adjudication.access.closed import find_closed_objects, has_closed_games
from adjudication.access.eligibility import REFUSAL
from adjudication.findings.changes import find_comparable_runs
from adjudication.models import Finding, JudgeRun
from adjudication.ratings.data import compare_runs, compute_report
from adjudication.reports.league import tables
from adjudication.reports.league.values import JudgeReport
from timelines.evaluation.tables import Table
from timelines.evaluations.table_files import table_file
from timelines.models import Authoring

#: Number of reports that a process caches; that of a finished run never changes.
CACHED = 16


def export_table(request: StudyRequest, run: JudgeRun, name: str, format: str) -> HttpResponse:
    """Return one table of a run as a file, and record it in the trail.

    Raises Http404 for an unknown table or format.
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
    """Return a table of the report, or "agreement" with another judge run.

    `against` in the address names that run. Raises Http404.
    """
    if name in tables.TABLES:
        return tables.TABLES[name](load_report(run))
    against = (
        choose_other_run(request, find_other_runs(request, run)) if name == "agreement" else None
    )
    if against is None:
        raise Http404
    return agreement_table(run, against)[1]


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


def load_report(run: JudgeRun) -> JudgeReport:
    """Return the report, computed again only if games were judged since."""
    return _cached_report(run.pk, fingerprint_run(run))


def fingerprint_run(run: JudgeRun) -> object:
    """Return a value that differs if the report may differ."""
    games = tuple(
        run.games.order_by("state", "outcome")
        .values_list("state", "outcome")
        .annotate(n=Count("pk"))
    )
    last = Finding.objects.filter(game__run=run).aggregate(last=Max("pk"))["last"]
    references = Authoring.objects.filter(encounter__dataset__in=run.datasets.all()).aggregate(
        last=Max("submitted_at")
    )["last"]
    return games, last, references


@lru_cache(maxsize=CACHED)
def _cached_report(run_id: int, state: object) -> JudgeReport:
    return compute_report(JudgeRun.objects.get(pk=run_id))


def agreement_table(run: JudgeRun, other: JudgeRun) -> tuple[int, Table]:
    """Return (comparisons that both judged, overlap of their findings)."""
    return _cached_overlap(run.pk, other.pk, (fingerprint_run(run), fingerprint_run(other)))


@lru_cache(maxsize=CACHED)
def _cached_overlap(run_id: int, other_id: int, state: object) -> tuple[int, Table]:
    run, other = JudgeRun.objects.get(pk=run_id), JudgeRun.objects.get(pk=other_id)
    count, found = compare_runs(run, other)
    return count, tables.overlap_table(
        "agreement", f"Against {other.label or other.judge_name}", ("This run", "The other"), found
    )
