"""Changes between two judge runs, by subject.

A finding is the same, has another verdict, is gone or is new.
"""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from adjudication.access.closed import check_judge_run_is_open, find_closed_objects
from adjudication.access.exposure import record_exposure
from adjudication.access.judge_runs import find_judge_run
from adjudication.findings.changes import (
    Change,
    ChangeFilter,
    ChangeLine,
    Changes,
    find_comparable_runs,
)
from adjudication.findings.listing import TYPES
from timelines.runs.page.controls import Choice

CHANGES_PER_PAGE = 50


@require_GET
@study_role_required(*CASE_READERS)
def judge_changes(request: StudyRequest, public_id: str, later_id: str) -> HttpResponse:
    """Compare a judge run with a later one. `change` and `type` filter."""
    earlier, later = find_judge_run(request.user, public_id), find_judge_run(request.user, later_id)
    if earlier.pk == later.pk or earlier.study_id != later.study_id:
        raise Http404
    wanted, closed = ChangeFilter.from_query(request.GET.dict()), find_closed_objects(request.user)
    for run in (earlier, later):
        check_judge_run_is_open(run, closed)
    changes = Changes(earlier, later, closed, wanted)
    counts = changes.counts()
    paginator: Paginator[ChangeLine] = Paginator(changes, CHANGES_PER_PAGE)  # type: ignore[arg-type]  # it counts and slices like a list
    page = paginator.get_page(request.GET.get("page"))
    lines = list(page.object_list)
    record_exposure(
        user=request.user,
        encounters={line.either.game.comparison.encounter for line in lines},
        page="judge changes",
    )
    context = {
        "earlier": earlier,
        "later": later,
        "wanted": wanted,
        "page": page,
        "lines": lines,
        "comparisons": changes.comparisons(),
        "choices": [
            Choice("", "Every change", sum(n for c, n in counts.items() if c is not Change.SAME)),
            *(Choice(c.value, c.words.capitalize(), n) for c, n in counts.items()),
        ],
        "types": [(value, words) for value, (words, _) in TYPES.items()],
        "others": [run for run in find_comparable_runs(later, closed) if run.pk != earlier.pk],
    }
    return render(request, "adjudication/judge_runs/changes.html", context)
