"""Agreement of the authors of one case.

It is shown only once all of them, at least two, have submitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.audit.trail import record
from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from ehr.models import Encounter
from ehr.presentation.clock import Clock
from ehr.presentation.wording import span_words
from ehr.record.clock import clock_of
from timelines.access.authoring import Undecided, is_agreement_open
from timelines.authoring.consensus import load_authored
from timelines.cases.opening import open_case
from timelines.cases.way_back import link_back_to_draft
from timelines.drafts.agreement import Agreement, Authored, Pair, agreement
from timelines.models import Authoring, Consensus
from timelines.presentation.authoring.values import time_words


@dataclass(frozen=True)
class Comparison:
    """Two authors and what they share. `chosen`: its pairs are listed."""

    first: Authoring
    second: Authoring
    found: Agreement
    chosen: bool

    @property
    def key(self) -> str:
        return f"{self.first.public_id}-{self.second.public_id}"


@dataclass(frozen=True)
class Side:
    """An occurrence of one author in words."""

    uid: str
    mention: str
    absent: bool
    when: str
    bounds: str


@dataclass(frozen=True)
class Row:
    """One line of the table: a pair, or an occurrence of one author alone."""

    first: Side | None
    second: Side | None
    difference: str = ""
    within: bool | None = None
    how: str = ""


@require_GET
@study_role_required(*CASE_READERS)
@link_back_to_draft
def show_agreement(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show matching, concordance and differences of every two authors.

    `pair` chooses whose occurrences are listed.
    """
    encounter = open_case(request, public_id)
    authors = submitted_authors(encounter)
    comparisons = _comparisons(authors, request.GET.get("pair", ""))
    chosen = next(c for c in comparisons if c.chosen)
    context = {
        "encounter": encounter,
        "comparisons": comparisons,
        "chosen": chosen,
        "median": (
            ""
            if chosen.found.median_difference is None
            else span_words(chosen.found.median_difference)
        ),
        "rows": _rows(chosen.found, clock_of(encounter)),
        "consensus": Consensus.objects.filter(
            first__in=(chosen.first.timeline_id, chosen.second.timeline_id),
            second__in=(chosen.first.timeline_id, chosen.second.timeline_id),
        ).first(),
    }
    study = encounter.dataset.study
    record(
        actor=request.user,
        study=study,
        action="agreement.open",
        object_type="ehr.encounter",
        object_id=public_id,
    )
    return render(request, "timelines/authoring/agreement.html", context)


def submitted_authors(encounter: Encounter) -> list[Authoring]:
    """Return the case's authorings in the order of their start.

    Raises Undecided unless there are at least two and all are submitted.
    """
    if not is_agreement_open(encounter):
        raise Undecided(
            "Agreement is shown after at least two authors of this case have submitted and none has"
            " an open draft."
        )
    return list(
        Authoring.objects.filter(encounter=encounter).select_related("author").order_by("pk")
    )


def _comparisons(authors: Sequence[Authoring], wanted: str) -> list[Comparison]:
    """Return every two authors.

    Raises Http404 if `wanted` names no pair of them.
    """
    sides = {a.pk: load_authored(a.timeline_id) for a in authors}
    pairs = list(combinations(authors, 2))
    keys = [f"{first.public_id}-{second.public_id}" for first, second in pairs]
    if wanted and wanted not in keys:
        raise Http404
    shown = wanted or keys[0]
    return [
        Comparison(first, second, agreement(sides[first.pk], sides[second.pk]), key == shown)
        for key, (first, second) in zip(keys, pairs, strict=True)
    ]


def _rows(found: Agreement, clock: Clock) -> list[Row]:
    """Pairs and leftovers together, as the note reads."""
    placed = [(p.first.start or 0, _pair(p, clock)) for p in found.pairs]
    placed += [(o.start or 0, Row(_side(o, clock), None)) for o in found.only_first]
    placed += [(o.start or 0, Row(None, _side(o, clock))) for o in found.only_second]
    return [row for _, row in sorted(placed, key=lambda item: item[0])]


def _pair(pair: Pair, clock: Clock) -> Row:
    difference = "" if pair.difference is None else _difference(pair.difference)
    return Row(
        _side(pair.first, clock), _side(pair.second, clock), difference, pair.within, pair.how
    )


def _difference(hours: float) -> str:
    if abs(hours) * 60 < 0.5:
        return "the same"
    return f"{span_words(hours)} {'later' if hours > 0 else 'earlier'}"


def _side(o: Authored, clock: Clock) -> Side:
    return Side(
        o.uid,
        o.mention,
        o.polarity == "absent",
        time_words(o.time, clock),
        str(clock.bounds(o.lower, o.upper) or ""),
    )
