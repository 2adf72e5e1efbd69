"""Two timelines of one case side by side.

A dumbbell plot, one aligned table, and a judge's findings.
"""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.html import json_script
from django.views.decorators.http import require_GET

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from adjudication.access.exposure import record_exposure
from adjudication.findings.compare import build_compare_rows, build_payload, label_choices
from adjudication.findings.pair_choice import choose_pair, choose_run, find_pair_runs
from ehr.presentation.wording import span_words
from ehr.record.clock import clock_of
from timelines.access.authoring import hidden_timelines
from timelines.cases.choices import load_choices
from timelines.cases.opening import open_case
from timelines.cases.way_back import link_back_to_draft
from timelines.runs.stay_text import read_texts
from timelines.runs.storage import NoteChanged


@require_GET
@study_role_required(*CASE_READERS)
@link_back_to_draft
def compare(request: StudyRequest, public_id: str) -> HttpResponse:
    """Compare two timelines of one case.

    `a` and `b` choose the timelines, `run` the judge run, `o` or `f` the row. They are public ids
    and row numbers only.
    """
    encounter = open_case(request, public_id)
    choices = load_choices(encounter, hidden=hidden_timelines(request.user, encounter))
    labels = label_choices(choices)
    clock = clock_of(encounter)
    context = {
        "encounter": encounter,
        "labels": labels,
        "stay": span_words(clock.discharge) if clock.discharge is not None else "",
    }
    if len(labels) < 2:
        return render(request, "adjudication/findings/compare.html", context)
    a, b = choose_pair(request, choices, labels)
    runs = find_pair_runs(request, encounter, a, b)
    run = choose_run(request, runs)
    try:
        text = read_texts(encounter, (a.inventory_id, b.inventory_id))
    except NoteChanged:
        return render(
            request,
            "timelines/cases/note_changed.html",
            context,
            status=HTTPStatus.INTERNAL_SERVER_ERROR,
        )
    rows = build_compare_rows(a, b, run, clock, text)
    focused = request.GET.get("f", "")
    context |= {
        "a": a,
        "b": b,
        "names": {choice.pk: label for choice, label in labels},
        "a_name": next(label for choice, label in labels if choice is a),
        "b_name": next(label for choice, label in labels if choice is b),
        "runs": runs,
        "run": run,
        "rows": rows,
        "counts": [(state, words, sum(r.state == state for r in rows)) for state, words in _STATES],
        "with_findings": sum(bool(r.findings) for r in rows),
        "data": json_script(build_payload(rows, clock, text.text if text else ""), "case-data"),
        "selected": next(
            (r.key for r in rows if any(line.finding.public_id == focused for line in r.findings)),
            request.GET.get("o", ""),
        ),
    }
    record_exposure(user=request.user, encounters=[encounter], page="comparison")
    return render(request, "adjudication/findings/compare.html", context)


_STATES = (
    ("differs", "different"),
    ("agrees", "within tolerance"),
    ("only-a", "only in A"),
    ("only-b", "only in B"),
)
