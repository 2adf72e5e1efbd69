"""Who can be assigned to a packet, and why others cannot."""

from __future__ import annotations

from dataclasses import dataclass

from accounts.membership.members import member_lines
from accounts.models import Role, User
from adjudication.access.eligibility import find_ineligibility_reasons
from adjudication.models import Packet


@dataclass(frozen=True, slots=True)
class Candidate:
    """A member of the study, and the reasons why they cannot be assigned."""

    person: User
    roles: tuple[Role, ...]
    assigned: bool
    reasons: tuple[str, ...]

    @property
    def eligible(self) -> bool:
        """Whether the person can be added to the packet."""
        return not self.assigned and not self.reasons


def find_candidates(packet: Packet) -> list[Candidate]:
    """Return every active member of the packet's study, by user name."""
    assigned = set(
        packet.assignments.filter(withdrawn_at__isnull=True).values_list("person_id", flat=True)
    )
    return [
        Candidate(
            line.person,
            line.roles,
            line.person.pk in assigned,
            # The table of the packet's people has the reasons of those assigned.
            ()
            if line.person.pk in assigned
            else tuple(find_ineligibility_reasons(line.person, packet)),
        )
        for line in member_lines(packet.study)
        if line.person.is_active
    ]
