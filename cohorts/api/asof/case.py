"""A stay as it was known at an hour, in the API."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from accounts.api_access.access import ApiView, build_page_request, require_person, require_studies
from accounts.api_access.operations import operation
from accounts.api_access.paging import read_choice
from cohorts.api.access import build_study_request
from cohorts.api.asof import bodies
from cohorts.asof.case import SOURCES, find_end, find_timeline, load_case
from cohorts.exposing import expose_stay
from cohorts.values import Source
from timelines.cases.opening import open_case

as_of_operation = partial(operation, "as of an hour")
#: More hours than any stay has.
MOST_HOURS = 1e6
HOUR = OpenApiParameter("h", float, description="Hours from admission; a day without it.")
SOURCE = OpenApiParameter("source", str, enum=[one.value for one in SOURCES])


class CaseAsOf(ApiView):
    @as_of_operation("case_as_of", bodies.CaseAsOf, refuses=(409,), parameters=[HOUR, SOURCE])
    def get(self, request: Request, case_id: str) -> dict[str, Any]:
        """Return what of a stay was known at an hour. *Unblinds* the case."""
        require_studies(request)
        encounter = open_case(build_page_request(request), case_id)
        named = read_choice(request, "source", [one.value for one in SOURCES])
        source, end = Source(named or Source.RECORD), find_end(encounter)
        hour = read_hour(request, default=float(min(24, end)))
        timeline = find_timeline(encounter, source, require_person(request))
        case = load_case(encounter, timeline, hour) if timeline else None
        page = build_study_request(request, encounter.dataset.study)
        expose_stay(page, encounter, shown=case is not None)
        return {
            "case": encounter.public_id,
            "source": source.value,
            "hour": hour,
            "end": end,
            "timeline": timeline.public_id if timeline else None,
            "next_change": case.next_change if case else None,
            "counts": {state.value: count for state, count in case.counts} if case else {},
            "occurrences": case.lines if case else (),
        }


def read_hour(request: Request, *, default: float) -> float:
    """Return the hour of the query. Raises ValidationError."""
    try:
        hour = float(request.query_params.get("h", default))
    except ValueError:
        hour = math.nan
    if not abs(hour) < MOST_HOURS:
        raise ValidationError({"h": ["Hours such as 6 or 6.5."]})
    return hour
