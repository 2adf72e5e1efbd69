"""An invitation that a browser has opened, for the sign-in that follows."""

from __future__ import annotations

from django.http import HttpRequest

from accounts.invitations.actions import find_valid
from accounts.models import Invitation

_KEY = "invitation"


def remember(request: HttpRequest, invitation: Invitation) -> None:
    """Note the invitation in the session of someone who is not signed in."""
    if not request.user.is_authenticated:
        request.session[_KEY] = invitation.public_id


def is_invited(request: HttpRequest) -> bool:
    """Whether this browser has opened an invitation that is still valid."""
    known = request.session.get(_KEY, "")
    return bool(known) and find_valid().filter(public_id=known).exists()
