"""Correct a time on the case page."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse, HttpResponseBase, JsonResponse
from django.template.loader import render_to_string
from django.views.decorators.http import require_GET, require_POST

from accounts.permissions import CASE_READERS
from accounts.requests.json_bodies import json_body, read_text
from accounts.scoping import StudyRequest, study_role_required
from ehr.record.clock import clock_of
from timelines.authoring.rows import row_json, search_rows
from timelines.cases.target import open_answerable, open_target
from timelines.curation import corrections
from timelines.curation.corrections import Corrected
from timelines.curation.offers import offer_rows
from timelines.curation.opening import audit
from timelines.curation.standing import DEFAULT_REASON
from timelines.drafts.time_entry import read_time
from timelines.drafts.values import EditRefused
from timelines.models import Correction, Entry
from timelines.views.curation.answers import answer_in_json, read_rows, shown_after


@require_GET
@study_role_required(*CASE_READERS)
def form(request: StudyRequest, public_id: str, uid4: str) -> HttpResponse:
    """Return the form that corrects a time in timeline `t`, as a partial."""
    target = open_target(request, public_id, uid4, request.GET.get("t", ""))
    shown = Entry.objects.filter(timeline=target.shown.pk, occurrence=target.occurrence).first()
    clock = clock_of(target.encounter)
    rows = offer_rows(target.encounter, target.occurrence, shown)
    audit(target.encounter, "case.answers", request.user, {"part": "rows", "uid4": uid4})
    context = {
        "encounter": target.encounter,
        "occurrence": target.occurrence,
        "rows": [
            row_json(row, clock) | {"moment": clock.read(clock.hours(row.time))}
            for row in rows
            if row.time
        ],
        "shown": clock.read(shown.time if shown else None),
        # Not a number: the template would write it for people.
        "near": "" if shown is None or shown.time is None else repr(shown.time),
        "default_reason": DEFAULT_REASON,
    }
    return HttpResponse(render_to_string("timelines/cases/answers/_correct.html", context))


@require_POST
@study_role_required(*CASE_READERS)
@answer_in_json
def correct(request: StudyRequest, public_id: str, uid4: str) -> HttpResponseBase:
    """Store a correction of a time."""
    open_answerable(request, public_id)
    body = json_body(request)
    target = open_target(request, public_id, uid4, read_text(body, "timeline"))
    kind = read_text(body, "kind") or "time"
    if kind not in ("time", "not_placed", "not_happened"):
        raise EditRefused("kind", "One of time, not_placed, not_happened.")
    known = body.get("known", False)
    if not isinstance(known, bool):
        raise EditRefused("known", "Must be true or false.")
    what = Corrected(
        entered=read_text(body, "entered"),
        rows=read_rows(body),
        known=known,
        not_placed=kind == "not_placed",
        not_happened=kind == "not_happened",
        reason=read_text(body, "reason"),
    )
    corrections.correct(base=target.base, occurrence=target.occurrence, what=what, by=request.user)
    return shown_after(target.base)


@require_POST
@study_role_required(*CASE_READERS)
@answer_in_json
def settle(request: StudyRequest, public_id: str, uid4: str) -> HttpResponseBase:
    """Settle corrections that differ, by `correction` or "" for the base."""
    open_answerable(request, public_id)
    body = json_body(request)
    target = open_target(request, public_id, uid4, read_text(body, "timeline"))
    wanted = read_text(body, "correction")
    chosen = None
    if wanted:
        chosen = Correction.objects.filter(base=target.base, public_id=wanted).first()
        if chosen is None:
            raise Http404
    corrections.settle(
        base=target.base,
        occurrence=target.occurrence,
        chosen=chosen,
        reason=read_text(body, "reason"),
        by=request.user,
    )
    return shown_after(target.base)


@require_POST
@study_role_required(*CASE_READERS)
@answer_in_json
def undo(request: StudyRequest, public_id: str, correction: str) -> HttpResponseBase:
    """Undo a correction or a settlement."""
    encounter = open_answerable(request, public_id)
    found = (
        Correction.objects.select_related("base__encounter__dataset__study", "occurrence")
        .filter(base__encounter=encounter, public_id=correction)
        .first()
    )
    if found is None:
        raise Http404
    corrections.undo(correction=found, by=request.user)
    return shown_after(found.base)


@require_POST
@study_role_required(*CASE_READERS)
@answer_in_json
def time(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Return how a typed time would be read; nothing is stored."""
    encounter = open_answerable(request, public_id)
    text = read_text(json_body(request), "text")
    read = read_time(text, encounter.admitted_at, encounter.discharged_at)
    clock = clock_of(encounter)
    bounds = clock.bounds(read.lower, read.upper)
    words = "N/A" if read.time is None else str(clock.read(read.time))
    return JsonResponse({"words": words, "bounds": str(bounds) if bounds else ""})


@require_POST
@study_role_required(*CASE_READERS)
@answer_in_json
def rows(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Return rows with all words of `text`, nearest to the hours `near` first.

    The searched text is only in the body.
    """
    encounter = open_answerable(request, public_id)
    body = json_body(request)
    found, more = search_rows(encounter, read_text(body, "text"), _near(body))
    audit(encounter, "case.answers", request.user, {"part": "search"})
    clock = clock_of(encounter)
    return JsonResponse({"rows": [row_json(row, clock) for row in found], "more": more})


def _near(body: dict[str, Any]) -> float | None:
    found = body.get("near")
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float) or not abs(found) < 1e9:
        raise EditRefused("near", "Must be hours from admission.")
    return float(found)
