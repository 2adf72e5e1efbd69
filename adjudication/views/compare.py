"""Two timelines of one case side by side: a dumbbell plot, one aligned table, and a judge's findings in place."""

from __future__ import annotations

from http import HTTPStatus

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.html import json_script
from django.views.decorators.http import require_GET

from accounts.permissions import CASE_READERS, NotAllowed
from accounts.scoping import StudyRequest, scoped, study_role_required
from adjudication.compare_page import games_of, labels_of, payload, rows_of
from adjudication.eligibility import check_user_may_see_findings
from adjudication.exposure import record_exposure
from adjudication.models import Finding, JudgeRun
from ehr.models import Encounter
from ehr.wording import span_words
from timelines.authoring_access import hidden_timelines
from timelines.storage import NoteChanged, checked_text, note_of
from timelines.views.case import opened, stay
from timelines.views.case_choices import Choice, Choices, choices_of
from timelines.views.case_closed import leads_back_to_draft

#: In the address: no findings, though there are some.
NO_RUN = "none"


@require_GET
@study_role_required(*CASE_READERS)
@leads_back_to_draft
def compare(request: StudyRequest, public_id: str) -> HttpResponse:
    """One case. `a` and `b` choose the timelines, `run` the judge run, `o` or `f` the row: public ids and row numbers only."""
    encounter = opened(request, public_id)
    choices = choices_of(encounter, hidden=hidden_timelines(request.user, encounter))
    labels = labels_of(choices)
    anchor, discharge = stay(encounter)
    context = {"encounter": encounter, "labels": labels, "stay": span_words(discharge) if discharge is not None else ""}
    if len(labels) < 2:
        return render(request, "adjudication/compare.html", context)
    a, b = chosen_pair(request, choices, labels)
    runs = runs_of_pair(request, encounter, a, b)
    run = chosen_run(request, runs)
    note = note_of(encounter)
    try:
        text = checked_text(note) if note else ""
    except NoteChanged:
        return render(request, "timelines/note_changed.html", context, status=HTTPStatus.INTERNAL_SERVER_ERROR)
    rows = rows_of(a, b, run)
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
        "told": sum(bool(r.findings) for r in rows),
        "data": json_script(payload(rows, anchor, discharge, text), "case-data"),
        "selected": next((r.key for r in rows if any(line.finding.public_id == focused for line in r.findings)), request.GET.get("o", "")),
    }
    record_exposure(user=request.user, encounters=[encounter], page="comparison")
    return render(request, "adjudication/compare.html", context)


_STATES = (("differs", "apart"), ("agrees", "within tolerance"), ("only-a", "only in A"), ("only-b", "only in B"))


def chosen_pair(request: StudyRequest, choices: Choices, labels: list[tuple[Choice, str]]) -> tuple[Choice, Choice]:
    """A and B: as asked, else the case's first timeline and its reference or whatever else there is. Raises Http404."""
    asked = [request.GET.get(name, "") for name in ("a", "b")]
    found = [choices.find(name) if name else None for name in asked]
    if any(name and choice is None for name, choice in zip(asked, found, strict=True)):
        raise Http404
    a = found[0] or next(c for c in (choices.default, *(c for c, _ in labels)) if c is not found[1])
    others = [*choices.references, *([g.best for g in choices.groups]), *(c for c, _ in labels)]
    b = found[1] if found[1] is not None and found[1] is not a else next(c for c in others if c is not a)
    return a, b


def runs_of_pair(request: StudyRequest, encounter: Encounter, a: Choice, b: Choice) -> list[JudgeRun]:
    """The judge runs with a judged game of these two, newest first; none for someone to whom the case's findings are closed."""
    try:
        check_user_may_see_findings(request.user, encounter)
    except NotAllowed:
        return []
    games = games_of(a, b).filter(outcome="judged")
    return list(scoped(JudgeRun.objects.filter(games__in=games), request.user, roles=CASE_READERS).distinct().order_by("-created_at"))


def chosen_run(request: StudyRequest, runs: list[JudgeRun]) -> JudgeRun | None:
    """The asked one, else that of the asked finding, else the newest."""
    wanted = request.GET.get("run", "")
    if wanted == NO_RUN:
        return None
    if not wanted and (focused := request.GET.get("f")):
        wanted = Finding.objects.filter(public_id=focused).values_list("game__run__public_id", flat=True).first() or ""
    return next((r for r in runs if r.public_id == wanted), runs[0] if runs else None)
