"""The ranked places where a person's look would change most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from cohorts.attention.actions import mark_looked_at
from cohorts.attention.ranking import find_items, find_latest, load_mentions, start_ranking
from cohorts.attention.values import Reason
from cohorts.exposing import expose
from cohorts.models import AttentionItem
from ehr.models import Dataset
from timelines.access.closed import closed_encounters
from timelines.cases.listing import title_line

PAGE_SIZE = 25


@dataclass(frozen=True, slots=True)
class Why:
    """A reason in words, with the address of what it comes from."""

    words: str
    address: str


@dataclass(frozen=True, slots=True)
class Line:
    """A place of the list."""

    item: AttentionItem
    title: str
    mention: str
    address: str
    reasons: tuple[Why, ...]


@require_GET
@study_role_required(*CASE_READERS)
def attention(request: StudyRequest) -> HttpResponse:
    """Show a page of the list; `reason` and `dataset` filter it."""
    study = request.study
    items = find_items(study, closed_encounters(request.user))
    reason = request.GET.get("reason", "")
    if reason in set(Reason):
        items = items.filter(reasons__contains=[reason])
    dataset = request.GET.get("dataset", "")
    if dataset:
        items = items.filter(encounter__dataset__public_id=dataset)
    page = Paginator(items.select_related("encounter__dataset"), PAGE_SIZE).get_page(
        request.GET.get("page")
    )
    shown = list(page.object_list)
    expose(request, [item.encounter.public_id for item in shown])
    mentions = load_mentions(study, shown)
    context = {
        "page": page,
        "lines": [_line(item, mentions) for item in shown],
        "latest": find_latest(study),
        "reasons": [(one.value, one.label, one.weight) for one in Reason],
        "chosen": {"reason": reason, "dataset": dataset},
        "datasets": Dataset.objects.filter(study=study).order_by("name"),
    }
    return render(request, "cohorts/attention/list.html", context)


@require_POST
@study_role_required(*CASE_READERS)
def attention_rank(request: StudyRequest) -> HttpResponse:
    """Queue the ranking."""
    start_ranking(request.study)
    return redirect("cohorts:attention")


@require_POST
@study_role_required(*CASE_READERS)
def attention_look(request: StudyRequest, number: int) -> HttpResponse:
    """Store that the person has looked at a place."""
    item = get_object_or_404(AttentionItem, pk=number, study=request.study)
    if item.encounter_id in closed_encounters(request.user):
        raise Http404
    mark_looked_at(item=item, by=request.user)
    return redirect(f"{reverse('cohorts:attention')}?{request.GET.urlencode()}")


def _line(item: AttentionItem, mentions: Mapping[tuple[int, str], str]) -> Line:
    case = item.encounter.public_id
    address = (
        reverse("timelines:occurrence", args=[case, item.uid4])
        if item.uid4
        else reverse("timelines:case", args=[case])
    )
    return Line(
        item,
        title_line(item.encounter),
        mentions.get((item.encounter_id, item.uid4), ""),
        address,
        tuple(
            Why(Reason(reason).label, _address_of(Reason(reason), item.targets.get(reason, "")))
            for reason in sorted(item.reasons, key=lambda name: -Reason(name).weight)
        ),
    )


def _address_of(reason: Reason, target: str) -> str:
    if reason is Reason.FINDING and target:
        return reverse("adjudication:finding", args=[target])
    if reason in (Reason.UNCERTAIN, Reason.CHANGED) and target:
        return reverse("cohorts:window_result", args=[target])
    return ""
