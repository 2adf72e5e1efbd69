"""The page on which two authors' timelines of a case are reconciled."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from accounts.audit.trail import record
from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, filter_by_role, study_role_required
from ehr.presentation.clock import Clock
from ehr.record.clock import clock_of
from timelines.access.authoring import source_words
from timelines.authoring import consensus as actions
from timelines.cases.opening import open_case
from timelines.cases.way_back import link_back_to_draft
from timelines.drafts.agreement import Authored
from timelines.drafts.consensus import Item
from timelines.drafts.values import EditRefused
from timelines.models import Authoring, Consensus, ConsensusDecision
from timelines.presentation.authoring.values import time_words
from timelines.runs.storage import checked_text
from timelines.views.authoring.agreement import submitted_authors

AROUND = 90


@dataclass(frozen=True)
class Side:
    """What one author has, in words."""

    author: str
    mention: str
    absent: bool
    when: str
    bounds: str


@dataclass(frozen=True)
class Line:
    """An item as the page shows it.

    `before`, `marked` and `after` are the note around its mark.
    """

    key: str
    mention: str
    first: Side | None
    second: Side | None
    before: str
    marked: str
    after: str
    may_enter: bool
    decision: ConsensusDecision | None = None
    taken: Side | None = None


@require_POST
@study_role_required(*CASE_READERS)
@link_back_to_draft
def start(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Make the consensus of the two authors that `pair` names, or open it."""
    encounter = open_case(request, public_id)
    authors = {a.public_id: a for a in submitted_authors(encounter)}
    found = [authors.get(name) for name in request.POST.get("pair", "").split("-")]
    first, second = found if len(found) == 2 else (None, None)
    if first is None or second is None or first == second:
        raise Http404
    made = actions.start_consensus(first=first, second=second, by=request.user)
    return redirect("timelines:consensus", made.public_id)


@require_GET
@study_role_required(*CASE_READERS)
@link_back_to_draft
def show(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show what agrees, what is decided and what is left."""
    found = open_consensus(request, public_id)
    encounter = found.encounter
    assert found.first.inventory is not None
    text = checked_text(found.first.inventory.note)
    names, clock = _names(found), clock_of(encounter)
    decisions = actions.load_decisions(found)
    lines = [
        _line(item, decisions.get(item.key), names, text, clock)
        for item in actions.load_items(found)
    ]
    agreed = [x for x in lines if x.decision and x.decision.choice == "agreed"]
    decided = [x for x in lines if x.decision and x.decision.choice != "agreed"]
    left = [x for x in lines if x.decision is None]
    record(
        actor=request.user,
        study=encounter.dataset.study,
        action="agreement.open",
        object_type="ehr.encounter",
        object_id=encounter.public_id,
        detail={"consensus": found.public_id},
    )
    context = {
        "consensus": found,
        "encounter": encounter,
        "names": names,
        "agreed": agreed,
        "decided": decided,
        "left": left,
        "total": len(decided) + len(left),
        "outdated": found.timeline_id is None and actions.is_outdated(found),
    }
    return render(request, "timelines/authoring/consensus.html", context)


@require_POST
@study_role_required(*CASE_READERS)
@link_back_to_draft
def decide(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Store a decision about one item."""
    found = open_consensus(request, public_id)
    choice = request.POST.get("choice", "")
    try:
        if choice not in actions.Choice.values:
            raise EditRefused("choice", "Choose what is taken.")
        actions.decide(
            consensus=found,
            key=request.POST.get("item", ""),
            what=actions.Decided(
                actions.Choice(choice),
                request.POST.get("reason", ""),
                request.POST.get("entered", ""),
            ),
            by=request.user,
        )
    except EditRefused as refused:
        messages.error(request, refused.message)
    return redirect(f"{reverse('timelines:consensus', args=[public_id])}#to-decide")


@require_POST
@study_role_required(*CASE_READERS)
@link_back_to_draft
def submit(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Store the consensus as a reference of the case."""
    found = open_consensus(request, public_id)
    try:
        actions.submit_consensus(consensus=found, by=request.user)
    except EditRefused as refused:
        messages.error(request, refused.message)
    return redirect("timelines:consensus", public_id)


def open_consensus(request: StudyRequest, public_id: str) -> Consensus:
    """Return the consensus, if the person may see both timelines.

    Raises Http404, NotAllowed.
    """
    rows = Consensus.objects.select_related(
        "encounter__dataset__study", "first__inventory__note", "second", "timeline"
    )
    found = (
        filter_by_role(rows, request.user, "encounter__dataset__study", roles=CASE_READERS)
        .filter(public_id=public_id)
        .first()
    )
    if found is None:
        raise Http404
    open_case(request, found.encounter.public_id)
    actions.check_user_may_reconcile(request.user, found.encounter)
    return found


def _names(found: Consensus) -> tuple[str, str]:
    """Return the two authors' names."""
    authors = {
        a.timeline_id: a.author.get_username()
        for a in Authoring.objects.filter(encounter=found.encounter).select_related("author")
    }
    first, second = (
        authors.get(t.pk) or source_words(t.source) for t in (found.first, found.second)
    )
    return first, second


def _line(
    item: Item,
    decision: ConsensusDecision | None,
    names: tuple[str, str],
    text: str,
    clock: Clock,
) -> Line:
    start, end = item.mark.start or 0, item.mark.end or 0
    taken = actions.find_taken(item, decision) if decision else None
    return Line(
        key=item.key,
        mention=(taken or item.mark).mention,
        first=_side(item.first, names[0], clock),
        second=_side(item.second, names[1], clock),
        before=text[max(0, start - AROUND) : start],
        marked=text[start:end],
        after=text[end : end + AROUND],
        may_enter=item.same_polarity,
        decision=decision,
        taken=_side(taken, "", clock),
    )


def _side(o: Authored | None, author: str, clock: Clock) -> Side | None:
    if o is None:
        return None
    return Side(
        author,
        o.mention,
        o.polarity == "absent",
        time_words(o.time, clock),
        str(clock.bounds(o.lower, o.upper) or ""),
    )
