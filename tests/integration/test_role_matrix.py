"""Every address × everyone.

An address of ours without a row fails the test: add it to `tests/integration/matrix/<app>.py`.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from html import unescape
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest
from django.db import transaction
from django.db.models import Model
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from accounts.models import AuditEvent, User
from adjudication.access.exposure import EXPOSING
from adjudication.models import Finding
from ehr.models import EventSeries, Note, SourceRow
from tests.integration import matrix
from tests.integration.matrix.world import PEOPLE, SIGN_IN, Row, World, make_world
from timelines.models import Entry, Occurrence

#: Not ours: the admin site has its own test (tests/integration/test_accounts_admin.py).
FOREIGN_NAMESPACES = frozenset({"admin"})


def modules() -> dict[str, list[Row]]:
    """Return the rows of each module of the matrix that has any."""
    found = {
        module.name: import_module(f"{matrix.__name__}.{module.name}")
        for module in iter_modules(matrix.__path__)
    }
    return {name: module.ROWS for name, module in found.items() if hasattr(module, "ROWS")}


def rows() -> list[Row]:
    return [row for several in modules().values() for row in several]


def list_names(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[str]:
    """Yield the namespaced names of all patterns below.

    A pattern without a name is given by its route.
    """
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            if pattern.namespace not in FOREIGN_NAMESPACES:
                yield from list_names(
                    pattern.url_patterns,
                    f"{prefix}{pattern.namespace}:" if pattern.namespace else prefix,
                )
        else:
            yield f"{prefix}{pattern.name or pattern.pattern}"


@dataclass(frozen=True)
class Reply:
    """A person's response: status, text, and events in the trail.

    SIGN_IN in place of a status is a redirect to the sign-in page.
    """

    answer: int | str
    text: str
    events: list[AuditEvent]


def send_request(client: Client, row: Row, path: str, world: World) -> Reply:
    """Ask for the address. Nothing may store any answer."""
    data = dict(row.data(world))
    before = set(AuditEvent.objects.values_list("pk", flat=True))
    response = getattr(client, row.method)(path, data=data)
    assert response["Cache-Control"] == "no-store"
    content = b"".join(response.streaming_content) if response.streaming else response.content
    text = unescape(re.sub(r"<[^>]*>", "", content.decode(errors="replace")))
    return Reply(classify_answer(response), text, list(AuditEvent.objects.exclude(pk__in=before)))


def classify_answer(response: Any) -> int | str:
    if response.status_code == 302 and response["Location"].startswith(
        f"{reverse('accounts:sign_in')}?next="
    ):
        return SIGN_IN
    return response.status_code


def test_every_address_is_in_the_matrix():
    known = {row.name for row in rows()}
    addresses = set(list_names(get_resolver().url_patterns))
    assert sorted(addresses - known) == [], "addresses without a row in tests/integration/matrix"
    assert sorted(known - addresses) == [], "rows without an address"


def test_the_walk_over_the_addresses_finds_nested_and_nameless_ones():
    from django.http import HttpResponse
    from django.urls import include, path

    def view(request):
        return HttpResponse()

    inner = [path("a/", view, name="a"), path("b/", view)]
    assert list(list_names([path("x/", include((inner, "app"))), path("c/", view, name="c")])) == [
        "app:a",
        "app:b/",
        "c",
    ]


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.method} {row.name}")
def test_every_row_names_everyone(row):
    assert set(row.answers) == set(PEOPLE)


@pytest.mark.django_db
@pytest.mark.parametrize("module", modules())
def test_the_matrix(module):
    world = make_world()
    clients = {person: sign_in(world, person) for person in PEOPLE}
    received = []
    for row in modules()[module]:
        with undo():
            received.append((row.method, row.name, answers(row, world, clients)))
    assert received == [(row.method, row.name, dict(row.answers)) for row in modules()[module]]


def answers(row: Row, world: World, clients: Mapping[str, Client]) -> dict[str, int | str]:
    """Return what each person gets, and check the trail of each."""
    path = reverse(row.name, kwargs=dict(row.path(world)))
    received = {}
    for person in PEOPLE:
        with undo():
            answer = send_request(deepcopy(clients[person]), row, path, world)
            received[person] = answer.answer
            check_trail(answer, row, world.people.get(person))
    return received


@contextmanager
def undo() -> Iterator[None]:
    """Open a savepoint that is rolled back, so that all see the same world."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def sign_in(world: World, person: str) -> Client:
    """Return the person's client.

    For `two_studies`, the other study is the active one.
    """
    client = Client()
    if person != "anonymous":
        client.force_login(world.people[person])
    if person == "two_studies":
        study = {"study": world.other_study.public_id}
        assert client.post(reverse("accounts:switch_study"), study).status_code == 302
    return client


#: What the trail calls reading of a case, a blinded item, or a file or page that has them.
READING = {
    *EXPOSING,
    "record.open",
    "record.search",
    "record.rows",
    "review.item",
    "review.rows",
    "review.answers",
} | {f"authoring.{name}" for name in ("open", "history", "rows", "download")}
#: Made-up cases that come with the application.
MADE_UP = {"adjudication:review_practice_case", "adjudication_api:review_practice_case"}


def check_trail(found: Reply, row: Row, person: User | None) -> None:
    """Check that a page with clinical words is in the trail.

    A page without clinical words marks nobody as exposed.
    """
    recorded = {event.action for event in found.events if event.actor == person}
    if found.answer != 200:
        assert not recorded & set(EXPOSING), "a refusal marks nobody as exposed"
        return
    shown = sorted(word for word in clinical_words() if word in found.text)
    assert not shown or recorded & READING or row.name in MADE_UP, (
        f"{row.name} shows {shown} without a trace"
    )


def clinical_words() -> set[str]:
    """Words of every note, row, summary, timeline and finding there is."""
    words: set[str] = set()
    for model, fields in CLINICAL.items():
        for values in model._default_manager.values_list(*fields):
            words |= {value for value in values if value and len(value) > 3}
    return words


CLINICAL: Mapping[type[Model], tuple[str, ...]] = {
    Note: ("text",),
    SourceRow: ("value",),
    EventSeries: ("summary",),
    Occurrence: ("mention",),
    Entry: ("event",),
    Finding: ("a_event", "b_event"),
}


@pytest.mark.django_db
def test_what_shows_words_without_a_trace_is_found():
    """The check of the trail fails for a page that records nothing."""
    world = make_world()
    row = next(row for row in rows() if row.name == "timelines:chain")
    row.path(world)
    found = Reply(200, "<p>Fell at home.", [])
    with pytest.raises(AssertionError, match="without a trace"):
        check_trail(found, row, world.people["admin"])
    seen = AuditEvent.objects.create(
        actor=world.people["admin"], study=world.study, action="case.chain"
    )
    check_trail(replace(found, events=[seen]), row, world.people["admin"])
    with pytest.raises(AssertionError, match="marks nobody"):
        check_trail(replace(found, answer=404, events=[seen]), row, world.people["admin"])
