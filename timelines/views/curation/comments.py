"""Comments and flags on the case page."""

from __future__ import annotations

from django.http import Http404, HttpResponseBase, JsonResponse
from django.views.decorators.http import require_POST

from accounts.permissions import CASE_READERS
from accounts.requests.json_bodies import json_body, read_text
from accounts.scoping import StudyRequest, study_role_required
from timelines.cases.target import open_answerable, open_target
from timelines.curation import comments
from timelines.models import Comment, Flag
from timelines.views.curation.answers import answer_in_json


@require_POST
@study_role_required(*CASE_READERS)
@answer_in_json
def comment(request: StudyRequest, public_id: str, uid4: str) -> HttpResponseBase:
    """Store a comment on an occurrence, or a reply to the thread `parent`."""
    encounter = open_answerable(request, public_id)
    body = json_body(request)
    target = open_target(request, public_id, uid4, read_text(body, "timeline"))
    parent = None
    if wanted := read_text(body, "parent"):
        said = Comment.objects.filter(encounter=encounter, kind=Comment.Kind.COMMENT)
        parent = said.filter(occurrence=target.occurrence, public_id=wanted).first()
        if parent is None:
            raise Http404
    made = comments.comment(
        encounter=encounter,
        occurrence=target.occurrence,
        parent=parent,
        body=read_text(body, "body"),
        by=request.user,
    )
    return JsonResponse({"comment": made.public_id})


@require_POST
@study_role_required(*CASE_READERS)
@answer_in_json
def step(request: StudyRequest, public_id: str, comment: str, step: str) -> HttpResponseBase:
    """Resolve or reopen a thread, or withdraw a comment."""
    encounter = open_answerable(request, public_id)
    found = (
        Comment.objects.select_related("encounter__dataset__study", "parent", "occurrence")
        .filter(encounter=encounter, kind=Comment.Kind.COMMENT, public_id=comment)
        .first()
    )
    if found is None or step not in ("resolve", "reopen", "withdraw"):
        raise Http404
    if step == "withdraw":
        comments.withdraw(said=found, by=request.user)
    else:
        comments.set_resolved(thread=found, resolved=step == "resolve", by=request.user)
    return JsonResponse({"comment": found.public_id})


@require_POST
@study_role_required(*CASE_READERS)
@answer_in_json
def flag(request: StudyRequest, public_id: str, uid4: str) -> HttpResponseBase:
    """Flag an occurrence."""
    open_answerable(request, public_id)
    body = json_body(request)
    target = open_target(request, public_id, uid4, read_text(body, "timeline"))
    made = comments.flag(
        encounter=target.encounter,
        occurrence=target.occurrence,
        reason=read_text(body, "reason"),
        words=read_text(body, "words"),
        by=request.user,
    )
    return JsonResponse({"flag": made.public_id})


@require_POST
@study_role_required(*CASE_READERS)
@answer_in_json
def withdraw_flag(request: StudyRequest, public_id: str, flag: str) -> HttpResponseBase:
    """Withdraw a flag."""
    encounter = open_answerable(request, public_id)
    found = (
        Flag.objects.select_related("occurrence__inventory__encounter__dataset__study")
        .filter(occurrence__inventory__encounter=encounter, public_id=flag)
        .first()
    )
    if found is None:
        raise Http404
    comments.withdraw_flag(flag=found, by=request.user)
    return JsonResponse({"flag": found.public_id})
