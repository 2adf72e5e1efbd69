"""Blinded samples of a version: draw, answer, close."""

from __future__ import annotations

import secrets

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.models import User
from accounts.permissions import CASE_READERS, NotAllowed
from accounts.scoping import StudyRequest, study_role_required
from cohorts.concepts.access import CLOSED, is_closed
from cohorts.concepts.counting import quote
from cohorts.concepts.sampling import answer_item, close_sample, draw_samples, find_next
from cohorts.concepts.values import ConceptRefused
from cohorts.exposing import expose
from cohorts.models import ConceptSample
from cohorts.views.concepts.shared import back_to, find_concept
from timelines.access.closed import closed_encounters

DEFAULT_COUNT = 20


@require_POST
@study_role_required(*CASE_READERS)
def concept_sample_draw(request: StudyRequest, public_id: str) -> HttpResponse:
    """Draw a sample of the newest version for each chosen reviewer."""
    concept = find_concept(request, public_id)
    if is_closed(request.study, closed_encounters(request.user)):
        raise NotAllowed(CLOSED)
    version, count = concept.versions.first(), request.POST.get("count", "")
    try:
        if version is None:
            raise ConceptRefused("Make a version before you draw a sample of it.")
        chosen = request.POST.getlist("reviewer")
        people = User.objects.filter(username__in=chosen, memberships__study=request.study)
        samples = draw_samples(
            version=version,
            reviewers=list(people.distinct().order_by("pk")),
            count=int(count) if count.isdecimal() and len(count) < 5 else DEFAULT_COUNT,
            seed=secrets.randbelow(2**31),
            by=request.user,
        )
    except ConceptRefused as refused:
        messages.error(request, str(refused))
        return back_to(concept)
    for sample in samples:
        if sample.reviewer == request.user:
            return redirect("cohorts:concept_sample", sample.public_id)
    messages.success(request, "The sample is drawn. Each reviewer finds it on this page.")
    return back_to(concept)


@require_GET
@study_role_required(*CASE_READERS)
def concept_sample(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show the reviewer the next sentence without an answer."""
    sample = _find_own(request, public_id)
    item = find_next(sample, closed_encounters(request.user))
    context: dict[str, object] = {"sample": sample, "item": item}
    if item is not None:
        occurrence = item.occurrence
        inventory = occurrence.inventory
        expose(request, [inventory.encounter.public_id])
        text, span = inventory.note.text, (occurrence.start, occurrence.end)
        context["sentence"] = quote(text, occurrence.mention, *span)
    context["total"] = sample.items.count()
    context["done"] = sample.items.exclude(answer="").count()
    return render(request, "cohorts/concepts/sample.html", context)


@require_POST
@study_role_required(*CASE_READERS)
def concept_sample_answer(request: StudyRequest, public_id: str) -> HttpResponse:
    """Store an answer and go on."""
    sample, number = _find_own(request, public_id), request.POST.get("ordinal", "")
    try:
        answer_item(
            sample=sample,
            ordinal=int(number) if number.isdecimal() and len(number) < 6 else 0,
            answer=request.POST.get("answer", ""),
            by=request.user,
        )
    except ConceptRefused as refused:
        messages.error(request, str(refused))
    return redirect("cohorts:concept_sample", sample.public_id)


@require_POST
@study_role_required(*CASE_READERS)
def concept_sample_close(request: StudyRequest, public_id: str) -> HttpResponse:
    """Close the sample; its figures are on the page of the concept."""
    sample = _find_own(request, public_id)
    try:
        close_sample(sample=sample, by=request.user)
    except ConceptRefused as refused:
        messages.error(request, str(refused))
        return redirect("cohorts:concept_sample", sample.public_id)
    return back_to(sample.version.concept)


def _find_own(request: StudyRequest, public_id: str) -> ConceptSample:
    samples = ConceptSample.objects.select_related("version__concept__study")
    return get_object_or_404(
        samples,
        public_id=public_id,
        reviewer=request.user,
        version__concept__study=request.study,
    )
