"""Ask people who could review a case before they see it unblinded.

A person who may be assigned to a packet is asked before the first page that would make them
ineligible for it. The audit trail has the answer: a case that they chose to open is not asked about
again (docs/adr/0053-asking-before-opening.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from accounts.audit.trail import record_each
from accounts.models import AuditEvent, Membership, Role, Study, User
from accounts.registry import OpeningQuestion
from adjudication.access.eligibility import find_ineligibility_reasons
from adjudication.models import Packet, PacketItem
from ehr.models import Encounter
from ehr.record.same_stay import group_copies
from timelines.access.authoring import TIMELINE_PAGES
from timelines.models import Timeline

#: The person chose to open the case, knowing that they cannot review it then.
ACCEPTED = "exposure.accept"
#: Study admins without another role run the review; they are not asked.
_ASKED = (Role.CLINICIAN, Role.REVIEWER)
_CASE = "finding__game__comparison__encounter__public_id"


def ask_before_opening(
    user: User, object_type: str, object_ids: Collection[str]
) -> OpeningQuestion | None:
    """Return the question about showing these cases (public ids), or None.

    It names the packets that the person could no longer review, and for each the first of the cases
    that it has.
    """
    if object_type != TIMELINE_PAGES:
        return None
    packets = _find_reviewable(user)
    if not packets:
        return None
    shown = Timeline.objects.filter(encounter__public_id__in=list(object_ids))
    ids = sorted(set(shown.values_list("encounter__public_id", flat=True)))
    copies = group_copies(ids)
    cases = _find_cases_of_packets(packets, copies)
    accepted = _find_accepted(user, copies)
    asked = {
        packets[pk]: found[0]
        for pk, found in cases.items()
        if accepted.isdisjoint(found) and not find_ineligibility_reasons(user, packets[pk])
    }
    if not asked:
        return None
    labels = sorted(f"“{packet.label}”" for packet in asked)
    named = f"packet {labels[0]}" if len(labels) == 1 else f"packets {', '.join(labels)}"
    words = (
        f"Opening this case means that you cannot review it in {named}."
        if len(ids) == 1
        else f"Opening these cases means that you cannot review them in {named}."
    )
    return OpeningQuestion(words, tuple(sorted(set(asked.values()))))


def accept_exposure(*, by: User, case_ids: Collection[str]) -> int:
    """Record that a person chose to open these cases. Returns how many.

    Cases without a question are not recorded: their answer would mean nothing.
    """
    question = ask_before_opening(by, TIMELINE_PAGES, case_ids)
    if question is None:
        return 0
    by_study: dict[Study, list[str]] = defaultdict(list)
    for case in Encounter.objects.select_related("dataset__study").filter(
        public_id__in=question.object_ids
    ):
        by_study[case.dataset.study].append(case.public_id)
    for study, ids in by_study.items():
        record_each(
            actor=by,
            study=study,
            action=ACCEPTED,
            object_type="ehr.encounter",
            object_ids=sorted(ids),
        )
    return len(question.object_ids)


def _find_reviewable(user: User) -> dict[int, Packet]:
    """Return draft and open packets that the person might be assigned to."""
    studies = Membership.objects.filter(user=user, user__is_active=True, role__in=_ASKED)
    packets = Packet.objects.filter(
        state__in=(Packet.State.DRAFT, Packet.State.OPEN), study__in=studies.values("study")
    ).exclude(assignments__in=user.review_assignments.filter(withdrawn_at__isnull=True))
    return {packet.pk: packet for packet in packets.select_related("study")}


def _find_cases_of_packets(
    packets: Collection[int], copies: Mapping[str, set[str]]
) -> dict[int, list[str]]:
    """Return which of these cases each packet has, itself or as a copy."""
    items = PacketItem.objects.filter(
        packet__in=list(packets), **{f"{_CASE}__in": sorted(set().union(*copies.values()))}
    )
    inside: dict[int, set[str]] = defaultdict(set)
    for packet, case in items.order_by().values_list("packet_id", _CASE).distinct():
        inside[packet].add(case)
    return {
        packet: [case for case in copies if not copies[case].isdisjoint(same)]
        for packet, same in inside.items()
    }


def _find_accepted(user: User, copies: Mapping[str, set[str]]) -> set[str]:
    """Return the cases that the person chose to open, in any import."""
    events = AuditEvent.objects.filter(
        actor=user,
        action=ACCEPTED,
        object_type="ehr.encounter",
        object_id__in=sorted(set().union(*copies.values())),
    )
    chosen = set(events.values_list("object_id", flat=True))
    return {case for case, same in copies.items() if not chosen.isdisjoint(same)}
