"""Find an authoring for a request.

Only its author can open it, within their studies.
"""

from __future__ import annotations

from django.http import Http404, HttpRequest

from accounts.audit.trail import record
from accounts.permissions import CASE_READERS, check_user_can_open
from accounts.scoping import StudyRequest, filter_by_role
from ehr.models import Encounter
from timelines.access.authoring import AUTHORING_PAGES, check_user_can_author
from timelines.models import Authoring


def own_authoring(request: HttpRequest, public_id: str) -> Authoring:
    """Return the person's own authoring.

    Raise Http404 for any other person's, also to admins, and without the role in its study.
    """
    assert request.user.is_authenticated
    found = Authoring.objects.select_related(
        "encounter__dataset__study", "inventory__note", "author"
    )
    mine = filter_by_role(
        found, request.user, "encounter__dataset__study", roles=CASE_READERS
    ).filter(author=request.user)
    authoring = mine.filter(public_id=public_id).first()
    if authoring is None:
        raise Http404
    study = authoring.encounter.dataset.study
    check_user_can_author(request.user, study)
    check_user_can_open(request.user, study, "ehr.encounter", authoring.encounter.public_id)
    return authoring


def audit_view(request: StudyRequest, authoring: Authoring, action: str, **detail: str) -> None:
    """Audit that the author has read the note or rows of the case."""
    case = authoring.encounter.public_id
    study, details = authoring.encounter.dataset.study, {"case": case, **detail}
    record(
        actor=request.user,
        study=study,
        action=action,
        object_type="timelines.authoring",
        object_id=authoring.public_id,
        detail=details,
    )


def open_authorable(request: StudyRequest, public_id: str) -> Encounter:
    """Return the encounter, if the person may author its timeline.

    It must be in one of their studies. Raises Http404, NotAllowed.
    """
    cases = filter_by_role(
        Encounter.objects.select_related("dataset__study"),
        request.user,
        "dataset__study",
        roles=CASE_READERS,
    )
    encounter = cases.filter(public_id=public_id).first()
    if encounter is None:
        raise Http404
    study = encounter.dataset.study
    check_user_can_author(request.user, study)
    check_user_can_open(request.user, study, "ehr.encounter", public_id)
    check_user_can_open(request.user, study, AUTHORING_PAGES, public_id)
    return encounter
