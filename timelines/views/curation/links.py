"""Undo a link between notes on the case page, and link again."""

from __future__ import annotations

from django.db.models import Q
from django.http import Http404, HttpResponseBase
from django.views.decorators.http import require_POST

from accounts.permissions import CASE_READERS
from accounts.requests.json_bodies import json_body, read_text
from accounts.scoping import StudyRequest, study_role_required
from timelines.cases.items import find_occurrence
from timelines.cases.target import open_answerable, open_target
from timelines.curation import links
from timelines.models import OccurrenceLink
from timelines.views.curation.answers import answer_in_json, shown_after


@require_POST
@study_role_required(*CASE_READERS)
@answer_in_json
def link(request: StudyRequest, public_id: str, uid4: str) -> HttpResponseBase:
    """Link an occurrence with `other`, a UID of another note of its chart."""
    open_answerable(request, public_id)
    body = json_body(request)
    target = open_target(request, public_id, uid4, read_text(body, "timeline"))
    other = find_occurrence(target.shown, read_text(body, "other"))
    if other is None:
        raise Http404
    links.link_occurrences(
        first=target.occurrence, second=other, reason=read_text(body, "reason"), by=request.user
    )
    return shown_after(target.base)


@require_POST
@study_role_required(*CASE_READERS)
@answer_in_json
def undo(request: StudyRequest, public_id: str, uid4: str, link: str) -> HttpResponseBase:
    """Undo a link of an occurrence."""
    open_answerable(request, public_id)
    body = json_body(request)
    target = open_target(request, public_id, uid4, read_text(body, "timeline"))
    found = (
        OccurrenceLink.objects.select_related(
            "inventory__encounter__dataset__study", "inventory__note", "first", "second"
        )
        .filter(Q(first=target.occurrence) | Q(second=target.occurrence), public_id=link)
        .first()
    )
    if found is None:
        raise Http404
    links.undo_link(link=found, reason=read_text(body, "reason"), by=request.user)
    return shown_after(target.base)
