"""Open a case for a person.

The guards of its page, the requested timeline, and its time zero.
"""

from __future__ import annotations

from django.http import Http404, HttpRequest

from accounts.permissions import CASE_READERS, check_user_can_open
from accounts.scoping import filter_by_role
from ehr.models import Encounter
from timelines.access.asking import ask_first
from timelines.access.authoring import check_user_may_see_timelines
from timelines.cases.choices import Choice, Choices
from timelines.domain import Anchor


def open_case(request: HttpRequest, public_id: str) -> Encounter:
    """Return the encounter, if the person may see its timelines.

    It must be in one of their studies. Raises Http404, NotAllowed, and AskFirst if the person has
    to answer a question before.
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
    assert request.user.is_authenticated
    check_user_can_open(request.user, encounter.dataset.study, "ehr.encounter", public_id)
    check_user_may_see_timelines(request.user, encounter)
    ask_first(request.user, [public_id])
    return encounter


def chosen_timeline(request: HttpRequest, choices: Choices) -> Choice:
    """Return the timeline that `t` names, else the case's default.

    Raises Http404 for a timeline of another case.
    """
    wanted = request.GET.get("t", "")
    if not wanted:
        return choices.default
    found = choices.find(wanted)
    if found is None:
        raise Http404
    return found


def stay(encounter: Encounter) -> tuple[Anchor, float | None]:
    """Return time zero and the hour of discharge."""
    anchor = Anchor(
        encounter.admitted_at,
        "presentation"
        if encounter.anchor_kind == Encounter.AnchorKind.PRESENTATION
        else "admission",
    )
    return anchor, None if encounter.discharged_at is None else anchor.hours(
        encounter.discharged_at
    )
