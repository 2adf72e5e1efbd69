"""A real OpenID Connect provider on this machine, and its people."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import requests
from django.test import Client
from oidc_provider_mock import run_server_in_thread

from accounts.provider.values import GroupRole, Provider

SECRET = "a-client-secret-of-the-tests"


@dataclass
class Organisation:
    """The provider, with the people it knows.

    `extra` are claims that every next token has.
    """

    issuer: str
    extra: dict[str, Any] = field(default_factory=dict)

    def settings(self, *roles: GroupRole, **changed: Any) -> Provider:
        """Return settings for this provider, as the operator would write them."""
        known = {
            "issuer": self.issuer,
            "client_id": "occurrent",
            "client_secret": SECRET,
            "name": "Example Hospital",
            "roles": roles,
        }
        return Provider(**{**known, **changed})

    def know(self, subject: str, **claims: Any) -> None:
        """Store a person there; a claim `groups` is a list."""
        sent = {"preferred_username": subject, **claims}
        answer = requests.put(f"{self.issuer}/users/{subject}", json=sent, timeout=10)
        answer.raise_for_status()

    def decide(self, address: str, subject: str, *, action: str = "") -> str:
        """Authenticate there as the person; return where the browser is sent."""
        sent = {"sub": subject, "action": action}
        answer = requests.post(address, data=sent, allow_redirects=False, timeout=10)
        assert answer.status_code == 302, answer.text
        return answer.headers["Location"]


@contextmanager
def run_organisation() -> Iterator[Organisation]:
    """Run the provider until the block ends."""
    with run_server_in_thread() as server:
        yield Organisation(f"http://localhost:{server.server_port}")


def find_address(page: Any) -> str:
    """Return where a page sends the browser on to."""
    assert page.status_code == 200, page.content
    found = re.search(r'http-equiv="refresh" content="0; url=([^"]*)"', page.text)
    assert found, page.text
    return unescape(found[1])


def asked(address: str) -> dict[str, str]:
    """Return the parameters of a request to the provider."""
    return dict(parse_qsl(urlsplit(address).query))


def come_back(client: Client, address: str) -> Any:
    """Follow the provider's redirect to us."""
    parts = urlsplit(address)
    return client.get(f"{parts.path}?{parts.query}")


def sign_in_at(organisation: Organisation, client: Client, subject: str, **form: str) -> Any:
    """Sign a person in through the provider; return our last answer."""
    address = find_address(client.post("/sign-in/provider/", form))
    return come_back(client, organisation.decide(address, subject))


def now() -> int:
    """Return the time as tokens have it."""
    return int(time.time())
