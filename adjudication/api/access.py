"""Judge runs of a person, for views of the API."""

from __future__ import annotations

from rest_framework.request import Request

from accounts.api_access.access import require_person, require_studies
from accounts.models import Role
from accounts.permissions import CASE_READERS, NotAllowed
from adjudication.access import judge_runs
from adjudication.access.closed import ClosedObjects, find_closed_objects, has_closed_games
from adjudication.access.eligibility import REFUSAL
from adjudication.models import JudgeRun


def find_judge_run(
    request: Request, public_id: str, roles: frozenset[Role] = CASE_READERS
) -> JudgeRun:
    """Return a judge run of a study in which the person has one of the roles.

    Raises NotAllowed, Http404.
    """
    require_studies(request, roles)
    return judge_runs.find_judge_run(require_person(request), public_id, roles=roles)


def find_open_judge_run(request: Request, public_id: str) -> tuple[JudgeRun, ClosedObjects]:
    """Return such a run, and what of it is closed to the person.

    Raises NotAllowed if all of it is closed.
    """
    require_studies(request)
    return judge_runs.find_open_judge_run(require_person(request), public_id)


def find_summable_judge_run(
    request: Request, public_id: str, roles: frozenset[Role] = CASE_READERS
) -> JudgeRun:
    """Return such a run if no game is closed: its sums would reveal them.

    Raises Http404, NotAllowed.
    """
    run = find_judge_run(request, public_id, roles)
    if has_closed_games(run, find_closed_objects(require_person(request))):
        raise NotAllowed(REFUSAL)
    return run
