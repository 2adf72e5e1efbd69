"""What a request answers to: its case, timeline and occurrence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.http import Http404, HttpResponseBase, JsonResponse

from accounts.permissions import NotAllowed
from accounts.requests.json_bodies import BadBody, refusal
from accounts.scoping import StudyRequest
from ehr.models import Encounter
from timelines.access.authoring import hidden_timelines
from timelines.cases.choices import Choice, load_choices
from timelines.cases.items import find_occurrence
from timelines.cases.opening import open_case
from timelines.curation.curated import find_current
from timelines.curation.opening import check_user_may_answer
from timelines.drafts.time_entry import TimeNotUnderstood
from timelines.drafts.values import EditRefused
from timelines.models import Occurrence, Timeline

P = ParamSpec("P")


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


def read_rows(body: dict[str, Any]) -> list[int]:
    """Return the row numbers of a body. Raises EditRefused."""
    found = body.get("rows", [])
    if not isinstance(found, list) or not all(type(i) is int and 0 <= i < 2**31 for i in found):
        raise EditRefused("rows", "Must be a list of row numbers.")
    return found


def shown_after(base: Timeline) -> JsonResponse:
    """Say which timeline shows the base with what counts now."""
    return JsonResponse({"timeline": (find_current(base) or base).public_id})


def answer_in_json(
    view: Callable[Concatenate[StudyRequest, P], HttpResponseBase],
) -> Callable[Concatenate[StudyRequest, P], HttpResponseBase]:
    """Answer refusals as JSON: 4xx for the body, 403, 422 for a value."""

    @wraps(view)
    def wrapper(request: StudyRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except BadBody as error:
            return refusal(error.message, error.status)
        except EditRefused as error:
            return refusal(error.message, 422, field=error.field)
        except TimeNotUnderstood as error:
            return refusal(str(error), 422, field="entered")
        except NotAllowed as error:
            return refusal(str(error), 403)

    return wrapper
