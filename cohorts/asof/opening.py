"""Find an as-of report or a leakage check for a person.

Figures over all cases of a dataset are closed as a whole to a person who must not see one of its
cases (docs/adr/0033-closed-cases.md).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeVar

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404

from accounts.models import Role, Study, User
from accounts.permissions import CASE_READERS, NotAllowed
from accounts.scoping import StudyRequest, filter_by_role
from cohorts.models import AsOfReport, LeakageCheck
from ehr.models import Dataset, Encounter
from timelines.exports.access import find_unseen_cases

J = TypeVar("J", AsOfReport, LeakageCheck)
AS_OF_CLOSED = (
    "This dataset has cases that are closed to you: you review them, or you author them and not"
    " every author has submitted. Figures over all its cases would show theirs. They open when your"
    " packet is closed and the timelines are submitted."
)


def open_job(
    request: StudyRequest,
    model: type[J],
    public_id: str,
    *,
    roles: Collection[Role] = CASE_READERS,
) -> J:
    """Return a report or check of the person's studies that is open to them.

    Raises Http404 and NotAllowed.
    """
    found = model._default_manager.select_related(
        "study", "dataset", "after__concept", "created_by"
    )
    job = get_object_or_404(filter_by_role(found, request.user, roles=roles), public_id=public_id)
    if job.dataset_id in find_closed_datasets(request.user, job.study, [job.dataset_id]):
        raise NotAllowed(AS_OF_CLOSED)
    return job


def find_closed_datasets(person: User, study: Study, datasets: Iterable[int]) -> set[int]:
    """Return which of these datasets have a case that the person must not see."""
    unseen = find_unseen_cases(person, study)
    if not unseen:
        return set()
    found = Encounter.objects.filter(pk__in=unseen, dataset__in=list(datasets))
    return set(found.values_list("dataset_id", flat=True))


def list_open_jobs(person: User, studies: Iterable[Study], model: type[J]) -> QuerySet[J]:
    """Return the open reports or checks of these studies."""
    found = model._default_manager.filter(study__in=[study.pk for study in studies])
    closed: set[int] = set()
    for study in studies:
        datasets = Dataset.objects.filter(study=study).values_list("pk", flat=True)
        closed |= find_closed_datasets(person, study, datasets)
    return found.exclude(dataset__in=closed)
