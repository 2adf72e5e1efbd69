"""What a request answers to: its case, timeline and occurrence."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import Http404

from accounts.scoping import StudyRequest
from ehr.models import Encounter
from timelines.access.authoring import hidden_timelines
from timelines.cases.choices import Choice, load_choices
from timelines.cases.items import find_occurrence
from timelines.cases.opening import open_case
from timelines.curation.opening import check_user_may_answer
from timelines.models import Occurrence, Timeline


@dataclass(frozen=True)
class Target:
    """An occurrence of a case in a timeline, and the base that is corrected."""

    encounter: Encounter
    shown: Choice
    base: Timeline
    occurrence: Occurrence


def open_answerable(request: StudyRequest, public_id: str) -> Encounter:
    """Return the case. Raises Http404, NotAllowed if it takes no answer."""
    encounter = open_case(request, public_id)
    check_user_may_answer(request.user, encounter)
    return encounter


def open_target(request: StudyRequest, public_id: str, uid4: str, timeline: str) -> Target:
    """Return what is answered to, in the timeline of that public id.

    In the default one without an id. Raises Http404 if the case has no such timeline or occurrence, NotAllowed.
    """
    encounter = open_answerable(request, public_id)
    choices = load_choices(encounter, hidden=hidden_timelines(request.user, encounter))
    shown = choices.find(timeline) if timeline or not choices else choices.default
    occurrence = find_occurrence(shown, uid4) if shown else None
    if shown is None or occurrence is None:
        raise Http404
    group = choices.find_group(shown)
    base = Timeline.objects.select_related("encounter__dataset__study").get(
        pk=group.base.pk if group else shown.pk
    )
    return Target(encounter, shown, base, occurrence)
