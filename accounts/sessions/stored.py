"""The sessions of a person, as django-allauth notes them at each sign-in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from allauth.usersessions.models import UserSession
from django.contrib.sessions.backends.db import SessionStore

from accounts.models import User
from accounts.requests.middleware import ACTIVE

#: What a browser calls itself, and what people call it. The first that fits counts.
_BROWSERS = (
    ("Edg/", "Edge"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"),
    ("Mac OS", "macOS"), ("Linux", "Linux"),
)  # fmt: skip


@dataclass(frozen=True)
class SessionLine:
    """One session of a person."""

    number: int
    browser: str
    address: str
    started_at: datetime
    active_at: datetime
    is_current: bool


def find_sessions(user: User, current_key: str | None = None) -> list[SessionLine]:
    """Return the person's sessions, the last active one first."""
    lines = [_line(one, current_key) for one in UserSession.objects.purge_and_list(user)]
    return sorted(lines, key=lambda line: line.active_at, reverse=True)


def end_stored_sessions(
    user: User, *, number: int | None = None, keep_key: str | None = None
) -> int:
    """End the person's sessions, or one of them; return how many ended.

    The session with `keep_key` stays.
    """
    found: Iterable[Any] = UserSession.objects.filter(user_id=user.pk)
    ended = [one for one in found if number in (None, one.pk) and one.session_key != keep_key]
    for one in ended:
        one.end()
    return len(ended)


def name_browser(agent: str) -> str:
    """Return "Firefox on Windows", or the first words of what was sent."""
    browser = next((name for sign, name in _BROWSERS if sign in agent), "")
    system = next((name for sign, name in _SYSTEMS if sign in agent), "")
    return " on ".join(filter(None, (browser, system))) or agent[:40] or "unknown"


def _line(stored: Any, current_key: str | None) -> SessionLine:
    seen = SessionStore(stored.session_key).get(ACTIVE)
    return SessionLine(
        number=stored.pk,
        browser=name_browser(stored.user_agent),
        address=stored.ip,
        started_at=stored.created_at,
        active_at=datetime.fromtimestamp(seen, UTC) if seen else stored.created_at,
        is_current=stored.session_key == current_key,
    )
