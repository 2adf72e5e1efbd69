"""End sessions: one's own, and those of a person one manages."""

from __future__ import annotations

from django.db import transaction

from accounts.audit.trail import record
from accounts.models import User
from accounts.permissions import check_user_can_manage_person
from accounts.sessions.stored import end_stored_sessions


@transaction.atomic
def end_sessions(
    *, user: User, by: User | None, number: int | None = None, keep_key: str | None = None
) -> int:
    """End the person's sessions, or the one with that number; return how many.

    `keep_key` is the session that stays, usually the one that asks. Raises NotAllowed for anyone
    but the person, a superuser and an admin of all their studies.
    """
    if by is not None and by.pk != user.pk and not (by.is_superuser and by.is_active):
        check_user_can_manage_person(by, user)
    ended = end_stored_sessions(user, number=number, keep_key=keep_key)
    if ended:
        record(
            actor=by,
            study=None,
            action="session.end",
            object_type="accounts.user",
            object_id=user.public_id,
            detail={"sessions": ended},
        )
    return ended
