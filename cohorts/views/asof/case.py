"""A stay as it was known at an hour."""

from __future__ import annotations

import math
from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from cohorts.asof.case import SOURCES, find_end, find_timeline, load_case, load_known
from cohorts.asof.states import State
from cohorts.exposing import expose_stay
from cohorts.values import Source
from ehr.models import Encounter
from ehr.record.clock import clock_of
from timelines.access.authoring import hidden_timelines
from timelines.cases.listing import title_line
from timelines.cases.opening import open_case
from timelines.models import Timeline
from timelines.runs.storage import NoteChanged

#: What the buttons beside the slider add to the hour.
STEPS = (-6, -1, 1, 6)


@require_GET
@study_role_required(*CASE_READERS)
def as_of_case(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show the stay at hour `h` by `source`.

    htmx gets what depends on the hour alone.
    """
    encounter = open_case(request, public_id)
    if "t" in request.GET:
        return _answer_known(request, encounter)
    source = _read_source(request.GET.get("source", ""))
    end = find_end(encounter)
    hour = read_hour(request.GET.get("h", ""), default=float(min(24, end)))
    timeline = find_timeline(encounter, source, request.user)
    expose_stay(request, encounter, shown=timeline is not None)
    context = {
        "encounter": encounter,
        "title": title_line(encounter),
        "source": source,
        "sources": [(one.value, one.words) for one in SOURCES],
        "besides": [("", "nothing"), *((o.value, o.words) for o in SOURCES if o != source)],
        "hour": hour,
        "end": end,
        "steps": [(f"{step:+d} h".replace("-", "−"), step, hour + step) for step in STEPS],
        "states": list(State),
    }
    if timeline is not None:
        try:
            context["case"] = load_case(encounter, timeline, hour)
            context |= _load_beside(request, encounter, source, hour)
        except NoteChanged:
            return render(
                request,
                "timelines/cases/note_changed.html",
                context,
                status=HTTPStatus.INTERNAL_SERVER_ERROR,
            )
    partial = request.htmx and timeline is not None  # type: ignore[attr-defined]  # by django-htmx
    name = "_case_view" if partial else "case"
    response = render(request, f"cohorts/asof/{name}.html", context)
    response["Vary"] = "HX-Request"
    return response


def _load_beside(
    request: StudyRequest, encounter: Encounter, source: Source, hour: float
) -> dict[str, Any]:
    """Return the timeline to show beside the first one; {} without one.

    Raises NoteChanged.
    """
    wanted = request.GET.get("beside", "")
    if wanted == source or wanted not in {one.value for one in SOURCES}:
        return {}
    timeline = find_timeline(encounter, Source(wanted), request.user)
    if timeline is None:
        return {"missing": Source(wanted)}
    return {"beside": Source(wanted), "beside_case": load_case(encounter, timeline, hour)}


def _answer_known(request: StudyRequest, encounter: Encounter) -> HttpResponse:
    """Answer a timeline's known hours for the scripts of the case page. Raises Http404."""
    timelines = Timeline.objects.filter(encounter=encounter, public_id=request.GET["t"])
    hidden = hidden_timelines(request.user, encounter)
    timeline = timelines.exclude(pk__in=hidden).first()
    if timeline is None:
        raise Http404
    expose_stay(request, encounter, shown=True)
    discharge = clock_of(encounter).discharge
    known = {"known": load_known(timeline), "end": find_end(encounter), "discharge": discharge}
    return JsonResponse(known)


def read_hour(text: str, *, default: float) -> float:
    """Return an hour that a person entered, or the default if it is none."""
    try:
        hour = float(text)
    except ValueError:
        return default
    return round(hour, 4) if math.isfinite(hour) and abs(hour) < 1e6 else default


def _read_source(text: str) -> Source:
    return Source(text) if text in {one.value for one in SOURCES} else Source.RECORD
