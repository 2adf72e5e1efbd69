"""The data of a report card: items, current decisions and the corpus."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

from django.db.models import QuerySet

from adjudication.domain import FindingType, Verdict
from adjudication.models import Assignment, Decision, Finding, Game, JudgeRun, Packet, Slot
from adjudication.ratings.card.searches import load_search_rates
from adjudication.reports.card.compute import blinding_check, report_card
from adjudication.reports.card.values import BlindingCheck, Item, ReportCard, ReviewerDecision
from adjudication.sampling.drawing import find_stratum
from timelines.domain import TimelineKind
from timelines.models import Timeline

#: The question of the blinding check: which side a clinician wrote.
CLINICIAN = "clinician"


def compute_card(packet: Packet) -> ReportCard:
    """Compute the report card of all current decisions.

    Answers of the third person are listed, but do not count as a reviewer's.
    """
    corpus, outside = count_corpus(packet.judge_run)
    card = report_card(
        load_items(packet),
        load_reviewers(packet),
        corpus,
        outside=outside,
        blinding=load_blinding_check(packet),
    )
    return replace(card, searches=load_search_rates(packet))


def load_reviewers(packet: Packet) -> list[str]:
    """Return user names of the reviewers, in order of assignment.

    A withdrawn one is included if decisions of theirs are current.
    """
    found = (
        packet.assignments.filter(role=Assignment.Role.REVIEWER)
        .select_related("person")
        .order_by("pk")
    )
    stand = set(_find_decided_slots(packet).values_list("assignment_id", flat=True))
    return [a.person.get_username() for a in found if a.withdrawn_at is None or a.pk in stand]


def load_items(packet: Packet) -> list[Item]:
    """Return every item in the packet's order, with its current decisions."""
    decided: dict[int, list[ReviewerDecision]] = defaultdict(list)
    third: dict[int, str] = {}
    for slot in (
        _find_decided_slots(packet)
        .select_related("assignment__person", "decision")
        .order_by("assignment_id")
    ):
        made = slot.decision
        if made is None:
            continue
        if slot.purpose == Slot.Purpose.ADJUDICATION:
            third[slot.item_id] = made.answer
        elif slot.assignment is not None:
            decided[slot.item_id].append(_reviewed_decision(slot.assignment, made))
    rows = packet.items.select_related("finding__game__comparison__encounter").order_by("ordinal")
    return [
        Item(
            number=row.ordinal,
            case=row.finding.game.comparison.encounter.case_id,
            pairing=row.pairing,
            stratum=row.stratum,
            verdict=row.finding.verdict,
            decisions=tuple(decided[row.pk]),
            adjudicated=third.get(row.pk, ""),
            key=row.finding.public_id,
        )
        for row in rows
    ]


def count_corpus(judge_run: JudgeRun) -> tuple[dict[str, int], int]:
    """Return (findings by stratum, findings outside the five strata).

    Counts all judged games but those in swapped positions, which are no part of the corpus.
    """
    found = Finding.objects.filter(
        game__run=judge_run, game__swapped=False, game__outcome=Game.Outcome.JUDGED
    )
    counts: Counter[str] = Counter()
    outside = 0
    for kind, verdict in found.values_list("type", "verdict").iterator(chunk_size=5000):
        stratum = find_stratum(FindingType(kind), Verdict(verdict))
        if stratum is None:
            outside += 1
        else:
            counts[stratum.value] += 1
    return dict(counts), outside


def load_blinding_check(packet: Packet) -> BlindingCheck | None:
    """Count how often reviewers recognised the side that a clinician wrote.

    Counts items with exactly one such side; None if no guess is about one. Only a person's last
    guess on an item counts.
    """
    last: dict[tuple[int, int], Decision] = {}
    guesses = Decision.objects.filter(
        packet=packet, kind=Decision.Kind.GUESS, item__isnull=False, detail__question=CLINICIAN
    )
    for guess in guesses.select_related(
        "item__finding__game__comparison__first", "item__finding__game__comparison__second"
    ):
        last[(guess.assignment_id, guess.item_id or 0)] = guess
    right = wrong = unsure = 0
    for guess in last.values():
        truth = find_clinician_side(guess)
        if truth is None:
            continue
        guessed = guess.detail.get("guess")
        right += guessed == truth
        unsure += guessed not in ("A", "B")
        wrong += guessed in ("A", "B") and guessed != truth
    if not right + wrong + unsure:
        return None
    return blinding_check(right, right + wrong, unsure=unsure)


def find_clinician_side(guess: Decision) -> str | None:
    """Return the judge's label of the side that a clinician wrote.

    None if both sides or neither were.
    """
    if guess.item is None:
        return None
    game = guess.item.finding.game
    first, second = (is_by_clinician(t) for t in (game.comparison.first, game.comparison.second))
    if first == second:
        return None
    return "A" if first == game.a_is_first else "B"


def is_by_clinician(timeline: Timeline) -> bool:
    """Return whether a clinician wrote the timeline.

    A clinician wrote references and authored timelines. Timelines of a run, and files of another
    tool, are not.
    """
    return timeline.kind == TimelineKind.REFERENCE or timeline.source.startswith("author:")


def _find_decided_slots(packet: Packet) -> QuerySet[Slot]:
    return Slot.objects.filter(item__packet=packet, decision__isnull=False)


def _reviewed_decision(assignment: Assignment, made: Decision) -> ReviewerDecision:
    return ReviewerDecision(
        reviewer=assignment.person.get_username(),
        answer=made.answer,
        active_seconds=made.active_seconds,
        own_time=made.own_time,
        comment=made.comment,
        flagged=made.flagged,
        amended=made.kind == Decision.Kind.AMENDMENT,
    )
