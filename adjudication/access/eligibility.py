"""Who may review a packet, and what is closed to them meanwhile.

Not eligible: authors of a timeline of one of its cases, and people who have seen one of them
unblinded. From the assignment until the packet is closed, the pages that would unblind its cases
are closed to those assigned to it; the structured record, which names no source, stays open.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Q

from accounts.models import AuditEvent, Study, User
from accounts.permissions import NotAllowed, find_roles, user_can_manage_study
from accounts.registry import closed_objects, veto
from accounts.wording import format_count
from adjudication.access.exposure import find_exposed_cases
from adjudication.blinding.visibility import PacketVisibility, Viewer, derive_visibility
from adjudication.models import Assignment, Packet
from ehr.models import Encounter
from ehr.record.same_stay import find_copies, group_copies
from timelines.access.authoring import AUTHORING_PAGES, TIMELINE_PAGES, check_user_may_see_timelines
from timelines.models import Authoring

#: The name by which page guards know pages with findings of a case; pages of its timelines are
#: `TIMELINE_PAGES`.
FINDING_PAGES = "adjudication.case"
#: All that a packet closes to those assigned to it.
CLOSED_PAGES = (TIMELINE_PAGES, FINDING_PAGES, AUTHORING_PAGES)
REFUSAL = (
    "You are assigned to a review packet with findings of this case. You can open its"
    " timelines and findings when the packet is closed. Your items are under Review."
)
NEVER_REVEALED = (
    "You reviewed findings of this case in a packet whose results are not revealed to its"
    " reviewers."
)
#: Conditions on assignments, and the path from one to the cases of its packet.
_NOW = Q(packet__state__in=(Packet.State.DRAFT, Packet.State.OPEN), withdrawn_at__isnull=True)
_NEVER = Q(packet__state=Packet.State.CLOSED, packet__reveal=Packet.Reveal.NEVER)
_CASE = "packet__items__finding__game__comparison__encounter"


def load_case_ids(packet: Packet) -> set[str]:
    """Return the public ids of the packet's cases."""
    return set(
        packet.items.values_list("finding__game__comparison__encounter__public_id", flat=True)
    )


def find_ineligibility_reasons(user: User, packet: Packet) -> list[str]:
    """Return why this person must not review this packet, for the admin.

    [] if they are eligible.
    """
    reasons = []
    if not find_roles(user, packet.study):
        reasons.append("This person is not an active member of the study.")
    cases = load_case_ids(packet)
    if written := len(_find_authored_cases(user, cases)):
        reasons.append(f"They author a timeline of {_format_case_count(written)} of the packet.")
    if seen := len(find_exposed_cases(user, cases)):
        reasons.append(f"They have seen {_format_case_count(seen)} of the packet unblinded.")
    return reasons


def _find_authored_cases(user: User, case_ids: Collection[str]) -> set[str]:
    """Return the cases (public ids) that the person has ever authored.

    The audit trail has the timelines that were deleted with an earlier import of the stay.
    """
    copies = group_copies(case_ids)
    ids = sorted(set().union(*copies.values()))
    begun = AuditEvent.objects.filter(actor=user, action="authoring.start", detail__case__in=ids)
    written = {
        *Authoring.objects.filter(author=user, encounter__public_id__in=ids).values_list(
            "encounter__public_id", flat=True
        ),
        *begun.values_list("detail__case", flat=True),
    }
    return {case for case, same in copies.items() if not written.isdisjoint(same)}


def check_user_is_eligible(user: User, packet: Packet) -> None:
    """Raise NotAllowed with the person and the first reason against them."""
    if reasons := find_ineligibility_reasons(user, packet):
        raise NotAllowed(f"{user.get_username()} cannot review this packet. {reasons[0]}")


def find_assignments(user: User, study: Study | None = None) -> list[Assignment]:
    """Return the person's current assignments, those of open packets first."""
    found = Assignment.objects.filter(person=user, withdrawn_at__isnull=True).select_related(
        "packet__study"
    )
    if study is not None:
        found = found.filter(packet__study=study)
    rank = {Packet.State.OPEN: 0, Packet.State.DRAFT: 1, Packet.State.CLOSED: 2}
    return sorted(found, key=lambda a: (rank[Packet.State(a.packet.state)], -a.packet_id))


def find_viewer(user: User, packet: Packet) -> Viewer:
    """Return the person's part in the packet; an assignment precedes admin."""
    mine = packet.assignments.filter(person=user, withdrawn_at__isnull=True).first()
    if mine is not None:
        return Viewer(mine.role)
    return Viewer.ADMIN if user_can_manage_study(user, packet.study) else Viewer.NOBODY


def load_visibility(user: User, packet: Packet) -> PacketVisibility:
    """Return the parts of the packet that this person may see now.

    Another packet with one of its cases, if they are assigned to it, closes what would unblind it.
    """
    found = derive_visibility(find_viewer(user, packet), packet.state, packet.reveal)
    closed = (
        closed_objects(user, FINDING_PAGES) | closed_objects(user, TIMELINE_PAGES)
        if found.judge
        else frozenset[str]()
    )
    if closed and not closed.isdisjoint(load_case_ids(packet)):
        return PacketVisibility(items=found.items, own_answers=found.own_answers)
    return found


def guard_packet(user: User, object_type: str, object_id: str) -> str | None:
    """Page guard: close a case to people assigned to a packet with it.

    It stays closed until the packet is closed. A draft closes it too: what a person sees shortly
    before the packet opens would reveal the sides of its items. The case's findings stay closed
    later if the packet never reveals them. A reviewer cannot begin a timeline of the case.
    """
    if object_type not in CLOSED_PAGES:
        return None
    mine = Assignment.objects.filter(_NOW | _NEVER, person=user)
    if not mine.exists():
        return None
    mine = mine.filter(**{f"{_CASE}__public_id__in": find_copies([object_id])})
    if mine.filter(_NOW).exists():
        return REFUSAL
    return NEVER_REVEALED if object_type == FINDING_PAGES and mine.filter(_NEVER).exists() else None


def find_closed_cases(user: User, object_type: str) -> set[str]:
    """Return public ids of all cases that `guard_packet` closes."""
    if object_type not in CLOSED_PAGES:
        return set()
    condition = _NOW | _NEVER if object_type == FINDING_PAGES else _NOW
    found = Assignment.objects.filter(condition, person=user).values_list(
        f"{_CASE}__public_id", flat=True
    )
    return find_copies({public_id for public_id in found if public_id is not None})


def check_user_may_see_findings(user: User, encounter: Encounter) -> None:
    """Raise NotAllowed if the person may not see findings of this case.

    Every page that shows findings, or data derived from them, calls it.
    """
    check_user_may_see_timelines(user, encounter)
    if reason := veto(user, FINDING_PAGES, encounter.public_id):
        raise NotAllowed(reason)


def _format_case_count(count: int) -> str:
    return format_count(count, "case")
