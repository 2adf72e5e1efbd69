"""Object rules.

`check_user_can_x` raises with a reason that the page shows; `user_can_x` wraps it.
"""

from __future__ import annotations

from django.core.exceptions import PermissionDenied

from accounts import registry
from accounts.models import Membership, Role, Study, User


class NotAllowed(PermissionDenied):
    """The rule that was broken, as a sentence for the person."""

    log_safe = True


CASE_READERS = frozenset({Role.CLINICIAN, Role.ADMIN})
STUDY_ADMINS = frozenset({Role.ADMIN})


def find_roles(user: User, study: Study) -> frozenset[Role]:
    """Return the person's roles in the study; none if the person is inactive.

    Being a superuser gives no role.
    """
    if not user.is_active:
        return frozenset()
    return frozenset(
        Role(role)
        for role in Membership.objects.filter(user=user, study=study).values_list("role", flat=True)
    )


def check_user_has_role(user: User, study: Study, *roles: Role) -> None:
    """Raise NotAllowed unless the person has one of `roles` in the study.

    If no role is named, any role suffices.
    """
    own_roles = find_roles(user, study)
    if not own_roles:
        raise NotAllowed("You are not a member of this study.")
    if roles and not own_roles & frozenset(roles):
        needed = " or ".join(role.label.lower() for role in roles)
        raise NotAllowed(f"This needs the role {needed} in this study.")


def check_user_can_open_cases(user: User, study: Study) -> None:
    """Raise NotAllowed unless the person is a clinician or a study admin.

    A blinded reviewer sees cases only through the review queue.
    """
    check_user_has_role(user, study, Role.CLINICIAN, Role.ADMIN)


def check_user_can_open(user: User, study: Study, object_type: str, object_id: str) -> None:
    """As `check_user_can_open_cases`, and no page guard objects
    (`accounts.registry.register_page_guard`).
    """
    check_user_can_open_cases(user, study)
    if reason := registry.veto(user, object_type, object_id):
        raise NotAllowed(reason)


def check_user_can_manage_study(user: User, study: Study) -> None:
    """Study admins: members, imports, runs."""
    check_user_has_role(user, study, Role.ADMIN)


def check_user_can_manage_person(user: User, person: User) -> None:
    """Raise NotAllowed unless the user manages all studies of the person.

    Who sets a person's password, or ends their sessions, acts in all their studies. Superusers are
    managed on the command line.
    """
    studies = list(Study.objects.filter(memberships__user=person).distinct())
    if person.is_superuser or not studies:
        raise NotAllowed("This account can only be changed on the command line.")
    for study in studies:
        check_user_can_manage_study(user, study)


def user_can_manage_person(user: User, person: User) -> bool:
    """Whether `check_user_can_manage_person` passes."""
    try:
        check_user_can_manage_person(user, person)
    except NotAllowed:
        return False
    return True


def user_has_role(user: User, study: Study, *roles: Role) -> bool:
    """Whether `check_user_has_role` passes."""
    try:
        check_user_has_role(user, study, *roles)
    except NotAllowed:
        return False
    return True


def user_can_open_cases(user: User, study: Study) -> bool:
    """Whether `check_user_can_open_cases` passes."""
    return user_has_role(user, study, *CASE_READERS)


def user_can_manage_study(user: User, study: Study) -> bool:
    """Whether `check_user_can_manage_study` passes."""
    return user_has_role(user, study, Role.ADMIN)
