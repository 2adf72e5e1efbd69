"""Important rows of the record that no occurrence explains, stay by stay."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from cohorts.attention.actions import DismissalRefused, comment_on_row, dismiss_row
from cohorts.attention.unexplained import Episode, find_stays, find_unexplained
from cohorts.exposing import expose
from ehr.models import Dataset, Encounter
from ehr.presentation.clock import Clock, Moment
from ehr.record.clock import clock_of
from timelines.access.closed import closed_encounters
from timelines.cases.listing import title_line
from timelines.cases.opening import open_case
from timelines.cases.target import open_answerable
from timelines.drafts.values import EditRefused

#: Stays of a page. Each is searched when the page is opened.
PAGE_SIZE = 25


@dataclass(frozen=True, slots=True)
class Line:
    """An episode in words."""

    episode: Episode
    at: Moment
    value: str
    more: int
    nearest: str
    nearest_at: Moment | None
    nearest_address: str


@dataclass(frozen=True, slots=True)
class StayLines:
    """The episodes of one stay."""

    encounter: Encounter
    title: str
    lines: tuple[Line, ...]


@require_GET
@study_role_required(*CASE_READERS)
def unexplained(request: StudyRequest) -> HttpResponse:
    """Show the episodes of a page of stays of one dataset."""
    datasets = list(Dataset.objects.filter(study=request.study).order_by("name"))
    wanted = request.GET.get("dataset", "")
    dataset = next(
        (d for d in datasets if d.public_id == wanted), datasets[0] if datasets else None
    )
    context: dict[str, object] = {"datasets": datasets, "dataset": dataset}
    if dataset is not None:
        stays = find_stays(dataset, closed_encounters(request.user))
        page = Paginator(stays, PAGE_SIZE).get_page(request.GET.get("page"))
        shown = list(page.object_list)
        found = find_unexplained(dataset, shown)
        expose(request, [stay.public_id for stay in shown if stay.pk in found])
        context |= {
            "page": page,
            "stays": [_stay_lines(stay, found[stay.pk]) for stay in shown if stay.pk in found],
        }
    return render(request, "cohorts/attention/unexplained.html", context)


@require_POST
@study_role_required(*CASE_READERS)
def unexplained_dismiss(request: StudyRequest, public_id: str, row_index: int) -> HttpResponse:
    """Dismiss a row with a reason."""
    encounter = open_case(request, public_id)
    try:
        dismiss_row(
            encounter=encounter,
            row_index=row_index,
            kind=request.POST.get("kind", ""),
            reason=request.POST.get("reason", ""),
            by=request.user,
        )
    except DismissalRefused as refused:
        messages.error(request, str(refused))
    return _back_to(encounter)


@require_POST
@study_role_required(*CASE_READERS)
def unexplained_comment(request: StudyRequest, public_id: str, row_index: int) -> HttpResponse:
    """Copy a row into a comment on its case; it stays on the list."""
    encounter = open_answerable(request, public_id)
    words = request.POST.get("words", "")
    try:
        comment_on_row(encounter=encounter, row_index=row_index, words=words, by=request.user)
    except (DismissalRefused, EditRefused) as refused:
        messages.error(request, str(refused))
    else:
        messages.success(request, "The comment is on the page of the case.")
    return _back_to(encounter)


def _back_to(encounter: Encounter) -> HttpResponseRedirect:
    dataset = get_object_or_404(Dataset, pk=encounter.dataset_id)
    return redirect(f"{reverse('cohorts:unexplained')}?dataset={dataset.public_id}")


def _stay_lines(encounter: Encounter, episodes: tuple[Episode, ...]) -> StayLines:
    clock = clock_of(encounter)
    lines = tuple(_line(encounter, clock, episode) for episode in episodes)
    return StayLines(encounter, title_line(encounter), lines)


def _line(encounter: Encounter, clock: Clock, episode: Episode) -> Line:
    row, nearest = episode.first, episode.nearest
    return Line(
        episode,
        clock.read(row.hours),
        " ".join(filter(None, (row.value.strip(), row.unit))),
        len(episode.rows) - 1,
        nearest.mention if nearest else "",
        None if nearest is None or nearest.time is None else clock.read(nearest.time),
        reverse("timelines:occurrence", args=[encounter.public_id, nearest.uid4])
        if nearest
        else "",
    )
