"""Who may open recipes: admins for whom no case of the study is closed.

Recipes name sources, and launches count what was made of every case. A person who reviews a packet
of the study gets neither until it is closed.
"""

from __future__ import annotations

from django.http import Http404

from accounts.models import Study, User
from accounts.permissions import NotAllowed
from accounts.scoping import StudyRequest
from adjudication.access.closed import find_closed_objects
from adjudication.models import Recipe, RecipeLaunch
from ehr.models import Dataset
from timelines.access.closed import has_closed

CLOSED = (
    "You review cases of this study. Its recipes name what you must not see yet, so they are"
    " closed to you until the packet is closed."
)


def check_recipes_are_open(request: StudyRequest) -> None:
    """Raise NotAllowed if a case of the study is closed to the person."""
    check_study_is_open(request.user, request.study)


def check_study_is_open(person: User, study: Study) -> None:
    """Raise NotAllowed if a case of that study is closed to the person."""
    if not are_recipes_open(person, study):
        raise NotAllowed(CLOSED)


def are_recipes_open(person: User, study: Study) -> bool:
    """Return whether no case of the study is closed to the person."""
    closed = find_closed_objects(person)
    return not has_closed(Dataset.objects.filter(study=study), closed.cases)


def find_recipe(request: StudyRequest, public_id: str) -> Recipe:
    """Return a recipe of the study. Raises Http404, NotAllowed."""
    check_recipes_are_open(request)
    found = Recipe.objects.filter(study=request.study, public_id=public_id).first()
    if found is None:
        raise Http404
    return found


def find_launch(request: StudyRequest, public_id: str) -> RecipeLaunch:
    """Return a launch of the study. Raises Http404, NotAllowed."""
    check_recipes_are_open(request)
    launches = RecipeLaunch.objects.filter(study=request.study)
    found = launches.select_related("version__recipe", "created_by").filter(public_id=public_id)
    launch = found.first()
    if launch is None:
        raise Http404
    return launch
