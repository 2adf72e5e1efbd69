"""The findings of a judge run, unblinded: the list and one finding."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from adjudication.access.closed import ClosedObjects
from adjudication.access.exposure import record_exposure
from adjudication.access.games import find_finding
from adjudication.access.judge_runs import find_open_judge_run
from adjudication.domain import Grounding
from adjudication.findings.evidence import build_quote, build_sides, load_cited_series
from adjudication.findings.facets import count_facets
from adjudication.findings.listing import (
    RERUNS,
    SIZES,
    VERDICTS,
    FindingFilter,
    domain_finding,
    finding_line,
    list_run_sources,
    word_types,
)
from adjudication.findings.pages import FindingPages, cut_page, find_place
from adjudication.judge_runs.calls import find_calls
from adjudication.judging.finding_words import (
    CATEGORY_WORDS,
    GROUNDING_WORDS,
    RELATION_WORDS,
    charge_sentence,
    flag_sentence,
    verdict_sentence,
)
from adjudication.models import Finding, Game, JudgeRun
from adjudication.scoring.errors import Category
from ehr.models import Encounter
from llm_runtime.models import Outcome
from timelines.access.closed import exclude_closed, has_closed
from timelines.cases.way_back import link_back_to_draft
from timelines.runs.storage import NoteChanged

FINDINGS_PER_PAGE = 50
HEADS = (
    ("case", "Case", ""),
    ("type", "Difference", ""),
    ("size", "Apart", "num"),
    ("verdict", "Judged", ""),
    ("grounding", "Based on", "extra"),
    ("weight", "Points", "num extra"),
)


@dataclass(frozen=True, slots=True)
class Head:
    """A column that sorts.

    `next` is the sort order that its link requests, `aria` the current one, `look` its CSS classes.
    """

    words: str
    next: str
    aria: str
    look: str


@require_http_methods(["GET", "POST"])
@study_role_required(*CASE_READERS)
def findings(request: StudyRequest, public_id: str) -> HttpResponse:
    """List the findings of one judge run.

    Filters are in the address as ids and names of kinds; a case id is sent in the body only.
    """
    run, closed = find_open_judge_run(request.user, public_id)
    sources = list_run_sources(run)
    wanted = FindingFilter.from_query(request.GET.dict(), len(sources))
    if request.method == "POST":
        return _redirect_to_case(request, run, closed)
    pages = FindingPages(run, wanted, closed)
    after, before = (find_place(run, request.GET.get(name, "")) for name in ("after", "before"))
    shown, earlier, later = cut_page(pages, FINDINGS_PER_PAGE, after=after, before=before)
    lines = [finding_line(f) for f in shown]
    record_exposure(
        user=request.user,
        encounters={line.game.comparison.encounter for line in lines},
        page="findings",
    )
    context = {
        "run": run,
        "count": pages.count(),
        "previous": shown[0].public_id if shown and earlier else "",
        "next": shown[-1].public_id if shown and later else "",
        "lines": lines,
        "wanted": wanted,
        "types": word_types(pages.count_types()),
        "verdicts": [(value, words) for value, (words, _) in VERDICTS.items()],
        "groundings": [(g.value, GROUNDING_WORDS[g]) for g in Grounding],
        "categories": [(c.value, CATEGORY_WORDS[c]) for c in Category],
        "sizes": [*SIZES.items()],
        "reruns": (
            [(value, words) for value, (words, _) in RERUNS.items()]
            if run.config.get("swap")
            else []
        ),
        "sources": [(str(n), key.label) for n, key in enumerate(sources)],
        "heads": [_build_head(*head, wanted.sort) for head in HEADS],
        "case": pages.case,
        "closed": has_closed(run.datasets.all(), closed.cases),
        "any": bool(count_facets(run, closed)) if wanted.case else bool(pages.counts),
    }
    htmx = request.htmx  # type: ignore[attr-defined]  # set by django-htmx's middleware
    partial = bool(htmx) and not htmx.history_restore_request
    response = render(
        request,
        "adjudication/findings/_list.html" if partial else "adjudication/findings/list.html",
        context,
    )
    response["Vary"] = "HX-Request"
    return response


@require_GET
@study_role_required(*CASE_READERS)
@link_back_to_draft
def finding(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show one finding with its evidence."""
    found = find_finding(request, public_id)
    game, encounter = found.game, found.game.comparison.encounter
    line, value = finding_line(found), domain_finding(found)
    try:
        quote = build_quote(found, encounter)
    except NoteChanged:
        return render(
            request,
            "timelines/cases/note_changed.html",
            {"encounter": encounter},
            status=HTTPStatus.INTERNAL_SERVER_ERROR,
        )
    siblings = Finding.objects.filter(game=game)
    accepted = (
        find_calls(Game.objects.filter(pk=game.pk))
        .filter(outcome=Outcome.ACCEPTED)
        .defer("response")
    )
    sides = build_sides(found, encounter)
    compare = {side.label.lower(): side.timeline.public_id for side in sides} | {
        "run": game.run.public_id,
        "f": found.public_id,
    }
    context = {
        "finding": found,
        "line": line,
        "game": game,
        "run": game.run,
        "encounter": encounter,
        "sides": sides,
        "pair": list(zip(sides, (line.a, line.b), strict=True)),
        "verdict": verdict_sentence(value),
        "charge": charge_sentence(value, line.a.source, line.b.source),
        "flag": flag_sentence(value),
        "relation": RELATION_WORDS[value.relation] if value.relation else "",
        "quote": quote,
        "cited": load_cited_series(found, encounter),
        "call": accepted.order_by("-pk").first(),
        "compare": (
            f"{reverse('adjudication:compare', args=[encounter.public_id])}?{urlencode(compare)}"
        ),
        "previous": siblings.filter(ordinal__lt=found.ordinal).order_by("-ordinal").first(),
        "next": siblings.filter(ordinal__gt=found.ordinal).order_by("ordinal").first(),
        "of": siblings.count(),
    }
    record_exposure(user=request.user, encounters=[encounter], page="finding")
    return render(request, "adjudication/findings/page.html", context)


def _redirect_to_case(request: HttpRequest, run: JudgeRun, closed: ClosedObjects) -> HttpResponse:
    """Redirect from a typed case id to its public id; other filters stay.

    The public id is safe in an address.
    """
    filters = {
        name: value
        for name, value in request.GET.items()
        if name not in ("case", "after", "before")
    }
    wanted = request.POST.get("case", "").strip()
    cases = exclude_closed(
        Encounter.objects.filter(comparisons__games__run=run), closed.cases, "pk"
    )
    found = (
        cases.filter(case_id=wanted).first()
        or cases.filter(case_id__icontains=wanted).order_by("case_id").first()
        if wanted
        else None
    )
    if found is not None:
        filters["case"] = found.public_id
    elif wanted:
        messages.warning(request, "No case of this judge run has this id. All cases are shown.")
    return redirect(
        f"{reverse('adjudication:findings', args=[run.public_id])}?{urlencode(filters)}"
    )


def _build_head(name: str, words: str, look: str, sort: str) -> Head:
    if sort.removeprefix("-") != name:
        return Head(words, f"-{name}" if "num" in look else name, "", look)
    down = sort.startswith("-")
    return Head(words, name if down else f"-{name}", "descending" if down else "ascending", look)
