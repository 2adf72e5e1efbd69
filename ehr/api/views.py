"""Datasets and the record of a stay in the API.

Guards and audit trail are those of the pages.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from accounts.api_access.access import (
    STUDY,
    ApiView,
    find_requested_studies,
    require_person,
    require_studies,
)
from accounts.api_access.operations import operation
from accounts.api_access.paging import (
    AFTER,
    LIMIT,
    OFFSET,
    cut,
    load_page,
    read_choice,
    read_limit,
    read_number,
)
from ehr.api import bodies
from ehr.models import Encounter, EventSeries, SourceRow
from ehr.record.cohorts import count_dataset, find_datasets
from ehr.record.opening import audit_view, open_encounter
from ehr.record.page import SeriesFilter, find_series
from ehr.record.stays import NumberedNote, count_parts, find_hours, find_rows, number_notes

LARGEST_ROW = 2**31 - 1
LARGEST_KEY = 10**18 - 1
dataset_operation = partial(operation, "datasets")
record_operation = partial(operation, "cases")


class Datasets(ApiView):
    @dataset_operation("dataset_list", bodies.DatasetPage, parameters=[STUDY, LIMIT, OFFSET])
    def get(self, request: Request) -> dict[str, Any]:
        """Return the datasets of your studies by name."""
        return load_page(request, find_datasets(find_requested_studies(request)))


class DatasetOne(ApiView):
    @dataset_operation("dataset", bodies.DatasetDetail)
    def get(self, request: Request, dataset_id: str) -> dict[str, Any]:
        """Return one dataset with the number of its stays, notes and rows."""
        found = get_object_or_404(find_datasets(require_studies(request)), public_id=dataset_id)
        shown = ("public_id", "study", "name", "format", "licence", "state", "created_at")
        return {**{name: getattr(found, name) for name in shown}, **asdict(count_dataset(found))}


class StayOne(ApiView):
    @record_operation("case", bodies.StayDetail)
    def get(self, request: Request, case_id: str) -> Encounter:
        """Return one stay: when it was, and how much there is of it."""
        encounter = _open(request, case_id)
        audit_view(require_person(request), encounter, "record.open")
        return count_parts(encounter)


class Notes(ApiView):
    @record_operation("note_list", bodies.Note, many=True)
    def get(self, request: Request, case_id: str) -> list[NumberedNote]:
        """Return the notes of a stay in order of time, without their texts."""
        encounter = _open(request, case_id)
        audit_view(require_person(request), encounter, "record.open")
        return number_notes(encounter)


class NoteOne(ApiView):
    @record_operation("note", bodies.NoteDetail)
    def get(self, request: Request, case_id: str, number: int) -> NumberedNote:
        """Return one note with its text."""
        encounter = _open(request, case_id)
        found = next((n for n in number_notes(encounter) if n.number == number), None)
        if found is None:
            raise Http404
        audit_view(require_person(request), encounter, "note.open", note=found.note.pk)
        return found


class Series(ApiView):
    @record_operation(
        "series_list",
        bodies.SeriesPage,
        parameters=[
            OpenApiParameter("category", str, description="First part of the event name: `lab`."),
            LIMIT,
            OFFSET,
        ],
    )
    def get(self, request: Request, case_id: str) -> dict[str, Any]:
        """Return the series of a stay in order of clinical priority."""
        encounter = _open(request, case_id)
        wanted = SeriesFilter(category=request.query_params.get("category", ""))
        audit_view(require_person(request), encounter, "record.open")
        return load_page(
            request,
            find_series(encounter, wanted),
            lambda found: [_describe_series(encounter, one) for one in found],
        )


class Rows(ApiView):
    @record_operation(
        "row_list",
        bodies.RowPage,
        parameters=[
            OpenApiParameter("series", int, description="`id` of a series; only its rows."),
            OpenApiParameter(
                "untimed", str, enum=["1"], description="Only rows without a time, in no series."
            ),
            LIMIT,
            AFTER,
        ],
    )
    def get(self, request: Request, case_id: str) -> dict[str, Any]:
        """Return rows of a stay in the order of the import."""
        encounter = _open(request, case_id)
        series = _find_series(request, encounter)
        untimed = bool(read_choice(request, "untimed", ["1"]))
        if series is not None and untimed:
            raise ValidationError({"untimed": ["Rows without a time are in no series."]})
        after, limit = read_number(request, "after", -1, 0, LARGEST_ROW), read_limit(request)
        rows = find_rows(encounter, series, untimed=untimed).filter(row_index__gt=after)
        page, following = cut(
            list(rows.order_by("row_index")[: limit + 1]), limit, lambda row: str(row.row_index)
        )
        detail = {"series": series.pk} if series else {"untimed": untimed}
        audit_view(require_person(request), encounter, "record.rows", **detail)
        return {"next": following, "results": [_describe_row(encounter, row) for row in page]}


def _open(request: Request, public_id: str) -> Encounter:
    """Return a stay of this reader. Raises Http404, NotAllowed."""
    require_studies(request)
    return open_encounter(require_person(request), public_id)


def _find_series(request: Request, encounter: Encounter) -> EventSeries | None:
    if "series" not in request.query_params:
        return None
    key = read_number(request, "series", 0, 0, LARGEST_KEY)
    return get_object_or_404(EventSeries, pk=key, encounter=encounter)


def _describe_series(encounter: Encounter, series: EventSeries) -> dict[str, Any]:
    return {
        "pk": series.pk,
        "event": series.event,
        "category": series.event.partition(":")[0],
        "count": series.count,
        "first_hours": find_hours(encounter, series.first),
        "last_hours": find_hours(encounter, series.last),
        "summary": series.summary,
    }


def _describe_row(encounter: Encounter, row: SourceRow) -> dict[str, Any]:
    values = ("row_index", "time", "event", "value", "numeric_value", "unit", "time_kind", "source")
    return {
        **{name: getattr(row, name) for name in values},
        "hours": find_hours(encounter, row.time),
        "known_hours": find_hours(encounter, row.result_time),
    }
