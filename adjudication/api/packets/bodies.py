"""Packets as plain values, through the same functions as their pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Count, Q, QuerySet

from adjudication.api.review.bodies import progress_body
from adjudication.models import JudgeRun, Packet
from adjudication.packets import actions as packets
from adjudication.review import steering as packet_page
from adjudication.review.steering import PersonLine
from adjudication.sampling.drawing import Drawn, Eligible


def with_counts(found: QuerySet[Packet]) -> QuerySet[Packet]:
    """Annotate packets with the counts that `packet_body` reads, in one query."""
    review = Q(items__slots__purpose="review")
    return found.select_related("study", "judge_run", "follows").annotate(
        n_items=Count("items", distinct=True),
        n_people=Count(
            "assignments", filter=Q(assignments__withdrawn_at__isnull=True), distinct=True
        ),
        n_slots=Count("items__slots", filter=review, distinct=True),
        n_decided=Count(
            "items__slots", filter=review & Q(items__slots__decision__isnull=False), distinct=True
        ),
    )


def packet_body(packet: Packet) -> dict[str, Any]:
    """A packet of `with_counts`."""
    return {
        "id": packet.public_id,
        "study": packet.study.public_id,
        "judge_run": packet.judge_run.public_id,
        "label": packet.label,
        "state": packet.state,
        "reveal": packet.reveal,
        "seed": packet.seed,
        "lease_minutes": packet.lease_minutes,
        "follows": packet.follows.public_id if packet.follows else None,
        "items": getattr(packet, "n_items", 0),
        "slots": getattr(packet, "n_slots", 0),
        "decided": getattr(packet, "n_decided", 0),
        "people": getattr(packet, "n_people", 0),
        "created_at": packet.created_at,
        "opened_at": packet.opened_at,
        "closed_at": packet.closed_at,
    }


def packet_detail_body(packet: Packet) -> dict[str, Any]:
    """Build the packet's body with its items, reviewers and open problems."""
    third, settled = packet_page.disagreements(packet)
    return {
        **packet_body(packet),
        "design": packet.design,
        "pairings": [
            {
                "pairing": line.pairing,
                "strata": dict(zip(packet_page.strata(), line.counts, strict=True)),
                "total": line.total,
                "reviewers": line.reviewers,
            }
            for line in packet_page.pairing_lines(packet)
        ],
        "shortages": packet_page.shortages(packet),
        "assignments": [person_body(line) for line in packet_page.people(packet)],
        "obstacles": packets.obstacles(packet) if packet.state == Packet.State.DRAFT else [],
        "disagreements": third,
        "settled": settled,
        "chain_faults": [
            f"link {fault.sequence}: {fault.reason}" for fault in packet_page.chain_faults(packet)
        ],
    }


def person_body(line: PersonLine) -> dict[str, Any]:
    """Somebody of the packet, and how far they are."""
    assignment = line.assignment
    return {
        "id": assignment.public_id,
        "person": assignment.person.public_id,
        "username": assignment.person.get_username(),
        "role": assignment.role,
        "pairings": assignment.pairings,
        "practised": assignment.practised_at is not None,
        "signed_at": assignment.signed_at,
        "withdrawn_at": assignment.withdrawn_at,
        "progress": progress_body(assignment),
        "late": line.late,
        "reasons": line.reasons,
    }


def eligible_body(run: JudgeRun, eligible: Eligible) -> dict[str, Any]:
    """What may be drawn, every pairing and stratum named."""
    counts, pairings = eligible.counts(), packets.pairings_of(run)
    return {
        "judge_run": run.public_id,
        "pairings": {
            p: {s: counts.get(p, {}).get(s, 0) for s in packet_page.strata()} for p in pairings
        },
        "excluded": eligible.excluded,
        "cases": len(eligible.judged),
        "complete_cases": sum(set(pairings) <= judged for judged in eligible.judged.values()),
    }


def drawn_body(drawn: Drawn, pairings: Iterable[str], seed: int) -> dict[str, Any]:
    """What a draw would give."""
    counts = {p: dict.fromkeys(packet_page.strata(), 0) for p in pairings}
    for finding in drawn.items:
        counts[finding.pairing][finding.stratum] += 1
    return {
        "items": len(drawn.items),
        "pairings": counts,
        "cases": len(drawn.cases),
        "shortages": drawn.shortages,
        "excluded": drawn.excluded,
        "seed": seed,
    }
