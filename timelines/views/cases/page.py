"""The case page: the note, the plot and the table of one timeline.

`case_chain` fetches the provenance panel.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.audit.trail import record
from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from ehr.models import Encounter
from ehr.presentation.wording import span_words
from ehr.record.charts import find_note
from ehr.record.clock import clock_of
from timelines.access.authoring import hidden_timelines, is_agreement_open
from timelines.cases.choices import Choices, load_choices
from timelines.cases.drawing import drawn
from timelines.cases.exporting.formats import FORMATS
from timelines.cases.items import find_occurrence
from timelines.cases.named import load_grounds
from timelines.cases.neighbours import neighbours
from timelines.cases.notes import load_note_links
from timelines.cases.opening import chosen_timeline, open_case, stay
from timelines.cases.pairs import find_pairs
from timelines.cases.story import load_story
from timelines.cases.way_back import link_back_to_draft
from timelines.curation.reading import load_case_threads
from timelines.registry import as_of_address, case_links
from timelines.runs.storage import NoteChanged


@require_GET
@study_role_required(*CASE_READERS)
@link_back_to_draft
def case(request: StudyRequest, public_id: str, uid4: str = "") -> HttpResponse:
    """Show one case.

    `t` chooses the timeline, `o` (or the path) the occurrence, `e` an evaluation whose pairs are
    drawn: ids, never text.
    """
    encounter = open_case(request, public_id)
    choices = load_choices(encounter, hidden=hidden_timelines(request.user, encounter))
    previous_case, next_case = neighbours(request, encounter)
    context = {
        **_case_context(encounter, choices),
        "agreement": is_agreement_open(encounter),
        "previous_case": previous_case,
        "next_case": next_case,
        "threads": load_case_threads(encounter, request.user),
    }
    if choices:
        chosen = chosen_timeline(request, choices)
        selected = uid4 or request.GET.get("o", "")
        if uid4 and find_occurrence(chosen, uid4) is None:
            raise Http404
        try:
            pairs = find_pairs(request, encounter, chosen)
            picture = drawn(encounter, chosen, choices, pairs)
        except NoteChanged:
            return render(
                request,
                "timelines/cases/note_changed.html",
                context,
                status=HTTPStatus.INTERNAL_SERVER_ERROR,
            )
        group = choices.find_group(chosen)
        notes = load_note_links(encounter, chosen)
        context |= {
            "drawn": picture,
            "chosen": chosen,
            "group": group,
            "selected": selected,
            "files": FORMATS,
            "pairs": pairs,
            "notes": notes,
            "unread": sum(note.start is None for note in notes),
            "several": sum(note.start is not None for note in notes) > 1,
            "story": load_story(encounter, chosen, picture.story_lines),
            "named": load_grounds(chosen, clock_of(encounter)),
        }
        context["notice"] = choices.notice(group)
        context["as_of"] = as_of_address(encounter)
        context["links"] = case_links(encounter, chosen.public_id, choices.count)
    else:
        context["plain_note"] = find_note(encounter)
    seen = {"timelines": bool(choices)}
    study = encounter.dataset.study
    record(
        actor=request.user,
        study=study,
        action="case.open",
        object_type="ehr.encounter",
        object_id=public_id,
        detail=seen,
    )
    return render(request, "timelines/cases/page.html", context)


def _case_context(encounter: Encounter, choices: Choices) -> dict[str, Any]:
    _, discharge = stay(encounter)
    return {
        "encounter": encounter,
        "choices": choices,
        "stay": span_words(discharge) if discharge is not None else "",
    }
