"""Invite a person to a study by a link; take the invitation; withdraw it."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from accounts.actions import AccountExists
from accounts.audit.trail import record
from accounts.models import Invitation, Membership, Role, Study, User
from accounts.permissions import check_user_can_manage_study


class InvitationEnded(Exception):
    """The invitation was used, withdrawn, or is too old."""

    log_safe = True


@transaction.atomic
def invite(*, study: Study, role: Role, label: str, by: User) -> tuple[Invitation, str]:
    """Create an invitation; return it and the secret of its link.

    The secret is not stored. Raises NotAllowed, and ValidationError for an empty or too long label.
    """
    check_user_can_manage_study(by, study)
    secret = secrets.token_urlsafe(32)
    invitation = Invitation(
        study=study,
        role=role,
        label=label.strip(),
        digest=make_digest(secret),
        invited_by=by,
        expires_at=timezone.now() + timedelta(days=settings.INVITATION_DAYS),
    )
    invitation.full_clean()
    invitation.save()
    _audit("invitation.create", invitation, by)
    return invitation, secret


@transaction.atomic
def withdraw(*, invitation: Invitation, by: User) -> bool:
    """End an invitation that nobody used; return False if it had ended.

    Raises NotAllowed.
    """
    check_user_can_manage_study(by, invitation.study)
    ended = find_valid().filter(pk=invitation.pk).update(ended_at=timezone.now()) > 0
    if ended:
        _audit("invitation.withdraw", invitation, by)
    return ended


@transaction.atomic
def accept(*, invitation: Invitation, by: User) -> None:
    """Give the person the role; the invitation ends. Raises InvitationEnded."""
    taken = find_valid().filter(pk=invitation.pk).update(ended_at=timezone.now(), used_by=by)
    if not taken:
        raise InvitationEnded("This invitation was used, withdrawn, or has expired.")
    membership, created = Membership.objects.get_or_create(
        study_id=invitation.study_id, user=by, role=invitation.role
    )
    if not created and membership.provided:
        # a person now vouches for the role, so that it outlasts the provider's group
        Membership.objects.filter(pk=membership.pk).update(provided=False)
    _audit("invitation.accept", invitation, by)


@transaction.atomic
def accept_with_new_account(*, invitation: Invitation, username: str, password: str) -> User:
    """Create the invited person's account and give it the role.

    Raises InvitationEnded, AccountExists, and ValidationError for an odd name or weak password.
    """
    if User.objects.filter(username__iexact=username).exists():
        raise AccountExists("That user name is taken.")
    user = User(username=username)
    user.full_clean(exclude=["password"])
    validate_password(password, user)
    user.set_password(password)
    user.save()
    record(
        actor=user,
        study=invitation.study,
        action="account.create",
        object_type="accounts.user",
        object_id=user.public_id,
        detail={"origin": "invitation"},
    )
    accept(invitation=invitation, by=user)
    return user


def find_valid() -> QuerySet[Invitation]:
    """Return the invitations that can still be used.

    They end with the power of the admin who wrote them.
    """
    power = Membership.objects.filter(
        study=OuterRef("study"), user=OuterRef("invited_by"), role=Role.ADMIN, user__is_active=True
    )
    return Invitation.objects.filter(
        Exists(power), ended_at__isnull=True, expires_at__gt=timezone.now()
    )


def find_by_secret(secret: str) -> Invitation | None:
    """Return the valid invitation of a link, or None."""
    return find_valid().select_related("study").filter(digest=make_digest(secret)).first()


def make_digest(secret: str) -> str:
    """Return what is stored of a link's secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _audit(action: str, invitation: Invitation, by: User) -> None:
    record(
        actor=by,
        study=invitation.study,
        action=action,
        object_type="accounts.invitation",
        object_id=invitation.public_id,
        detail={"role": str(invitation.role)},
    )
