"""Find an evaluation for a person.

It must be in one of their studies, and open to them.
"""

from __future__ import annotations

from collections.abc import Collection

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404

from accounts.models import Role, Study, User
from accounts.permissions import CASE_READERS, NotAllowed
from accounts.scoping import StudyRequest, filter_by_role
from jobs.models import JobState
from timelines.access.closed import EVALUATION_CLOSED, closed_evaluations
from timelines.evaluation.values import Basis, Report
from timelines.models import Evaluation

ACTIVE = (JobState.BLOCKED, JobState.QUEUED, JobState.RUNNING)


def open_evaluation(request: HttpRequest, public_id: str) -> Evaluation:
    """Return the evaluation for a page that shows figures.

    As `find_evaluation`, and raise NotAllowed if it has cases that are closed to the person.
    """
    found = find_evaluation(request, public_id)
    if closed_evaluations(request.user, [found]):
        raise NotAllowed(EVALUATION_CLOSED)
    return found


def find_evaluation(
    request: HttpRequest, public_id: str, *, roles: Collection[Role] = CASE_READERS
) -> Evaluation:
    """Return the evaluation if the person has one of `roles` in its study.

    Raise Http404.
    """
    found = Evaluation.objects.select_related("study", "created_by").prefetch_related("datasets")
    return get_object_or_404(filter_by_role(found, request.user, roles=roles), public_id=public_id)


def find_latest_evaluation(user: User, study: Study) -> Evaluation | None:
    """Return the latest finished evaluation that is open to the person."""
    finished = Evaluation.objects.filter(study=study, state=JobState.SUCCEEDED).defer("report")
    closed = closed_evaluations(user, finished.prefetch_related("datasets"))
    return finished.exclude(pk__in=closed).first()


def chosen_basis(request: StudyRequest, report: Report) -> Basis:
    """Return the pairing that `basis` names, else the report's first.

    Raises Http404 for one that the report does not have.
    """
    wanted = request.GET.get("basis", "")
    if not wanted:
        return report.settings.bases[0]
    basis = next((b for b in report.settings.bases if b.value == wanted), None)
    if basis is None:
        raise Http404
    return basis
