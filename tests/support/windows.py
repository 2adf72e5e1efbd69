"""Give browser windows a session, and collect errors of their consoles."""

from __future__ import annotations

from django.conf import settings
from django.test import Client
from playwright.sync_api import BrowserContext, Page

from accounts.models import User


def sign_in(context: BrowserContext, person: User, url: str) -> None:
    """Give the windows of a context a new session of this person at a server."""
    client = Client()
    client.force_login(person)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": url}])


def collect_complaints(page: Page, complaints: list[str]) -> None:
    """Add the errors of the page's console and scripts to a list."""
    page.on(
        "console",
        lambda message: complaints.append(message.text) if message.type == "error" else None,
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
