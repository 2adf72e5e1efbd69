"""Runs as a person sees them, on pages and in the API."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404

from accounts.models import Role, User
from accounts.permissions import CASE_READERS
from accounts.scoping import filter_by_role
from timelines.access.closed import exclude_closed
from timelines.models import CaseRun, Run


def find_run(user: User, public_id: str, *, roles: Collection[Role] = CASE_READERS) -> Run:
    """Return a run of a study in which the person has one of the roles.

    Raises Http404.
    """
    found = Run.objects.select_related("dataset", "study", "created_by", "based_on")
    return get_object_or_404(filter_by_role(found, user, roles=roles), public_id=public_id)


def find_case_run(run: Run, public_id: str) -> CaseRun:
    """Return a case of the run. Raises Http404."""
    return get_object_or_404(
        CaseRun.objects.select_related("run__study", "encounter"), run=run, public_id=public_id
    )


def find_case_runs(run: Run, state: str, closed: Collection[int]) -> QuerySet[CaseRun]:
    """Return the cases of the run, of one state, without the `closed` ones."""
    narrowed = {"state": state} if state else {}
    return exclude_closed(CaseRun.objects.filter(run=run, **narrowed), closed)
