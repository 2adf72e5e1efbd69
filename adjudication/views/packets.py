"""Packets, for study admins: the list, the drawing, and one packet's page."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import Role, User
from accounts.permissions import STUDY_ADMINS, NotAllowed
from accounts.scoping import StudyRequest, filter_by_role, study_role_required
from accounts.wording import format_count
from adjudication.access.closed import (
    ClosedObjects,
    exclude_closed_packets,
    exclude_closed_runs,
    find_closed_objects,
    has_closed_games,
)
from adjudication.access.eligibility import REFUSAL
from adjudication.models import Assignment, Decision, Game, JudgeRun, Packet
from adjudication.packets import actions as packets
from adjudication.packets.actions import PacketRefused
from adjudication.packets.candidates import find_candidates
from adjudication.packets.deadlines import set_own_due_date
from adjudication.packets.forms import AssignForm, DrawForm, DueForm, SearchForm
from adjudication.packets.searches import (
    assign_search,
    find_searchable_games,
    list_searches,
    remove_search,
)
from adjudication.review import steering as packet_page
from adjudication.review.decisions import DecisionRefused, unsign
from adjudication.review.guess_test import find_guess_test, read_guesses, start_guess_test
from adjudication.review.notes import load_notes
from adjudication.sampling.drawing import Sample, count_strata, draw
from adjudication.states import InvalidTransition

PER_PAGE = 30
REFUSALS = (PacketRefused, InvalidTransition, NotAllowed, DecisionRefused)


@require_GET
@study_role_required(Role.ADMIN)
def packet_list(request: StudyRequest) -> HttpResponse:
    """List all packets of the study, newest first."""
    closed = find_closed_objects(request.user)
    found = exclude_closed_packets(Packet.objects.filter(study=request.study), closed)
    counted_packets = packet_page.annotate_counts(found).order_by("-created_at", "-pk")
    page = Paginator(counted_packets, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "runs": find_drawable_runs(request, closed),
        "closed": bool(closed.cases),
    }
    return render(request, "adjudication/packets/list.html", context)


@require_http_methods(["GET", "POST"])
@study_role_required(Role.ADMIN)
def packet_new(request: StudyRequest, run_id: str) -> HttpResponse:
    """Draw a packet from a judge run.

    Shows what may be drawn and the form. `preview` shows the result of a draw; `draw` creates the
    packet.
    """
    run = get_object_or_404(
        filter_by_role(
            JudgeRun.objects.filter(study=request.study), request.user, roles=STUDY_ADMINS
        ),
        public_id=run_id,
    )
    if has_closed_games(run, find_closed_objects(request.user)):
        raise NotAllowed(REFUSAL)
    form = DrawForm(request.POST or None, judge_run=run)
    eligible = packets.find_eligible_findings(run)
    drawn: Sample | None = None
    drawn_counts: dict[str, dict[str, int]] = {}
    if request.method == "POST" and form.is_valid():
        design = form.design()
        drawn = draw(eligible, design, form.cleaned_data["seed"])
        drawn_counts = count_strata(drawn.items, design.pairings)
        if request.POST.get("do") == "draw":
            try:
                packet = packets.draw_packet(
                    study=request.study, judge_run=run, by=request.user, **form.arguments()
                )
            except PacketRefused as refused:
                form.add_error(None, str(refused))
            else:
                messages.success(request, "The packet is drawn. It is a draft until you open it.")
                return redirect("adjudication:packet", packet.public_id)
    pairings = packets.list_pairings(run)
    context = {
        "run": run,
        "form": form,
        "strata": packet_page.list_strata(),
        "eligible": _build_lines(count_strata(eligible.findings, pairings)),
        "excluded": sorted(eligible.excluded.items()),
        "cases": len(eligible.judged),
        "complete_cases": eligible.count_complete(pairings),
        "unjudged": run.games.exclude(outcome=Game.Outcome.JUDGED).count(),
        "drawn": drawn,
        "drawn_lines": _build_lines(drawn_counts),
    }
    return render(request, "adjudication/packets/new.html", context)


@require_GET
@study_role_required(Role.ADMIN)
def packet(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show one packet: its items, its reviewers and their progress."""
    found = find_packet(request, public_id)
    testing = find_guess_test(found)
    if request.htmx:  # type: ignore[attr-defined]  # set by django-htmx's middleware
        response = render(request, "adjudication/packets/_guessing.html", {"packet": found})
        if testing is None:
            response["HX-Refresh"] = "true"
        return response
    runs = JudgeRun.objects.filter(
        study=request.study, created_at__gt=found.judge_run.created_at
    ).order_by("-created_at")
    candidates = find_candidates(found) if found.state != Packet.State.CLOSED else []
    later = exclude_closed_runs(runs, find_closed_objects(request.user))[:20]
    context = {
        "packet": found,
        "status": packet_page.load_status(found),
        "strata": packet_page.list_strata(),
        "assign": AssignForm(packet=found, candidates=candidates),
        "candidates": candidates,
        "guesses": read_guesses(found),
        "testing": testing,
        "last_test": found.guess_tests.first(),
        "notes": load_notes(found),
        "searches": [
            (s, packets.find_pairing(s.game, found.judge_run)) for s in list_searches(found)
        ],
        "search_form": SearchForm(packet=found) if found.state != Packet.State.CLOSED else None,
        "due_form": DueForm(initial={"due_on": found.due_on}),
        "unfinished": packet_page.count_unfinished(found)
        if found.state == Packet.State.OPEN
        else None,
        "links": Decision.objects.filter(packet=found).count(),
        "late": Decision.objects.filter(packet=found, kind=Decision.Kind.LATE).count(),
        "later": [
            (run.public_id, f"{run.label or run.judge_name} · {run.created_at:%Y-%m-%d %H:%M}")
            for run in later
        ],
    }
    return render(request, "adjudication/packets/page.html", context)


@require_POST
@study_role_required(Role.ADMIN)
def packet_action(request: StudyRequest, public_id: str, action: str) -> HttpResponse:
    """Open, close or delete a packet, or change its people or reviewers.

    Also draws a packet of findings that a later judge run changed.
    """
    found = find_packet(request, public_id)
    act = ACTIONS.get(action)
    if act is None:
        raise Http404
    try:
        result = act(request, found)
    except REFUSALS as refused:
        messages.error(request, str(refused))
        return redirect("adjudication:packet", found.public_id)
    if isinstance(result, Packet):
        messages.success(
            request, "The packet of changed findings is drawn. It is a draft until you open it."
        )
        return redirect("adjudication:packet", result.public_id)
    messages.success(request, result)
    if action == "delete":
        return redirect("adjudication:packets")
    return redirect("adjudication:packet", found.public_id)


def find_packet(request: StudyRequest, public_id: str) -> Packet:
    """Return the packet of the active study. Raises Http404, NotAllowed."""
    found = Packet.objects.filter(study=request.study)
    return packet_page.find_packet(found, request.user, public_id)


def find_drawable_runs(request: StudyRequest, closed: ClosedObjects) -> list[JudgeRun]:
    """Return the study's judge runs with judged and without closed games.

    Newest first.
    """
    judged = Count("games", filter=Q(games__outcome=Game.Outcome.JUDGED))
    runs = JudgeRun.objects.filter(study=request.study).annotate(judged=judged).filter(judged__gt=0)
    return [run for run in runs[:50] if not has_closed_games(run, closed)]


def _build_lines(counts: dict[str, dict[str, int]]) -> list[tuple[str, list[int], int]]:
    """Return (pairing, items of each stratum, all of them) for the tables."""
    return [(p, list(n.values()), sum(n.values())) for p, n in counts.items()]


def _open(request: StudyRequest, found: Packet) -> str:
    packets.open_packet(packet=found, by=request.user)
    return "The packet is open. Its items cannot change any more, and reviewers can begin."


def _guess(request: StudyRequest, found: Packet) -> str:
    if start_guess_test(packet=found, by=request.user) is not None:
        return "The guess test has begun. Its result will be on this page."
    found.refresh_from_db()
    failed = sum(guess.passed is False for guess in read_guesses(found))
    if failed:
        return f"The guess test found the sources of {format_count(failed, 'pairing')}."
    return "The guess test did not find the sources better than chance."


def _close(request: StudyRequest, found: Packet) -> str:
    packets.close_packet(packet=found, by=request.user)
    return "The packet is closed. Later answers are stored as late and do not count."


def _set_due(request: StudyRequest, found: Packet) -> str:
    form = DueForm(request.POST)
    if not form.is_valid():
        raise PacketRefused(" ".join(str(error) for error in form.errors["due_on"]))
    changed = packets.set_due_date(
        packet=found, due_on=form.cleaned_data["due_on"], by=request.user
    )
    return f"The review is {changed.due.words}." if changed.due else "The packet has no due date."


def _set_own_due(request: StudyRequest, found: Packet) -> str:
    form = DueForm(request.POST)
    if not form.is_valid():
        raise PacketRefused(" ".join(str(error) for error in form.errors["due_on"]))
    changed = set_own_due_date(
        assignment=_assignment(request, found),
        due_on=form.cleaned_data["due_on"],
        by=request.user,
    )
    name = changed.person.get_username()
    return f"The review of {name} is {changed.due.words}." if changed.due else "No due date."


def _assign_search(request: StudyRequest, found: Packet) -> str:
    games = {game.public_id: game for game in find_searchable_games(found)}
    game = games.get(request.POST.get("game", ""))
    if game is None:
        raise PacketRefused("Choose a judged pair of timelines of a case of the packet.")
    search = assign_search(assignment=_assignment(request, found), game=game, by=request.user)
    return f"{search.assignment.person.get_username()} will search this pair before the items."


def _remove_search(request: StudyRequest, found: Packet) -> str:
    search = get_object_or_404(list_searches(found), public_id=request.POST.get("search", ""))
    remove_search(search=search, by=request.user)
    return "The search is removed."


def _delete(request: StudyRequest, found: Packet) -> str:
    packets.delete_draft(packet=found, by=request.user)
    return "The draft is deleted."


def _assign(request: StudyRequest, found: Packet) -> str:
    form = AssignForm(request.POST, packet=found)
    if not form.is_valid():
        raise PacketRefused(
            "No person was assigned. Choose a member of the study who is not in the packet."
        )
    person: User = form.cleaned_data["person"]
    pairing = form.cleaned_data["pairing"]
    packets.assign(
        packet=found,
        person=person,
        role=form.cleaned_data["role"],
        pairings=[pairing] if pairing else [],
        by=request.user,
    )
    return f"{person.get_username()} was added to the packet."


def _withdraw(request: StudyRequest, found: Packet) -> str:
    packets.withdraw_assignment(assignment=_assignment(request, found), by=request.user)
    return "The person was removed from the packet. Their decisions remain stored."


def _unsign(request: StudyRequest, found: Packet) -> str:
    unsign(
        assignment=_assignment(request, found),
        reason=request.POST.get("reason", ""),
        by=request.user,
    )
    return "The signature is void. The chain records this and the reason."


def _require_second(request: StudyRequest, found: Packet) -> str:
    count = packets.require_second_reviewer(
        packet=found, pairing=request.POST.get("pairing", ""), by=request.user
    )
    return f"{format_count(count, 'item')} will have two reviewers."


def _draw_changed(request: StudyRequest, found: Packet) -> Packet:
    runs = JudgeRun.objects.filter(study=request.study)
    return packets.draw_changed(
        packet=found,
        judge_run=get_object_or_404(runs, public_id=request.POST.get("run", "")),
        by=request.user,
    )


def _assignment(request: StudyRequest, found: Packet) -> Assignment:
    return get_object_or_404(
        found.assignments.select_related("packet__study", "person"),
        public_id=request.POST.get("assignment", ""),
    )


ACTIONS: dict[str, Any] = {
    "guess": _guess,
    "open": _open,
    "close": _close,
    "due": _set_due,
    "own-due": _set_own_due,
    "search": _assign_search,
    "unsearch": _remove_search,
    "delete": _delete,
    "assign": _assign,
    "withdraw": _withdraw,
    "unsign": _unsign,
    "second": _require_second,
    "changed": _draw_changed,
}
