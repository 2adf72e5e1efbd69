"""Members and versions of a concept in the API.

Propose, answer, freeze, export.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from accounts.api_access.access import ApiView, read_body, require_person
from accounts.api_access.paging import LIMIT, OFFSET, load_page, read_choice
from accounts.audit.trail import record
from accounts.permissions import NotAllowed
from cohorts.api.access import build_study_request
from cohorts.api.concepts import bodies
from cohorts.api.concepts.views import concept_operation, find_concept
from cohorts.concepts.access import CLOSED, is_closed
from cohorts.concepts.actions import add_rule, decide, make_version, propose
from cohorts.concepts.counting import Counts, count_members, load_quotes, show_members
from cohorts.concepts.matching import find_by_meaning
from cohorts.concepts.portable import write_concept
from cohorts.concepts.unblinding import note_opening
from cohorts.concepts.values import Rule
from cohorts.exposing import expose
from cohorts.models import Concept, ConceptMember, ConceptVersion
from timelines.access.closed import closed_encounters


class ConceptMembers(ApiView):
    @concept_operation(
        "concept_member_list",
        bodies.ConceptMemberPage,
        parameters=[
            OpenApiParameter("state", str, enum=ConceptMember.State.values),
            LIMIT,
            OFFSET,
        ],
    )
    def get(self, request: Request, concept_id: str) -> dict[str, Any]:
        """Return members that occur in your open cases, with sentences."""
        concept, person = find_concept(request, concept_id), require_person(request)
        note_opening(concept, person)
        closed = closed_encounters(person)
        counts = count_members(concept.study, [concept.pk], closed)
        members = show_members(concept, counts, closed)
        if state := read_choice(request, "state", ConceptMember.State.values):
            members = members.filter(state=state)

        def describe(shown: list[ConceptMember]) -> list[dict[str, Any]]:
            quotes = load_quotes(concept.study, shown, closed)
            page = build_study_request(request, concept.study)
            expose(page, [one.case for several in quotes.values() for one in several])
            return [
                {
                    "member": one,
                    "counts": counts.get(one.pk, Counts(0, 0)),
                    "quotes": quotes.get(one.pk, []),
                }
                for one in shown
            ]

        return load_page(request, members.order_by("kind", "words", "polarity", "pk"), describe)


class ConceptDecisions(ApiView):
    @concept_operation(
        "concept_decide", bodies.MembersDecided, refuses=(422,), takes=bodies.MemberDecision
    )
    def post(self, request: Request, concept_id: str) -> dict[str, Any]:
        """Accept or reject members.

        Those that are hidden from you stay as they are.
        """
        concept, person = find_concept(request, concept_id), require_person(request)
        values = read_body(bodies.MemberDecision, request)
        closed = closed_encounters(person)
        return {"count": decide(concept=concept, closed=closed, by=person, **values)}


class ConceptRules(ApiView):
    @concept_operation(
        "concept_propose",
        bodies.Proposed,
        refuses=(422,),
        takes=bodies.RuleStart,
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request, concept_id: str) -> dict[str, Any]:
        """Store a rule and propose what it finds.

        The same rule is not stored twice.
        """
        concept, person = find_concept(request, concept_id), require_person(request)
        values = read_body(bodies.RuleStart, request)
        rule = Rule(
            values["kind"],
            values["value"].strip(),
            tuple(values["polarities"]),
            tuple(values["lanes"]),
        )
        _, new = add_rule(concept=concept, rule=rule, closed=closed_encounters(person), by=person)
        return {"concept": concept.public_id, "new": new}


class ConceptMeaning(ApiView):
    @concept_operation("concept_meaning", bodies.Proposed, refuses=(422,))
    def post(self, request: Request, concept_id: str) -> dict[str, Any]:
        """Propose the mentions whose meaning is nearest to accepted members."""
        concept, person = find_concept(request, concept_id), require_person(request)
        found = find_by_meaning(concept, closed_encounters(person), search=None)
        new = propose(concept=concept, found=found, by=person)
        return {"concept": concept.public_id, "new": new}


class ConceptVersions(ApiView):
    @concept_operation(
        "concept_version_make",
        bodies.ConceptVersion,
        refuses=(422,),
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request, concept_id: str) -> ConceptVersion:
        """Freeze the accepted members; the newest version if it has exactly these."""
        concept = _find_whole(request, concept_id)
        made = make_version(concept=concept, by=require_person(request))
        return made or concept.versions.latest("number")


class ConceptVersionOne(ApiView):
    @concept_operation("concept_version", bodies.ConceptVersion)
    def get(self, request: Request, concept_id: str, number: int) -> ConceptVersion:
        """Return a version with its members. Closed as a whole while a case is."""
        versions = _find_whole(request, concept_id).versions.select_related("concept", "created_by")
        return get_object_or_404(versions, number=number)


class ConceptExport(ApiView):
    @concept_operation("concept_export", bodies.ConceptFile)
    def get(self, request: Request, concept_id: str) -> dict[str, Any]:
        """Return the concept as JSON for `import`.

        Closed as a whole while a case is.
        """
        concept = _find_whole(request, concept_id)
        record(
            actor=require_person(request),
            study=concept.study,
            action="concept.export",
            object_type="cohorts.concept",
            object_id=concept.public_id,
        )
        return write_concept(concept)


def _find_whole(request: Request, concept_id: str) -> Concept:
    """Return a concept for what depends on all cases of its study.

    Raises Http404, and NotAllowed while one of them is closed to the person.
    """
    concept = find_concept(request, concept_id)
    person = require_person(request)
    if is_closed(concept.study, closed_encounters(person)):
        raise NotAllowed(CLOSED)
    note_opening(concept, person)
    return concept
