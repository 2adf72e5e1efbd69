"""End sessions here when the provider says that a person signed out there.

OpenID Connect Back-Channel Logout 1.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allauth.usersessions.models import UserSession
from django.contrib.sessions.backends.db import SessionStore
from django.db import transaction

from accounts.audit.trail import record
from accounts.models import User
from accounts.provider.tokens import TokenRefused

#: Where the session has what the sign-out at the provider needs.
ID_TOKEN, PROVIDER_SESSION = "provider_id_token", "provider_session"
EVENT = "http://schemas.openid.net/event/backchannel-logout"


def read_logout(claims: Mapping[str, Any]) -> tuple[str, str]:
    """Return the subject and the session that ended; one of them may be "".

    Raises TokenRefused for a token of another kind, for example one of a sign-in.
    """
    events = claims.get("events")
    subject, session = claims.get("sub", ""), claims.get("sid", "")
    if not isinstance(events, dict) or EVENT not in events or "nonce" in claims:
        raise TokenRefused("this is no token of a sign-out")
    if not (isinstance(subject, str) and isinstance(session, str) and (subject or session)):
        raise TokenRefused("the token names neither a person nor a session")
    return subject, session


@transaction.atomic
def end_provider_sessions(*, issuer: str, subject: str, session: str, by: User | None) -> int:
    """End the sessions of the subject, or the named one; return how many."""
    found = UserSession.objects.filter(user__socialaccount__provider=issuer)
    if subject:
        found = found.filter(user__socialaccount__uid=subject)
    ended = [
        one
        for one in found.select_related("user")
        if not session or SessionStore(one.session_key).get(PROVIDER_SESSION) == session
    ]
    for one in ended:
        record(
            actor=by,
            study=None,
            action="session.end",
            object_type="accounts.user",
            object_id=one.user.public_id,
            detail={"sessions": 1, "origin": "provider"},
        )
        one.end()
    return len(ended)
