"""Load a judge run for a person, by their studies and roles."""

from __future__ import annotations

from collections.abc import Collection

from django.shortcuts import get_object_or_404

from accounts.models import Role, User
from accounts.permissions import CASE_READERS
from accounts.scoping import filter_by_role
from adjudication.access.closed import ClosedObjects, check_judge_run_is_open, find_closed_objects
from adjudication.models import JudgeRun


def find_judge_run(
    person: User, public_id: str, *, roles: Collection[Role] = CASE_READERS
) -> JudgeRun:
    """Return the judge run if the person has one of `roles` in its study.

    Raises Http404 otherwise.
    """
    found = JudgeRun.objects.select_related("study", "created_by").prefetch_related("datasets")
    return get_object_or_404(filter_by_role(found, person, roles=roles), public_id=public_id)


def find_open_judge_run(person: User, public_id: str) -> tuple[JudgeRun, ClosedObjects]:
    """Return the run, and what of it is closed to the person.

    Raises Http404, and NotAllowed if all of it is closed.
    """
    run, closed = find_judge_run(person, public_id), find_closed_objects(person)
    check_judge_run_is_open(run, closed)
    return run, closed
