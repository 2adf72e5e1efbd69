"""Everything that people answered to a case, on one page."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from ehr.record.clock import clock_of
from timelines.cases.target import open_answerable
from timelines.curation.opening import audit
from timelines.curation.reading import find_flags, load_log, load_threads
from timelines.models import Correction


@require_GET
@study_role_required(*CASE_READERS)
def show_answers(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show all corrections, comments and flags of a case, latest first."""
    encounter = open_answerable(request, public_id)
    clock = clock_of(encounter)
    corrections = [
        (line, None if line.row.time is None else clock.read(line.row.time))
        for line in reversed(load_log(encounter))
        if line.row.kind != Correction.Kind.UNDO
    ]
    flags = find_flags().filter(occurrence__inventory__encounter=encounter)
    audit(encounter, "case.answers", request.user, {"part": "all"})
    context = {
        "encounter": encounter,
        "corrections": corrections,
        "threads": load_threads(encounter, request.user)[::-1],
        "flags": flags.select_related("author", "occurrence").order_by("-pk"),
    }
    return render(request, "timelines/cases/answers/page.html", context)
