"""Corrections, comments and links of a case, with the guards of its page."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from rest_framework.request import Request

from accounts.api_access.access import ApiView, build_page_request, read_body, require_studies
from accounts.api_access.operations import operation
from ehr.models import Encounter
from timelines.api.curation import bodies
from timelines.cases.items import find_occurrence
from timelines.cases.target import open_answerable, open_target
from timelines.curation import comments, corrections, links
from timelines.curation.opening import audit
from timelines.curation.reading import Logged, describe_comment, load_comments, load_log
from timelines.drafts.values import EditRefused
from timelines.models import Comment, OccurrenceLink

curation_operation = partial(operation, "cases")


class Corrections(ApiView):
    @curation_operation("correction_list", bodies.Correction, many=True)
    def get(self, request: Request, case_id: str) -> list[Logged]:
        """Return all corrections of a case, oldest first.

        The log is append-only: a further row undoes or settles.
        """
        require_studies(request)
        page = build_page_request(request)
        encounter = open_answerable(page, case_id)
        audit(encounter, "case.answers", page.user, {"part": "corrections"})
        return load_log(encounter)

    @curation_operation(
        "correct",
        bodies.Correction,
        refuses=(422,),
        takes=bodies.Correct,
        status=HTTPStatus.CREATED,
    )
    def post(self, request: Request, case_id: str) -> Logged:
        """Correct a time. The same correction sent again is stored once."""
        require_studies(request)
        page = build_page_request(request)
        open_answerable(page, case_id)
        values = read_body(bodies.Correct, request)
        target = open_target(page, case_id, values["uid"], values["timeline"])
        what = corrections.Corrected(
            entered=values["entered"],
            rows=values["rows"],
            known=values["known"],
            not_placed=values["kind"] == "not_placed",
            not_happened=values["kind"] == "not_happened",
            reason=values["reason"],
        )
        made = corrections.correct(
            base=target.base, occurrence=target.occurrence, what=what, by=page.user
        )
        log = load_log(target.encounter, base=target.base.pk, occurrence=target.occurrence.pk)
        return next(line for line in log if line.row.pk == made.pk)


class Comments(ApiView):
    @curation_operation("comment_list", bodies.Comment, many=True)
    def get(self, request: Request, case_id: str) -> list[dict[str, Any]]:
        """Return all comments of a case, oldest first."""
        require_studies(request)
        page = build_page_request(request)
        encounter = open_answerable(page, case_id)
        audit(encounter, "case.answers", page.user, {"part": "comments"})
        return load_comments(encounter)

    @curation_operation(
        "comment",
        bodies.Comment,
        refuses=(422,),
        takes=bodies.Say,
        status=HTTPStatus.CREATED,
    )
    def post(self, request: Request, case_id: str) -> dict[str, Any]:
        """Comment on a case or on an occurrence, or reply to a comment.

        A reply names no occurrence: it has that of its thread.
        """
        require_studies(request)
        page = build_page_request(request)
        encounter = open_answerable(page, case_id)
        values = read_body(bodies.Say, request)
        occurrence = parent = None
        if values["uid"] and values["reply_to"]:
            raise EditRefused("uid", "A reply has the occurrence of its thread: leave out uid.")
        if values["uid"]:
            target = open_target(page, case_id, values["uid"], values["timeline"])
            occurrence = target.occurrence
        if values["reply_to"]:
            said = Comment.objects.filter(encounter=encounter, kind=Comment.Kind.COMMENT)
            parent = said.filter(public_id=values["reply_to"]).first()
            if parent is None:
                raise Http404
        made = comments.comment(
            encounter=encounter,
            occurrence=occurrence,
            parent=parent,
            body=values["body"],
            by=page.user,
        )
        return describe_comment(made)


class Links(ApiView):
    @curation_operation("link_list", bodies.Link, many=True)
    def get(self, request: Request, case_id: str) -> list[OccurrenceLink]:
        """Return the links between notes of a case, oldest first.

        Undone ones are among them, with who undid them.
        """
        require_studies(request)
        page = build_page_request(request)
        encounter = open_answerable(page, case_id)
        audit(encounter, "case.answers", page.user, {"part": "links"})
        return list(_find_links(encounter))

    @curation_operation(
        "link",
        bodies.Link,
        refuses=(422,),
        takes=bodies.LinkTwo,
        status=HTTPStatus.CREATED,
    )
    def post(self, request: Request, case_id: str) -> OccurrenceLink:
        """Link two occurrences of different notes of a chart."""
        require_studies(request)
        page = build_page_request(request)
        open_answerable(page, case_id)
        values = read_body(bodies.LinkTwo, request)
        target = open_target(page, case_id, values["uid"], values["timeline"])
        other = find_occurrence(target.shown, values["other"])
        if other is None:
            raise Http404
        return links.link_occurrences(
            first=target.occurrence, second=other, reason=values["reason"], by=page.user
        )


class LinkUndo(ApiView):
    @curation_operation("link_undo", bodies.Link, refuses=(422,), takes=bodies.UndoLink)
    def post(self, request: Request, case_id: str, link_id: str) -> OccurrenceLink:
        """Undo a link; the times of its group follow in the curated timeline."""
        require_studies(request)
        page = build_page_request(request)
        encounter = open_answerable(page, case_id)
        values = read_body(bodies.UndoLink, request)
        found = _find_links(encounter).filter(public_id=link_id).first()
        if found is None:
            raise Http404
        links.undo_link(link=found, reason=values["reason"], by=page.user)
        return _find_links(encounter).get(pk=found.pk)


def _find_links(encounter: Encounter) -> QuerySet[OccurrenceLink]:
    found = OccurrenceLink.objects.filter(inventory__encounter=encounter).select_related(
        "first", "second", "author", "undone_by__author", "inventory__encounter__dataset__study"
    )
    return found.order_by("pk")
