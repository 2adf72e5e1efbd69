"""The page of one concept: members with counts and sentences, rules, versions, samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.membership.members import member_lines
from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from cohorts.concepts.access import CLOSED, is_closed
from cohorts.concepts.counting import Counts, Quote, count_members, load_quotes, show_members
from cohorts.concepts.measuring import group_draws, measure
from cohorts.concepts.sampling import has_decided
from cohorts.concepts.unblinding import find_waiting, has_seen, note_opening
from cohorts.concepts.use import count_uses
from cohorts.exposing import expose
from cohorts.models import Concept, ConceptMember, ConceptRule, ConceptSample
from cohorts.views.concepts.filtering import keep_words, read_filter
from cohorts.views.concepts.shared import find_concept
from jobs.models import JobState
from timelines.access.closed import closed_encounters
from timelines.backbones.rules.querying.vocabulary import list_drug_classes
from timelines.domain import Lane, Polarity
from timelines.models import MeaningSearch

PAGE_SIZE = 50
#: Heading of the members of a polarity; "" is that of series.
GROUPS = {
    "present": "Happened",
    "absent": "Denied or absent",
    "planned": "Planned",
    "family": "Family history",
    "": "Series of the record",
}


@dataclass(frozen=True, slots=True)
class Line:
    """A member with its counts and sentences in open cases."""

    member: ConceptMember
    counts: Counts
    quotes: Sequence[Quote]


@require_GET
@study_role_required(*CASE_READERS)
def concept(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show a page of the members in one state, grouped by polarity.

    A person for whom a blinded sample waits is asked first (`open`).
    """
    one = find_concept(request, public_id)
    if request.GET.get("open") == "members":
        note_opening(one, request.user)
    elif sample := find_waiting(one, request.user):
        return render(request, "cohorts/concepts/blinded.html", {"concept": one, "sample": sample})
    study, closed = request.study, closed_encounters(request.user)
    counts = count_members(study, [one.pk], closed)
    members = show_members(one, counts, closed)
    totals = {value: members.filter(state=value).count() for value in ConceptMember.State.values}
    state = request.GET.get("state", "")
    if state not in totals:
        state = "proposed" if totals["proposed"] else "accepted"
    words = read_filter(request, one)
    chosen = keep_words(members.filter(state=state), words).order_by("kind", "-polarity", "words")
    page = Paginator(chosen, PAGE_SIZE).get_page(request.GET.get("page"))
    shown = list(page.object_list)
    quotes = load_quotes(study, shown, closed)
    expose(request, [quote.case for several in quotes.values() for quote in several])
    lines = [Line(m, counts.get(m.pk, Counts(0, 0)), quotes.get(m.pk, [])) for m in shown]
    lines.sort(key=lambda line: list(GROUPS).index(line.member.polarity))
    context = {
        "concept": one,
        "page": page,
        "groups": [
            (GROUPS[polarity], list(several))
            for polarity, several in groupby(lines, key=lambda line: line.member.polarity)
        ],
        "state": state,
        "words": words,
        "total": totals[state],
        "states": [(s.value, s.label, totals[s.value]) for s in ConceptMember.State],
        "rule_kinds": ConceptRule.Kind.choices,
        "rules": one.rules.filter(ended_at__isnull=True),
        "uses": count_uses([one.pk]).get(one.pk, 0),
        "polarities": [(p.value, GROUPS[p.value]) for p in Polarity],
        "lanes": [lane.value for lane in Lane],
        "classes": list(list_drug_classes()),
        "asked": _find_search(request),
        **_versions(request, one, closed),
    }
    return render(request, "cohorts/concepts/page.html", context)


def _versions(request: StudyRequest, one: Concept, closed: frozenset[int]) -> dict[str, object]:
    """Return versions and samples, unless they are closed as a whole."""
    if is_closed(request.study, closed):
        return {"closed": CLOSED}
    samples = ConceptSample.objects.filter(version__concept=one).select_related(
        "version", "reviewer"
    )
    readers = [m.person for m in member_lines(request.study) if set(m.roles) & CASE_READERS]
    return {
        "versions": one.versions.select_related("created_by"),
        "draws": [
            (
                draw,
                [
                    (s, has_decided(s), has_seen(s), measure([s]) if draw.is_closed else ())
                    for s in draw.samples
                ],
            )
            for draw in group_draws(samples)
        ],
        "reviewers": readers,
    }


def _find_search(request: StudyRequest) -> dict[str, object] | None:
    """Return the state of the person's search by meaning that the address names."""
    asked = MeaningSearch.objects.filter(
        person=request.user, study=request.study, public_id=request.GET.get("asked", "")
    ).first()
    if asked is None:
        return None
    return {
        "search": asked,
        "ready": asked.state == JobState.SUCCEEDED,
        "failed": asked.state in (JobState.FAILED, JobState.CANCELLED),
    }
