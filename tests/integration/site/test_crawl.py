"""Follow every link and GET form of a demo, for each role.

Nothing is broken, nothing logs an error.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import replace

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Role
from adjudication.access.asking import accept_exposure
from adjudication.models import Assignment, Packet
from adjudication.packets import actions as packets
from ehr.models import Encounter
from tests import factories
from tests.paths import DEMO
from tests.support.crawler import Answer, Visit, crawl, select_shapes
from tests.worlds.demo_world import Demo, make_demo

pytestmark = pytest.mark.django_db(transaction=True)

#: Who crawls, and from where.
PEOPLE = {
    "anonymous": "/",
    "admin": "/",
    "clinician": "/",
    "author": "/",
    "reviewer": "/",
    "adjudicator": "/",
    "both": "/",
    "superuser": "/admin/",
    "nobody": "/",
}
#: Where an answer of 400 or above is right: (shape, person) → (status, why).
EXPECTED: dict[tuple[str, str], tuple[int, str]] = {
    **{
        ("/cases/find/", person): (405, "a script posts there; searched words are in no address")
        for person in ("admin", "clinician", "author", "both")
    },
    ("/cases/{id}/", "author"): (403, "the author's own unaided draft closes the case to them"),
    ("/cases/{id}/", "both"): (403, "the record stays open to a reviewer, the case is closed"),
    ("/cases/{id}/agreement/", "author"): (
        403,
        "one author alone has submitted; a sentence says so",
    ),
    ("/review/{id}/next/", "both"): (405, "a script posts there; the page carries the address"),
    ("/review/{id}/undo/", "both"): (405, "a script posts there; the page carries the address"),
    **{
        ("/review/{id}/practice/undo/", person): (405, "a script posts there")
        for person in ("reviewer", "adjudicator", "both")
    },
}


def make_asker(client: Client):
    """The test client as the crawler asks it."""

    def ask(address: str) -> Answer:
        response = client.get(address)
        body = b"".join(response) if response.streaming else response.content
        kind = response.headers.get("Content-Type", "")
        text = body.decode("utf-8", "replace") if kind.startswith("text/html") else ""
        return Answer(response.status_code, kind, text, response.headers.get("Location", ""))

    return ask


def crawl_person(demo: Demo, person: str, *, each: int, narrowed: int = 100) -> list[Visit]:
    client = Client(raise_request_exception=False)
    if person == "clinician":
        # They could review the packet: they are asked, and open its cases.
        for case in Encounter.objects.filter(dataset__study=demo.study):
            accept_exposure(by=demo.people[person], case_ids=[case.public_id])
    if person != "anonymous":
        client.force_login(demo.people[person])
    return crawl(make_asker(client), PEOPLE[person], each=each, narrowed=narrowed)


def faults(visits: list[Visit], person: str) -> list[str]:
    """What answered otherwise than it should."""
    found = []
    for visit in visits:
        status, _ = EXPECTED.get((visit.shape, person), (0, ""))
        if visit.status >= 400 and visit.status != status:
            found.append(
                f"{person}: {visit.status} {visit.address} ({visit.shape}), linked on {visit.found_on}"
            )
    return found


def add_second_role(demo: Demo) -> Demo:
    """Add a clinician who reviews the packet, so that cases are closed."""
    both = factories.make_user(demo.study, Role.CLINICIAN, Role.REVIEWER, username="both")
    packet = Packet.objects.get(study=demo.study)
    packets.assign(packet=packet, person=both, by=demo.people["admin"])
    Assignment.objects.filter(person=both).update(practised_at=timezone.now())
    return replace(demo, people={**demo.people, "both": both})


def check(demo: Demo, caplog, people: Mapping[str, int], *, each: int) -> None:
    """Crawl as each person, with so many combinations of parameters."""
    caplog.set_level(logging.WARNING)
    wrong: list[str] = []
    for person, narrowed in people.items():
        started = time.monotonic()
        visits = crawl_person(demo, person, each=each, narrowed=narrowed)
        wrong += faults(visits, person)
        print(
            person,
            len(visits),
            "addresses",
            len({v.shape for v in visits}),
            "shapes",
            round(time.monotonic() - started, 1),
            "s",
        )
        assert len(select_shapes(visits)) >= (1 if person == "anonymous" else 3)
    errors = [f"{r.name}: {r.getMessage()}" for r in caplog.records if r.levelno >= logging.ERROR]
    assert not wrong, "\n".join(wrong)
    assert not errors


@pytest.mark.xdist_group("demo")  # one worker builds the world for both
def test_nothing_that_a_page_links_to_is_broken(caplog):
    # The author of a draft reaches what other clinicians reach, but for one closed case. An admin
    # reaches nearly every list that can be narrowed.
    people = {person: 1 for person in PEOPLE if person != "author"} | {"admin": 2}
    check(add_second_role(make_demo()), caplog, people, each=1)


@pytest.mark.deep
def test_nothing_that_the_cohort_links_to_is_broken(caplog):
    demo = make_demo(DEMO / "cohort", ("29281842", "27882036", "24181354"))
    check(add_second_role(demo), caplog, dict.fromkeys(PEOPLE, 100), each=12)
