"""Authors and drafts for tests, and requests as the editor sends them."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

from django.db import connection
from django.test import Client
from django.urls import reverse

from accounts.models import Role, User
from ehr.models import Encounter
from tests import factories
from timelines.authoring.actions import start_authoring
from timelines.models import Authoring

NOTE = "Fever for three days. Fell at home. CT showed a bleed. Given andexanet alfa 😀 in the ED. Discharged home."
_token = count(1)


def make_case(text: str = NOTE) -> Encounter:
    """A stay with that note, admitted 2131-02-24 14:38."""
    encounter = factories.make_encounter()
    factories.make_note(encounter, text)
    return encounter


def make_author(encounter: Encounter, *roles: Role, username: str = "") -> User:
    """A clinician of the case's study."""
    return factories.make_user(
        encounter.dataset.study, *(roles or (Role.CLINICIAN,)), username=username
    )


def make_draft(encounter: Encounter, author: User, protocol: str = "unaided") -> Authoring:
    """A draft just begun."""
    return start_authoring(encounter=encounter, protocol=Authoring.Protocol(protocol), by=author)[0]


def span(phrase: str, text: str = NOTE) -> dict[str, Any]:
    """The selection of a phrase, and the phrase as mention."""
    start = text.index(phrase)
    return {"start": start, "end": start + len(phrase), "mention": phrase}


def settle() -> None:
    """Check now what the database checks at the end of a transaction.

    A test is one transaction, while a visitor's requests are many.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")


class Page:
    """One open editor page: it knows the revision it last saw."""

    def __init__(self, authoring: Authoring, client: Client | None = None) -> None:
        self.client = client or Client()
        self.client.force_login(authoring.author)
        self.id = authoring.public_id
        self.revision = authoring.revision
        self.found: Any = None

    def post(self, name: str, body: Any, **path: Any) -> Any:
        address = reverse(f"timelines:authoring_{name}", kwargs={"public_id": self.id, **path})
        answer = self.client.post(address, json.dumps(body), content_type="application/json")
        settle()
        return answer

    def edit(self, kind: str, *, token: str = "", expect: int = 200, **rest: Any) -> Any:
        """Send an edit of this page's revision; return the response's JSON."""
        body = {
            "token": token or f"t{next(_token)}",
            "revision": self.revision,
            "kind": kind,
            **rest,
        }
        self.found = self.post("edits", body)
        assert self.found.status_code == expect, self.found.content
        answer = self.found.json()
        if expect == 200:
            self.revision = answer["revision"]
        return answer

    def add(self, phrase: str, text: str = NOTE, **values: Any) -> str:
        """Add an occurrence on a phrase; its UID."""
        return self.edit("add", values={**span(phrase, text), **values})["changed"][0]["uid"]
