"""Every address × everyone.

An address of ours without a row fails the test: add it to `tests/integration/site/matrix/<app>.py`.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy, deepcopy
from dataclasses import dataclass, replace
from html import unescape
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest
from django.db import transaction
from django.db.models import Max, Model
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from accounts.models import AuditEvent, User
from adjudication.access.exposure import EXPOSING
from adjudication.models import Finding
from ehr.models import Encounter, EventSeries, Note, SourceRow
from ehr.presentation.wording import hours_words
from tests import factories
from tests.integration.site import matrix
from tests.integration.site.matrix.ehr import find_encounter
from tests.integration.site.matrix.world import PEOPLE, SIGN_IN, TIMES, Row, World, make_world
from timelines.models import Entry, Occurrence

#: Not ours: the admin site has its own test (tests/integration/accounts/test_admin.py).
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
    """A person's response, and its events in the trail.

    SIGN_IN in place of a status is a redirect to the sign-in page. The text has no tags; the
    content has the plot's data, too.
    """

    answer: int | str
    text: str
    content: str
    events: list[AuditEvent]


def send_request(client: Client, row: Row, path: str, world: World) -> Reply:
    """Ask for the address. Nothing may store any answer."""
    data = dict(row.data(world))
    last = AuditEvent.objects.aggregate(last=Max("pk", default=0))["last"]
    response = getattr(client, row.method)(path, data=data)
    assert response["Cache-Control"] == "no-store"
    content = b"".join(response.streaming_content) if response.streaming else response.content
    events = list(AuditEvent.objects.filter(pk__gt=last))
    if response.status_code == 200 and is_download(response):
        assert events, f"{row.name}: the trail does not name this download"
    return Reply(classify_answer(response), *extract_texts(content), events)


#: What is shown or read by a script, and no file. Pages that show figures are recorded themselves.
SHOWN = ("text/html", "application/json", "application/vnd.oai.openapi", "image/svg+xml")


def is_download(response: Any) -> bool:
    """Return True for a file: by its header, or by its kind."""
    kind = response.get("Content-Type", "text/html")
    stated = response.get("Content-Disposition", "")
    return stated.startswith("attachment") or not kind.startswith(SHOWN)


def extract_texts(content: bytes) -> tuple[str, str]:
    """Return a response's text without tags, and all of it."""
    raw = content.decode(errors="replace")
    return unescape(re.sub(r"<[^>]*>", "", raw)), unescape(raw)


def classify_answer(response: Any) -> int | str:
    if response.status_code == 302 and response["Location"].startswith(
        f"{reverse('accounts:sign_in')}?next="
    ):
        return SIGN_IN
    return response.status_code


def test_every_address_is_in_the_matrix():
    known = {row.name for row in rows()}
    addresses = set(list_names(get_resolver().url_patterns))
    assert sorted(addresses - known) == [], (
        "addresses without a row in tests/integration/site/matrix"
    )
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
    # What is there to be shown is the same for everyone, except where asking may store more.
    secrets = load_secrets() if row.method == "get" else None
    received = {}
    for person in PEOPLE:
        with undo():
            answer = send_request(copy_client(clients[person]), row, path, world)
            received[person] = answer.answer
            check_trail(answer, row, world.people.get(person), secrets)
    return received


def copy_client(client: Client) -> Client:
    """Return a client with cookies of its own and the same middleware."""
    own = copy(client)
    own.cookies = deepcopy(client.cookies)
    return own


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
    "note.search",
    "note.open",
    "record.open",
    "record.search",
    "record.rows",
    "review.item",
    "review.rows",
    "review.timelines",
    "review.search",
    "review.answers",
} | {f"authoring.{name}" for name in ("open", "history", "rows", "download")}
#: The same for readings that may show times of timelines: exposing ones, one's own writing, and
#: blinded items.
UNBLINDING = READING - {
    "note.open",
    "note.search",
    "record.open",
    "record.search",
    "record.rows",
    "review.rows",
}
#: Addresses that show times of timelines, some only as data of a plot.
SHOWS_TIMES = {
    "timelines:case",
    "timelines:occurrence",
    "timelines:agreement",
    "adjudication:findings",
    "adjudication:finding",
    "adjudication:compare",
    "adjudication_api:finding",
    "adjudication_api:comparison",
    "cohorts:as_of_case",
    "cohorts:as_of_cell",
    "cohorts:leakage_check",
    "cohorts_api:case_as_of",
    "cohorts_api:as_of_cells",
    "cohorts_api:leakage_leaks",
}
#: Made-up cases that come with the application.
MADE_UP = {"adjudication:review_practice_case", "adjudication_api:review_practice_case"}


@dataclass(frozen=True)
class Secrets:
    """The words and times of cases, each with the cases' public ids."""

    words: Mapping[str, set[str]]
    times: Mapping[float, set[str]]


def load_secrets() -> Secrets:
    return Secrets(clinical_words(), unblinded_times())


def check_trail(
    found: Reply, row: Row, person: User | None, secrets: Secrets | None = None
) -> None:
    """Check that the trail names every case whose words or times are shown.

    A page without them marks nobody as exposed, nor does a case that is not shown. Without
    `secrets`, they are read from the database.
    """
    events = [event for event in found.events if event.actor == person]
    if found.answer != 200:
        assert not {event.action for event in events} & set(EXPOSING), (
            "a refusal marks nobody as exposed"
        )
        return
    read = find_recorded_cases([event for event in events if event.action in READING])
    unblinding = find_recorded_cases([event for event in events if event.action in UNBLINDING])
    if row.name in MADE_UP:
        return
    secrets = secrets or load_secrets()
    words = find_shown(found, secrets.words, find_word)
    times = find_shown(found, secrets.times, find_time)
    assert times or row.name not in SHOWS_TIMES, f"no time of a timeline was found in {row.name}"
    for shown, recorded in ((words, read), (times, unblinding)):
        missed = {what: sorted(cases) for what, cases in shown.items() if not cases & recorded}
        assert not missed, f"{row.name} shows {missed} without a trace; recorded: {recorded}"
    known = set(Encounter.objects.values_list("public_id", flat=True))
    assert read <= known, f"{row.name} records cases that do not exist: {read - known}"


def find_recorded_cases(events: Iterable[AuditEvent]) -> set[str]:
    """Return the public ids of the cases that the events name.

    An event about a person's own answers names their assignment instead.
    """
    cases = set()
    for event in events:
        if event.object_type == "ehr.encounter":
            cases.add(event.object_id)
        elif event.object_type == "adjudication.assignment":
            path = "comparisons__games__findings__items__packet__assignments__public_id"
            found = Encounter.objects.filter(**{path: event.object_id})
            cases |= set(found.values_list("public_id", flat=True))
        else:
            cases.add(event.detail["case"])
    return cases


def find_shown(
    found: Reply, wanted: Mapping[Any, set[str]], is_in: Callable[[Reply, Any], bool]
) -> dict[Any, set[str]]:
    """Return the wanted things that a response shows, with their cases."""
    return {thing: cases for thing, cases in wanted.items() if is_in(found, thing)}


def find_word(found: Reply, word: str) -> bool:
    return word in found.text


def find_time(found: Reply, hours: float) -> bool:
    """Return whether a response has these hours, as data or in words."""
    number = rf"(?<![\d.]){re.escape(f'{abs(hours):g}')}(?![\d.])"
    return hours_words(hours) in found.text or re.search(number, found.content) is not None


def clinical_words() -> dict[str, set[str]]:
    """Return the words of every note, row, summary, timeline and finding.

    Each with the public ids of the cases that have it. A note counts by its lines and sentences.
    """
    words: dict[str, set[str]] = defaultdict(set)
    for model, (path, fields) in CLINICAL.items():
        for case, *values in model._default_manager.values_list(path, *fields):
            for value in values:
                for part in re.split(r"(?<=[.!?])\s+|\n", value or ""):
                    if len(part) > 3:
                        words[part].add(case)
    return words


def unblinded_times() -> dict[float, set[str]]:
    """Return the distinctive times of timelines, in hours, with their cases.

    Those with a fraction: small whole numbers are everywhere on a page.
    """
    times: dict[float, set[str]] = defaultdict(set)
    for case, hours in Entry.objects.values_list("timeline__encounter__public_id", "time"):
        if hours is not None and hours % 1:
            times[hours].add(case)
    return times


CLINICAL: Mapping[type[Model], tuple[str, tuple[str, ...]]] = {
    Note: ("encounter__public_id", ("text",)),
    SourceRow: ("encounter__public_id", ("value",)),
    EventSeries: ("encounter__public_id", ("summary",)),
    Occurrence: ("inventory__encounter__public_id", ("mention",)),
    Entry: ("timeline__encounter__public_id", ("event",)),
    Finding: ("game__comparison__encounter__public_id", ("a_event", "b_event")),
}


@pytest.mark.django_db
def test_what_shows_words_or_times_without_a_trace_is_found():
    """The check fails for a page that records nothing, or another case."""
    world = make_world()
    row = next(row for row in rows() if row.name == "timelines:chain")
    row.path(world)
    case, admin = find_encounter(world), world.people["admin"]
    other = factories.make_encounter(case.dataset, case_id="another")

    def event(action: str, public_id: str) -> AuditEvent:
        return AuditEvent.objects.create(
            actor=admin, study=world.study, action=action, object_type="ehr.encounter", object_id=public_id
        )  # fmt: skip

    seen, elsewhere = event("case.chain", case.public_id), event("case.chain", other.public_id)
    record = event("record.rows", case.public_id)
    words = make_reply("<p>Fell at home.")
    plot = make_reply(f'<div data-plot="{{&quot;t&quot;: {abs(TIMES[0])}}}"></div>')
    spoken = make_reply(f"<p>at {hours_words(TIMES[0])}</p>")
    for found in (words, plot, spoken):
        for events in ([], [elsewhere], [event("case.chain", "aaaaaaaaaaaa")]):
            with pytest.raises(AssertionError, match="without a trace"):
                check_trail(replace(found, events=events), row, admin)
        with pytest.raises(AssertionError, match="without a trace"):
            check_trail(replace(found, events=[seen]), row, world.people["clinician"])
        check_trail(replace(found, events=[seen]), row, admin)
    check_trail(replace(words, events=[record]), row, admin)
    with pytest.raises(AssertionError, match="without a trace"):
        check_trail(replace(plot, events=[record]), row, admin)
    with pytest.raises(AssertionError, match="marks nobody"):
        check_trail(replace(words, answer=404, events=[seen]), row, admin)


def make_reply(page: str) -> Reply:
    """A page without events."""
    return Reply(200, *extract_texts(page.encode()), [])
