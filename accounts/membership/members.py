"""The members of a study as its page lists them."""

from __future__ import annotations

from dataclasses import dataclass

from accounts.models import Membership, Role, Study, User


@dataclass(frozen=True)
class MemberLine:
    """One person and their roles in the study, in the order of `Role`.

    `provided` are those that the sign-in provider gives and takes away.
    """

    person: User
    roles: tuple[Role, ...]
    provided: frozenset[Role]


def member_lines(study: Study) -> list[MemberLine]:
    """Everyone in the study, by user name; one query."""
    roles_of: dict[User, dict[str, bool]] = {}
    for membership in (
        Membership.objects.filter(study=study).select_related("user").order_by("user__username")
    ):
        roles_of.setdefault(membership.user, {})[membership.role] = membership.provided
    return [
        MemberLine(
            person,
            tuple(role for role in Role if role.value in roles),
            frozenset(Role(role) for role, provided in roles.items() if provided),
        )
        for person, roles in roles_of.items()
    ]


def find_members(study: Study, role: Role) -> list[User]:
    """Return the active people with a role in the study, by name."""
    found = User.objects.filter(
        is_active=True, memberships__study=study, memberships__role=role
    ).distinct()
    return list(found.order_by("username"))
