"""The case page: the note, the plot and the table of one timeline; the provenance panel is fetched by `case_chain`."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.core.cache import cache
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import json_script
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_GET

from accounts.audit import record
from accounts.permissions import CASE_READERS, check_user_can_open
from accounts.scoping import StudyRequest, scoped, study_role_required
from ehr.models import Encounter, Note
from ehr.wording import span_words
from timelines.authoring_access import check_user_may_see_timelines, hidden_timelines, is_agreement_open
from timelines.domain import Anchor
from timelines.models import Inventory, StageRun
from timelines.presentation.case_plot import payload
from timelines.presentation.note_html import note_html
from timelines.registry import case_links
from timelines.storage import NoteChanged, checked_text, note_of
from timelines.views.case_choices import Choice, Choices, choices_of
from timelines.views.case_closed import leads_back_to_draft
from timelines.views.case_items import occurrence_of, spans_and_items
from timelines.views.case_pairs import CasePairs, pairs_asked_for

#: What is drawn from settled timelines is kept in this process for an hour of use.
KEEP_SECONDS = 3600


@dataclass(frozen=True)
class Drawn:
    """What one timeline of a case looks like: the note with its highlights, and the data of plot and table."""

    note: SafeString
    data: SafeString
    count: int


@require_GET
@study_role_required(*CASE_READERS)
@leads_back_to_draft
def case(request: StudyRequest, public_id: str, uid4: str = "") -> HttpResponse:
    """One case. `t` chooses the timeline, `o` (or the path) the occurrence, `e` an evaluation whose pairs are drawn: ids, never text."""
    encounter = opened(request, public_id)
    choices = choices_of(encounter, hidden=hidden_timelines(request.user, encounter))
    context = {**_case_context(encounter, choices), "agreement": is_agreement_open(encounter)}
    if choices:
        chosen = chosen_timeline(request, choices)
        selected = uid4 or request.GET.get("o", "")
        if uid4 and occurrence_of(chosen, uid4) is None:
            raise Http404
        try:
            pairs = pairs_asked_for(request, encounter, chosen)
            picture = drawn(encounter, chosen, choices, pairs)
        except NoteChanged:
            return render(request, "timelines/note_changed.html", context, status=HTTPStatus.INTERNAL_SERVER_ERROR)
        group = choices.group_of(chosen)
        context |= {"drawn": picture, "chosen": chosen, "group": group, "selected": selected, "pairs": pairs}
        context["notice"] = choices.notice(group)
        context["links"] = case_links(encounter, chosen.public_id, choices.count)
    else:
        context["plain_note"] = note_of(encounter)
    seen = {"timelines": bool(choices)}
    study = encounter.dataset.study
    record(actor=request.user, study=study, action="case.open", object_type="ehr.encounter", object_id=public_id, detail=seen)
    return render(request, "timelines/case.html", context)


def opened(request: HttpRequest, public_id: str) -> Encounter:
    """The encounter, if it is in one of the person's studies and they may see its timelines. Raises Http404, NotAllowed."""
    cases = scoped(Encounter.objects.select_related("dataset__study"), request.user, "dataset__study", roles=CASE_READERS)
    encounter = cases.filter(public_id=public_id).first()
    if encounter is None:
        raise Http404
    assert request.user.is_authenticated
    check_user_can_open(request.user, encounter.dataset.study, "ehr.encounter", public_id)
    check_user_may_see_timelines(request.user, encounter)
    return encounter


def chosen_timeline(request: HttpRequest, choices: Choices) -> Choice:
    """The timeline that `t` names, else the case's default. Raises Http404 for a timeline of another case."""
    wanted = request.GET.get("t", "")
    if not wanted:
        return choices.default
    found = choices.find(wanted)
    if found is None:
        raise Http404
    return found


def stay(encounter: Encounter) -> tuple[Anchor, float | None]:
    """What time zero is, and the hour of discharge."""
    anchor = Anchor(encounter.admitted_at, "presentation" if encounter.anchor_kind == Encounter.AnchorKind.PRESENTATION else "admission")
    return anchor, None if encounter.discharged_at is None else anchor.hours(encounter.discharged_at)


def shown_note(choice: Choice, encounter: Encounter) -> Note | None:
    """The note that the timeline's spans point into. Raises NoteChanged where its text no longer has the checksum of its import."""
    note = Inventory.objects.select_related("note").get(pk=choice.inventory_id).note if choice.inventory_id else note_of(encounter)
    if note is not None:
        checked_text(note)
    return note


def drawn(encounter: Encounter, choice: Choice, choices: Choices, pairs: CasePairs | None = None) -> Drawn:
    """The note and data of one timeline, kept once neither it nor what it is compared with can change any more.

    With `pairs` of an evaluation it is compared with those instead, and not kept.
    """
    if pairs is not None:
        return _draw(encounter, choice, choices, pairs)
    compared = choices.references[0] if choices.references else None
    lasting = choice.settled and (compared is None or compared.settled) and _finished(choice)
    key = f"case:{choice.pk}:{compared.pk if compared else 0}"
    found: Drawn | None = cache.get(key) if lasting else None
    if found is None:
        found = _draw(encounter, choice, choices)
        if lasting:
            cache.set(key, found, KEEP_SECONDS)
    return found


def _draw(encounter: Encounter, choice: Choice, choices: Choices, pairs: CasePairs | None = None) -> Drawn:
    note = shown_note(choice, encounter)
    spans, items = spans_and_items(choice, choices)
    items = pairs.on(items) if pairs else items
    anchor, discharge = stay(encounter)
    html = note_html(note.text, spans, {i.key: i.status.value for i in items}) if note else ""
    data = json_script(payload(items, anchor, discharge, choice.kind.value), "case-data")
    return Drawn(mark_safe(html), data, len(items))  # note_html escapes every character of the note


def _finished(choice: Choice) -> bool:
    """Whether the run behind a timeline has no stage left that could still store evidence or alternatives."""
    if choice.case_run_id is None:
        return True
    return not StageRun.objects.filter(case_run_id=choice.case_run_id).exclude(state="succeeded").exists()


def _case_context(encounter: Encounter, choices: Choices) -> dict[str, Any]:
    _, discharge = stay(encounter)
    return {
        "encounter": encounter,
        "choices": choices,
        "stay": span_words(discharge) if discharge is not None else "",
    }
