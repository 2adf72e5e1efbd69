"""Accounts and roles that the provider gives, and takes away.

`by=None`: the provider decides, not a person here.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import Q

from accounts.audit.trail import record
from accounts.models import Membership, Role, Study, User
from accounts.permissions import NotAllowed

logger = logging.getLogger(__name__)
#: What Django's own user names may not contain.
_ODD = re.compile(r"[^\w.@+-]")
_LONGEST = 140


@transaction.atomic
def create_provider_account(
    *, issuer: str, subject: str, username: str, by: User | None
) -> SocialAccount:
    """Create the account of a person whom the provider names by `subject`.

    It has no password here. A user name that is taken gets a number: the accounts are never joined.
    """
    user = User(username=_free_name(username))
    user.set_unusable_password()
    user.full_clean(exclude=["password"])
    user.save()
    account = SocialAccount.objects.create(user=user, provider=issuer, uid=subject)
    record(
        actor=by,
        study=None,
        action="account.create",
        object_type="accounts.user",
        object_id=user.public_id,
        detail={"origin": "provider"},
    )
    return account


@transaction.atomic
def connect_account(*, user: User, issuer: str, subject: str, by: User) -> None:
    """Let the person sign in at the provider from now on, not by password.

    Their second steps, tokens and other sessions end with the password. Raises NotAllowed if it is
    not their own account, or already connected, or the provider's person has another one.
    """
    known = SocialAccount.objects.filter(Q(user=user) | Q(uid=subject), provider=issuer)
    if by.pk != user.pk or not user.has_usable_password() or known.exists():
        raise NotAllowed("These two accounts cannot be connected.")
    SocialAccount.objects.create(user=user, provider=issuer, uid=subject)
    Authenticator.objects.filter(user=user).delete()
    user.set_unusable_password()
    user.must_change_password = False
    user.save(update_fields=["password", "must_change_password"])
    record(
        actor=by,
        study=None,
        action="account.connect",
        object_type="accounts.user",
        object_id=user.public_id,
        detail={"origin": "provider"},
    )


@transaction.atomic
def provide_roles(*, user: User, roles: Collection[tuple[str, str]], by: User | None) -> None:
    """Give the person exactly these (study, role) pairs as the provider's.

    Roles that were given by hand stay, also if the provider gives them too. A study may lose its
    last admin by this: the provider's word counts, and the command line can name another.
    """
    # two sign-ins of one person take turns
    User.objects.select_for_update(of=("self",), no_key=True).get(pk=user.pk)
    names = {study for study, _ in roles}
    studies = {study.name: study for study in Study.objects.filter(name__in=names)}
    if missing := len(names - set(studies)):
        logger.warning("OIDC_ROLES names studies that do not exist", extra={"studies": missing})
    wanted = {(studies[study].pk, role) for study, role in roles if study in studies}
    for membership in Membership.objects.filter(user=user, provided=True).select_related("study"):
        if (membership.study_id, membership.role) not in wanted:
            membership.delete()
            _audit("member.remove_role", membership, by)
    for study_id, role in sorted(wanted):
        membership, created = Membership.objects.get_or_create(
            study_id=study_id, user=user, role=Role(role), defaults={"provided": True}
        )
        if created:
            _audit("member.add_role", membership, by)


def update_email(*, user: User, email: str) -> None:
    """Store the address that the provider has now, unless it is none."""
    try:
        validate_email(email)
    except ValidationError:
        return
    if email != user.email:
        user.email = email
        user.save(update_fields=["email"])


def _free_name(wanted: str) -> str:
    base = _ODD.sub("", wanted)[:_LONGEST] or "person"
    taken = {
        name.casefold()
        for name in User.objects.filter(username__istartswith=base).values_list(
            "username", flat=True
        )
    }
    names = (base, *(f"{base}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name.casefold() not in taken)


def _audit(action: str, membership: Membership, by: User | None) -> None:
    record(
        actor=by,
        study=membership.study,
        action=action,
        object_type="accounts.user",
        object_id=membership.user.public_id,
        detail={"role": str(membership.role), "origin": "provider"},
    )
