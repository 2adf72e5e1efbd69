"""The pages of authoring: my timelines, starting one, and the editor."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import Count, Q
from django.http import Http404, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import json_script
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.permissions import CASE_READERS, user_can_manage_study
from accounts.requests.json_bodies import JSON, json_body, read_text, refusal
from accounts.scoping import StudyRequest, filter_by_role, study_role_required
from ehr.models import Dataset
from ehr.record.charts import find_note
from ehr.record.clock import clock_of
from timelines.access.authoring import is_agreement_open, was_exposed
from timelines.access.closed import closed_encounters, exclude_closed, has_closed
from timelines.authoring import actions
from timelines.authoring.answers import CONFLICT, LOCKED, answer_refusals, stacks_json, state_json
from timelines.authoring.bases import find_bases
from timelines.authoring.download import FORMATS
from timelines.authoring.edits import Conflict, Locked, find_stacks
from timelines.authoring.opening import audit_view, open_authorable, own_authoring
from timelines.authoring.storage import load_document
from timelines.cases.opening import stay
from timelines.drafts.values import EditRefused
from timelines.models import Authoring
from timelines.presentation.authoring.page import layout
from timelines.runs.storage import checked_text

PLACEHOLDER_UID, PLACEHOLDER_ROW = "0000", 0


@require_GET
@study_role_required(*CASE_READERS)
def authorings(request: StudyRequest) -> HttpResponse:
    """List my timelines with their progress.

    Study admins also see the authors and progress of others, never their content.
    """
    found = Authoring.objects.filter(encounter__dataset__study=request.study).select_related(
        "encounter", "author"
    )
    counted = found.annotate(
        total=Count("inventory__occurrences"),
        placed=Count(
            "inventory__occurrences", filter=Q(inventory__occurrences__draft__placed=True)
        ),
    )
    manages, closed = (
        user_can_manage_study(request.user, request.study),
        closed_encounters(request.user),
    )
    context = {
        "mine": counted.filter(author=request.user),
        "others": exclude_closed(counted.exclude(author=request.user), closed)
        if manages
        else Authoring.objects.none(),
        "closed": has_closed(Dataset.objects.filter(study=request.study), closed),
        "manages": manages,
    }
    return render(request, "timelines/authoring/list.html", context)


@require_http_methods(["GET", "POST"])
@study_role_required(*CASE_READERS)
def author_start(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Choose the protocol; it cannot be changed after the start.

    An assisted one may begin from a timeline. The page explains each protocol and says whether the
    author was exposed.
    """
    encounter = open_authorable(request, public_id)
    existing = Authoring.objects.filter(encounter=encounter, author=request.user).first()
    if existing is not None:
        return redirect("timelines:authoring", existing.public_id)
    note = find_note(encounter)
    chosen, error = request.POST.get("protocol", ""), "Choose a protocol."
    if request.method == "POST" and note is not None and chosen in Authoring.Protocol.values:
        try:
            made, _ = actions.start_authoring(
                encounter=encounter,
                protocol=Authoring.Protocol(chosen),
                by=request.user,
                base=request.POST.get("base", ""),
            )
        except EditRefused as refused:
            error = refused.message
        else:
            return redirect("timelines:authoring", made.public_id)
    context = {
        "encounter": encounter,
        "note": note,
        "protocols": Authoring.Protocol.choices,
        "exposed": was_exposed(request.user, encounter),
        "bases": find_bases(request.user, encounter, note) if note is not None else [],
        "chosen": chosen,
        "base": request.POST.get("base", ""),
        "error": error if request.method == "POST" else "",
    }
    return render(
        request,
        "timelines/authoring/start.html",
        context,
        status=400 if request.method == "POST" else 200,
    )


@require_GET
@study_role_required(*CASE_READERS)
def authoring(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show the editor.

    A submitted timeline is shown as it was submitted, and locked.
    """
    found = own_authoring(request, public_id)
    note = found.inventory.note
    text = checked_text(note)
    audit_view(request, found, "authoring.open")
    data = _editor_data(found)
    context = {
        "authoring": found,
        "encounter": found.encounter,
        "note": text,
        "data": json_script(data, "authoring-data"),
        "layout": json_script(layout(text), "authoring-layout"),
        "urls": data["urls"],
        "agreement": is_agreement_open(found.encounter),
        "downloads": _downloads(found),
    }
    return render(request, "timelines/authoring/page.html", context)


@require_POST
@study_role_required(*CASE_READERS)
@answer_refusals
def submit(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Lock the draft.

    JSON (`revision`) gets JSON: 422 with `unplaced` while something is to do; a form is redirected
    to the page.
    """
    found = own_authoring(request, public_id)
    speaks_json = request.content_type == JSON
    revision = json_body(request).get("revision") if speaks_json else None
    try:
        actions.submit(
            authoring=found,
            by=request.user,
            revision=revision if isinstance(revision, int) else None,
        )
    except actions.NotReady as refused:
        if speaks_json:
            return refusal(refused.message, 422, field="placed", unplaced=refused.unplaced)
        messages.error(request, refused.message)
    except Conflict as conflict:
        clock = clock_of(found.encounter)
        return refusal(CONFLICT, 409, **state_json(conflict.document, conflict.revision, clock))
    except Locked:
        if speaks_json:
            raise
        messages.info(request, LOCKED)
    return _back(found, speaks_json)


@require_POST
@study_role_required(*CASE_READERS)
@answer_refusals
def reopen(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Open a submitted timeline again, with a reason.

    Its author or a study admin may do this.
    """
    speaks_json = request.content_type == JSON
    rows = Authoring.objects.select_related("encounter__dataset__study")
    found = (
        filter_by_role(rows, request.user, "encounter__dataset__study", roles=CASE_READERS)
        .filter(public_id=public_id)
        .first()
    )
    if found is None or not (
        found.author_id == request.user.pk
        or user_can_manage_study(request.user, found.encounter.dataset.study)
    ):
        raise Http404
    try:
        reason = (
            read_text(json_body(request), "reason")
            if speaks_json
            else request.POST.get("reason", "")
        )
        actions.reopen(authoring=found, reason=reason, by=request.user)
    except (EditRefused, Locked) as refused:
        if speaks_json:
            raise
        messages.error(
            request,
            refused.message
            if isinstance(refused, EditRefused)
            else "This timeline is open already.",
        )
    if found.author_id != request.user.pk and not speaks_json:
        return redirect("timelines:authorings")
    return _back(found, speaks_json)


def _back(found: Authoring, speaks_json: bool) -> HttpResponseBase:
    """To the editor page, by redirect or as an address."""
    if not speaks_json:
        return redirect("timelines:authoring", found.public_id)
    found.refresh_from_db()
    return JsonResponse(
        {
            "state": found.state,
            "revision": found.revision,
            "url": reverse("timelines:authoring", args=[found.public_id]),
        }
    )


def _editor_data(found: Authoring) -> dict[str, Any]:
    """Return the initial data of the page's script.

    The note's text is in the page itself.
    """
    _, discharge = stay(found.encounter)
    return {
        "id": found.public_id,
        "protocol": found.protocol,
        "state": found.state,
        "exposed": found.exposed,
        "admitted_at": found.encounter.admitted_at.isoformat(),
        "discharge": discharge,
        **state_json(load_document(found.inventory), found.revision, clock_of(found.encounter)),
        **stacks_json(find_stacks(found)),
        "urls": _urls(found),
    }


def _urls(found: Authoring) -> dict[str, str]:
    """Return the addresses that the script uses.

    For suggestions, which only the assisted protocol has, the script replaces 0000 and 0 by UID and
    row.
    """
    names = ("edits", "time", "rows", "submit", "reopen", "history")
    urls = {name: reverse(f"timelines:authoring_{name}", args=[found.public_id]) for name in names}
    if found.protocol == Authoring.Protocol.ASSISTED:
        urls["suggestions"] = reverse(
            "timelines:authoring_suggestions", args=[found.public_id, PLACEHOLDER_UID]
        )
        urls["suggestion"] = reverse(
            "timelines:authoring_suggestion",
            args=[found.public_id, PLACEHOLDER_UID, PLACEHOLDER_ROW],
        )
    return urls | {
        "list": reverse("timelines:authorings"),
        "record": reverse("ehr:record", args=[found.encounter.public_id]),
    }


def _downloads(found: Authoring) -> list[tuple[str, str]]:
    """(address, name) of each file of what was submitted; none before."""
    if found.timeline_id is None:
        return []
    return [
        (reverse("timelines:authoring_download", args=[found.public_id, name]), f.label)
        for name, f in FORMATS.items()
    ]
