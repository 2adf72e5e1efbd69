"""Verify a packet: its chain, the rows it describes and the audit trail.

The chain covers the decisions. The audit trail, also a chain (`accounts.audit.chain`), records what
they depend on: items, findings and sides at the opening, each person's share, and the heads at
signatures and at the closing. None can be changed without the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ObjectDoesNotExist

from accounts.audit.chain import Head
from accounts.models import AuditEvent
from accounts.wording import format_count
from adjudication.chain import BEGINNING, Break, Link, find_breaks
from adjudication.models import Assignment, Decision, Packet, PairSearch, Slot
from adjudication.packets.chain.storage import (
    ASSIGNED,
    CLOSED,
    DELETED,
    DRAWN,
    OPENED,
    SIGNED,
    UNSIGNED,
    WITHDRAWN,
    build_payload,
    find_current_decisions,
)
from adjudication.packets.digests import (
    finding_digest,
    game_digest,
    moment,
    opening_facts,
    order_digest,
    share_digest,
)

_JOINED = ("packet", "assignment__person", "item__finding", "amends")
_NOTED = (DRAWN, OPENED, CLOSED, SIGNED, UNSIGNED, ASSIGNED, WITHDRAWN)
_WORDS = {
    "items_sha256": "its items changed after it was opened",
    "terms_sha256": "its seed, design or reveal policy changed after it was opened",
    "origins_sha256": "its findings, their sides or sources changed after it was opened",
    "opened_at": "its opening time differs from the audit trail",
}
Details = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a packet, by its public id.

    `sequence` is that of the faulty link, 0 if the fault is not in the chain.
    """

    packet: str
    sequence: int
    reason: str


def packets_to_verify() -> list[Packet]:
    """Return all packets but drafts, and drafts with decisions or an opening.

    No valid draft has either.
    """
    opened = AuditEvent.objects.filter(
        object_type="adjudication.packet", action=OPENED
    ).values_list("object_id", flat=True)
    return [
        packet
        for packet in Packet.objects.order_by("pk")
        if packet.state != Packet.State.DRAFT
        or packet.public_id in set(opened)
        or packet.decisions.exists()
    ]


def find_missing_packets() -> set[str]:
    """Return public ids of packets in the audit trail that are not stored.

    Leaves out packets that were deleted as drafts.
    """
    events = AuditEvent.objects.filter(object_type="adjudication.packet").values_list(
        "object_id", flat=True
    )
    seen, opened = set(events.filter(action__in=[DRAWN, OPENED])), set(events.filter(action=OPENED))
    deleted = set(events.filter(action=DELETED)) - opened
    return seen - deleted - set(Packet.objects.values_list("public_id", flat=True))


def find_faults(packet: Packet) -> list[Fault]:
    """Return every fault of the packet, in order of its links."""
    links = list(
        Decision.objects.filter(packet=packet).select_related(*_JOINED).order_by("sequence", "pk")
    )
    noted = _audited_details(packet)
    checks: tuple[Callable[[], Iterable[Break]], ...] = (
        lambda: find_breaks(
            Link(d.sequence, build_payload(d), d.previous_hash, d.hash) for d in links
        ),
        lambda: [b for d in links for b in _link_breaks(d)],
        lambda: _signature_breaks(packet, links),
        lambda: _slot_breaks(packet, links),
        lambda: _search_breaks(packet, links),
        lambda: _quota_breaks(packet),
        lambda: _state_breaks(packet, links, noted),
        lambda: _head_breaks(links, noted),
        lambda: _share_breaks(packet, noted),
        lambda: _end_breaks(packet, links),
    )
    found = [b for check in checks for b in _run_check(check)]
    return [
        Fault(packet.public_id, b.sequence, b.reason)
        for b in sorted(set(found), key=lambda b: (b.sequence, b.reason))
    ]


def _run_check(check: Callable[[], Iterable[Break]]) -> list[Break]:
    """Run one check; report a missing row that another row refers to.

    That can happen if foreign keys were bypassed.
    """
    try:
        return list(check())
    except ObjectDoesNotExist:
        return [Break(0, "a row that its decisions or items refer to is missing")]


def audit_heads(packet: Packet) -> list[Head]:
    """Return the heads of the audit trail that the packet's signatures cover."""
    details = packet.decisions.filter(
        kind=Decision.Kind.SIGN, detail__has_key="audit_head"
    ).values_list("detail", flat=True)
    return [Head.from_detail(detail) for detail in details]


def _audited_details(packet: Packet) -> Mapping[str, Details]:
    """Map actions to details of the packet's audit events, oldest first.

    `place` is an event's position among them.
    """
    found: dict[str, Details] = defaultdict(list)
    events = AuditEvent.objects.filter(
        object_type="adjudication.packet", object_id=packet.public_id, action__in=_NOTED
    )
    for place, (action, detail) in enumerate(events.order_by("pk").values_list("action", "detail")):
        found[action].append({**detail, "place": place})
    return found


def _link_breaks(link: Decision) -> Iterator[Break]:
    if link.detail.get("order_sha256") != order_digest(link.assignment):
        yield Break(link.sequence, "the seed of the person's order was changed")
    if link.item is None:
        return
    if link.detail.get("finding_sha256") != finding_digest(link.item.finding):
        yield Break(link.sequence, "its finding was changed")
    if link.detail.get("versions") != link.item.versions:
        yield Break(link.sequence, "the versions of its item were changed")


def _signature_breaks(packet: Packet, links: list[Decision]) -> list[Break]:
    """Check that signatures cover the link before them and match assignments."""
    found = []
    signed: dict[int, Decision | None] = {}
    before: Mapping[str, Any] = {"head": BEGINNING, "head_sequence": 0}
    for d in links:
        if d.kind == Decision.Kind.SIGN:
            signed[d.assignment_id] = d
            if {key: d.detail.get(key) for key in before} != before:
                found.append(
                    Break(d.sequence, "its signature covers another chain than the links before it")
                )
        elif d.kind == Decision.Kind.UNSIGN:
            signed[d.assignment_id] = None
        before = {"head": d.hash, "head_sequence": d.sequence}
    ends = {d.assignment_id: d.sequence for d in links}
    for pk, signed_at in Assignment.objects.filter(packet=packet).values_list("pk", "signed_at"):
        last = signed.get(pk)
        if signed_at != (last.at if last else None):
            found.append(
                Break(
                    ends.get(pk, 0),
                    "the person's signature differs from the chain",
                )
            )
    return found


def _slot_breaks(packet: Packet, links: list[Decision]) -> Iterator[Break]:
    shown = {
        s.decision_id: s for s in Slot.objects.filter(item__packet=packet, decision__isnull=False)
    }
    expected = {d.pk: d for d in find_current_decisions(links).values()}
    by_pk = {d.pk: d for d in links}
    for current, d in expected.items():
        slot = shown.get(current)
        if slot is None:
            yield Break(d.sequence, "it is the current decision, but no slot refers to it")
        elif (slot.item_id, slot.assignment_id) != (d.item_id, d.assignment_id):
            yield Break(d.sequence, "the slot of another item or person refers to it")
    for pk in shown.keys() - expected.keys():
        other = by_pk.get(pk or 0)
        yield Break(
            other.sequence if other else 0,
            "a slot refers to it, but it is not the current decision",
        )


def _search_breaks(packet: Packet, links: list[Decision]) -> Iterator[Break]:
    """Check that searches and the judge's findings are as at the submission."""
    submitted = PairSearch.objects.filter(assignment__packet=packet, submission__isnull=False)
    found = {s.submission_id: s for s in submitted.select_related("game", "submission")}
    for d in links:
        if d.kind != Decision.Kind.SEARCH:
            continue
        search = found.pop(d.pk, None)
        if search is None or (search.public_id, search.game.public_id, search.assignment_id) != (
            d.detail.get("search"),
            d.detail.get("game"),
            d.assignment_id,
        ):
            yield Break(d.sequence, "its search is missing or was changed")
        elif d.detail.get("findings_sha256") != game_digest(search.game):
            yield Break(d.sequence, "the judge's findings of the searched pair were changed")
    for search in found.values():
        yield Break(0, f"the search {search.public_id} refers to a link of another kind")


def _quota_breaks(packet: Packet) -> Iterator[Break]:
    """Check that an opened packet has exactly the slots that it needs.

    An item has one for each reviewer of its quota; a third person's slot is required if its
    reviewers disagree, and allowed otherwise.
    """
    if packet.state == Packet.State.DRAFT:
        return
    numbers: dict[tuple[int, str], list[int]] = defaultdict(list)
    answers: dict[int, list[str | None]] = defaultdict(list)
    fields = ("item_id", "purpose", "number", "decision__answer")
    for item, purpose, number, answer in (
        Slot.objects.filter(item__packet=packet).order_by("number").values_list(*fields)
    ):
        numbers[item, purpose].append(number)
        answers[item] += [answer] if purpose == Slot.Purpose.REVIEW else []
    for pk, quota in packet.items.values_list("pk", "quota"):
        review, third = numbers[pk, Slot.Purpose.REVIEW], numbers[pk, Slot.Purpose.ADJUDICATION]
        disagree = None not in answers[pk] and len(set(answers[pk])) > 1
        if review != list(range(1, quota + 1)) or third not in ([1], [1] if disagree else []):
            yield Break(0, "an item has more or fewer slots than its reviewers need")


def _state_breaks(
    packet: Packet, links: list[Decision], noted: Mapping[str, Details]
) -> Iterator[Break]:
    """Check the packet's state and facts against the audit trail."""
    opened, closed = noted[OPENED], noted[CLOSED]
    if len(opened) != (packet.state != Packet.State.DRAFT) or (links and not opened):
        yield Break(0, f"it is {packet.state}, but the audit trail has {len(opened)} openings")
    if len(closed) != (packet.state == Packet.State.CLOSED):
        yield Break(0, f"it is {packet.state}, but the audit trail has {len(closed)} closings")
    if len(noted[DRAWN]) != 1:
        yield Break(0, f"the audit trail has {len(noted[DRAWN])} drawings")
    facts = opening_facts(packet)
    for detail in opened:
        yield from (
            Break(0, words)
            for name, words in _WORDS.items()
            if name in detail and detail[name] != facts[name]
        )
    times = [detail.get("closed_at", moment(packet.closed_at)) for detail in closed]
    if times != ([] if packet.closed_at is None else [moment(packet.closed_at)]):
        yield Break(0, "its closing time differs from the audit trail")


def _head_breaks(links: list[Decision], noted: Mapping[str, Details]) -> Iterator[Break]:
    """Check signatures and heads against the audit trail.

    Signatures and their voidings must be in both; heads in the trail must be in the chain.
    """
    hashes = {d.sequence: d.hash for d in links} | {0: BEGINNING}
    for detail in noted[SIGNED] + noted[CLOSED]:
        if hashes.get(detail.get("sequence", 0)) != detail.get("head"):
            yield Break(detail.get("sequence", 0), "the audit trail has another head there")
    for action, kind in ((SIGNED, Decision.Kind.SIGN), (UNSIGNED, Decision.Kind.UNSIGN)):
        there, trail = (
            {d.sequence for d in links if d.kind == kind},
            {detail.get("sequence", 0) for detail in noted[action]},
        )
        yield from (
            Break(sequence, "this signature or its voiding is not in the audit trail")
            for sequence in there - trail
        )
        yield from (
            Break(sequence, "the audit trail has a signature or its voiding there")
            for sequence in trail - there
        )


def _share_breaks(packet: Packet, noted: Mapping[str, Details]) -> Iterator[Break]:
    """Check people, roles and shares against the audit trail's latest entries."""
    last: dict[str, tuple[int, dict[str, Any]]] = {}
    out: dict[str, int] = {}
    for detail in noted[ASSIGNED]:
        last[detail.get("person", "")] = (detail["place"], detail)
    for detail in noted[WITHDRAWN]:
        out[detail.get("person", "")] = detail["place"]
    mine = {
        a.person.public_id: a
        for a in Assignment.objects.filter(packet=packet).select_related("person")
    }
    for person in last.keys() ^ mine.keys():
        yield Break(
            0,
            (
                "a person is in the packet or in the audit trail, but not in both"
                if person
                else "an assignment has no person"
            ),
        )
    for person in last.keys() & mine.keys():
        place, detail = last[person]
        assignment = mine[person]
        same = detail.get("role") == assignment.role and detail.get("share_sha256") in (
            None,
            share_digest(assignment),
        )
        if not same or (assignment.withdrawn_at is None) == (out.get(person, -1) > place):
            yield Break(
                0,
                "the role, share or place of a person in the packet differs from the audit trail",
            )


def _end_breaks(packet: Packet, links: list[Decision]) -> Iterator[Break]:
    """Check that the packet's row has the right end of its chain."""
    noted = Packet.objects.filter(pk=packet.pk).values_list("chain_length", "chain_head").get()
    ends = (links[-1].sequence, links[-1].hash) if links else (0, BEGINNING)
    if ends != noted:
        yield Break(
            ends[0],
            f"the chain ends here, but its packet has {format_count(noted[0], 'link')} and another head",
        )
