"""The three roles as groups, in step with memberships.

A person is in a group while they have that role in any study.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group

from accounts.models import Membership, Role, User

GROUP_OF_ROLE = {Role.CLINICIAN: "clinician", Role.REVIEWER: "reviewer", Role.ADMIN: "study admin"}


def create_groups(**kwargs: Any) -> None:
    """Make the groups that are missing (after every migrate)."""
    for name in GROUP_OF_ROLE.values():
        Group.objects.get_or_create(name=name)


def sync_groups(user: User) -> None:
    """Put the person into exactly the groups of their roles.

    Groups of other origin stay.
    """
    names = {
        GROUP_OF_ROLE[Role(role)]
        for role in Membership.objects.filter(user=user).values_list("role", flat=True)
    }
    for name in GROUP_OF_ROLE.values():
        group, _ = Group.objects.get_or_create(name=name)
        if name in names:
            user.groups.add(group)
        else:
            user.groups.remove(group)


def on_membership_change(instance: Membership, **kwargs: Any) -> None:
    """Sync groups after every change of a membership."""
    user = User.objects.filter(pk=instance.user_id).first()
    if user is not None:
        sync_groups(user)
