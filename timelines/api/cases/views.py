"""Timelines of a case in the API.

Guards and audit trail are those of the case page.
"""

from __future__ import annotations

from typing import Any

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from accounts.api_access.access import ApiView, build_page_request, require_person, require_studies
from accounts.api_access.paging import AFTER, LIMIT, cut, read_choice, read_limit, read_number
from accounts.audit.trail import record
from ehr.models import Encounter
from timelines.access.authoring import hidden_timelines
from timelines.api.cases import bodies
from timelines.api.cases.listing import case_operation
from timelines.cases.choices import Choice, Choices, load_choices
from timelines.cases.exporting.case_export import CaseExport
from timelines.cases.opening import open_case
from timelines.formats.lines import line_values
from timelines.transfer.case_chains import chain_values, load_chains

MOST_ENTRIES = 10**9
TEXT = OpenApiParameter("text", str, enum=["1"], description="Add the note's own words.")


class CaseTimelines(ApiView):
    @case_operation("case_timelines", bodies.CaseTimeline, many=True)
    def get(self, request: Request, case_id: str) -> list[dict[str, Any]]:
        """Return the timelines of a case: runs, other sources, then references."""
        encounter, choices = _open(request, case_id)
        _audit(request, encounter, "case.open", {"timelines": bool(choices)})
        grouped = [(group, choice) for group in choices.groups for choice in group.members]
        lines = [
            {
                "choice": choice,
                "label": group.label,
                "run": group.run.public_id if group.run else None,
                "study_timeline": group.is_study,
            }
            for group, choice in grouped
        ] + [
            {"choice": choice, "label": choice.source, "run": None, "study_timeline": False}
            for choice in choices.references
        ]
        return [{**line, "first": line["choice"] is choices.default} for line in lines]


class Entries(ApiView):
    @case_operation(
        "entry_list",
        bodies.EntryPage,
        refuses=(409,),
        parameters=[TEXT, LIMIT, AFTER],
    )
    def get(self, request: Request, case_id: str, timeline_id: str) -> dict[str, Any]:
        """Return the occurrences of a timeline with their times and rows."""
        made = _export(request, case_id, timeline_id)
        after, limit = read_number(request, "after", 0, 0, MOST_ENTRIES), read_limit(request)
        numbered = list(enumerate(made.lines, start=1))[after : after + limit + 1]
        page, following = cut(numbered, limit, lambda line: str(line[0]))
        _audit(request, made.encounter, "case.open", {"timeline": timeline_id})
        values = [line_values(line, with_note_text=made.with_note_text) for _, line in page]
        return {"next": following, "results": [{"span_text": None, **v} for v in values]}


class EntryChain(ApiView):
    @case_operation("chain", bodies.EntryChain, refuses=(409,))
    def get(self, request: Request, case_id: str, timeline_id: str, uid: str) -> dict[str, Any]:
        """Return an occurrence with the chain from the note to its final time."""
        made = _export(request, case_id, timeline_id, with_text=True)
        line = next((line for line in made.lines if line.uid4 == uid), None)
        if line is None:
            raise Http404
        _audit(request, made.encounter, "case.chain", {"uid4": uid, "timeline": timeline_id})
        chain = load_chains(made.base).get(uid)
        return chain_values(line, chain, made.note, with_note_text=True)


def _open(request: Request, case_id: str) -> tuple[Encounter, Choices]:
    """Return a case of this reader with its timelines.

    Raises Http404, NotAllowed, AskFirst.
    """
    require_studies(request)
    encounter = open_case(build_page_request(request), case_id)
    hidden = hidden_timelines(require_person(request), encounter)
    return encounter, load_choices(encounter, hidden=hidden)


def _export(
    request: Request, case_id: str, timeline_id: str, *, with_text: bool = False
) -> CaseExport:
    encounter, choices = _open(request, case_id)
    with_text = with_text or read_choice(request, "text", ["1"]) == "1"
    chosen: Choice | None = choices.find(timeline_id)
    if chosen is None:
        raise Http404
    return CaseExport(encounter, chosen, choices, with_text)


def _audit(
    request: Request, encounter: Encounter, action: str, detail: dict[str, str | bool]
) -> None:
    record(
        actor=require_person(request),
        study=encounter.dataset.study,
        action=action,
        object_type="ehr.encounter",
        object_id=encounter.public_id,
        detail=detail,
    )
