"""A stay as it was known at an hour."""

from __future__ import annotations

import math
from http import HTTPStatus

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from cohorts.asof.case import SOURCES, find_end, find_timeline, load_case
from cohorts.asof.states import State
from cohorts.exposing import expose_stay
from cohorts.values import Source
from timelines.cases.listing import title_line
from timelines.cases.opening import open_case
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
        "hour": hour,
        "end": end,
        "steps": [(f"{step:+d} h".replace("-", "−"), step, hour + step) for step in STEPS],
        "states": list(State),
    }
    if timeline is not None:
        try:
            context["case"] = load_case(encounter, timeline, hour)
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


def read_hour(text: str, *, default: float) -> float:
    """Return an hour that a person entered, or the default if it is none."""
    try:
        hour = float(text)
    except ValueError:
        return default
    return round(hour, 4) if math.isfinite(hour) and abs(hour) < 1e6 else default


def _read_source(text: str) -> Source:
    return Source(text) if text in {one.value for one in SOURCES} else Source.RECORD
