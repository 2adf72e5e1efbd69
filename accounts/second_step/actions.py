"""Remove the second step of a person who has lost it."""

from __future__ import annotations

from allauth.mfa.models import Authenticator
from django.db import transaction

from accounts.audit.trail import record
from accounts.models import User
from accounts.permissions import check_user_can_manage_person


@transaction.atomic
def remove_second_steps(*, user: User, by: User | None) -> int:
    """Remove the person's apps, passkeys and recovery codes; return how many.

    The password alone then signs in. Raises NotAllowed unless `by` manages every study the person
    is in.
    """
    if by is not None:
        check_user_can_manage_person(by, user)
    removed, _ = Authenticator.objects.filter(user=user).delete()
    if removed:
        record(
            actor=by,
            study=None,
            action="account.remove_second_steps",
            object_type="accounts.user",
            object_id=user.public_id,
        )
    return removed
