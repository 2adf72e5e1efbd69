"""The JSON of the editor page (`docs/adr/0024-authoring.md`).

Edits of a draft and readings of typed times.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponseBase, JsonResponse
from django.views.decorators.http import require_POST

from accounts.permissions import CASE_READERS
from accounts.requests.json_bodies import json_body, read_text, refusal
from accounts.scoping import StudyRequest, study_role_required
from ehr.presentation.clock import Clock
from ehr.record.clock import clock_of
from timelines.authoring.answers import CONFLICT, answer_refusals, stacks_json, state_json
from timelines.authoring.edits import Applied, Conflict, Edit, apply_edit
from timelines.authoring.opening import own_authoring
from timelines.drafts.time_entry import read_time
from timelines.drafts.values import EditRefused
from timelines.presentation.authoring.values import occurrences_json, progress_json, time_words


@require_POST
@study_role_required(*CASE_READERS)
@answer_refusals
def edits(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Store one edit.

    Answers 409 with the whole document if it was made on another revision.
    """
    authoring = own_authoring(request, public_id)
    clock = clock_of(authoring.encounter)
    try:
        applied = apply_edit(authoring=authoring, edit=_edit(json_body(request)), by=request.user)
    except Conflict as conflict:
        return refusal(CONFLICT, 409, **state_json(conflict.document, conflict.revision, clock))
    return JsonResponse(_applied_json(applied, clock))


@require_POST
@study_role_required(*CASE_READERS)
@answer_refusals
def time(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Return how a typed time would be read; nothing is stored."""
    encounter = own_authoring(request, public_id).encounter
    clock = clock_of(encounter)
    read = read_time(
        read_text(json_body(request), "text"), encounter.admitted_at, encounter.discharged_at
    )
    return JsonResponse(
        {
            "time": read.time,
            "lower": read.lower,
            "upper": read.upper,
            "known": read.known,
            "words": time_words(read.time, clock),
            "bounds": str(clock.bounds(read.lower, read.upper) or ""),
        }
    )


def _applied_json(applied: Applied, clock: Clock) -> dict[str, Any]:
    return {
        "revision": applied.revision,
        "changed": occurrences_json(applied.change.after, clock),
        "removed": list(applied.change.removed),
        "progress": progress_json(applied.document),
        **stacks_json(applied.stacks),
    }


def _edit(body: Mapping[str, Any]) -> Edit:
    """Return the edit of a body.

    Values and parts are read later, when the case is known.
    """
    shapes: dict[str, type] = {
        "token": str,
        "revision": int,
        "kind": str,
        "uid": str,
        "uids": list,
        "values": dict,
        "parts": list,
    }
    if missing := next((name for name in ("token", "revision", "kind") if name not in body), None):
        raise EditRefused(missing, "An edit needs a token, a revision and a kind.")
    for name, shape in shapes.items():
        if name in body and (not isinstance(body[name], shape) or isinstance(body[name], bool)):
            raise EditRefused(name, "The value has the wrong type.")
    if not all(isinstance(uid, str) for uid in body.get("uids", [])):
        raise EditRefused("uids", "Must be a list of identifiers.")
    return Edit(**{name: body[name] for name in shapes if name in body})
