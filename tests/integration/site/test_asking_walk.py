"""No address exposes a person to a case that they have to be asked about.

The walk takes every row of the role matrix. A question about every case stands for that about a
packet: what is asked when is in `tests/integration/review/test_asking.py`.
"""

from __future__ import annotations

from copy import deepcopy
from unittest import mock

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEvent
from accounts.registry import OpeningQuestion
from adjudication.access.exposure import EXPOSING
from tests.integration.site.matrix.world import Row, World, make_world
from tests.integration.site.test_role_matrix import rows, sign_in, undo

#: Some of the addresses that expose: without them the walk would show nothing.
EXPOSES = {
    "timelines:case",
    "timelines:occurrence",
    "timelines:chain",
    "timelines:agreement",
    "timelines:evaluation_case",
    "timelines:evaluation_funnel",
    "adjudication:compare",
    "adjudication:finding",
    "adjudication:findings",
    "adjudication:judge_game",
    "adjudication:findings_download",
    "adjudication_api:finding",
    "adjudication_api:comparison",
}


@pytest.mark.django_db
@pytest.mark.deep
def test_no_address_exposes_a_person_before_they_have_answered():
    world = make_world()
    exposing = set()
    for person in ("clinician", "admin"):
        client = sign_in(world, person)
        for row in rows():
            if row.answers[person] not in (200, 302):
                continue
            with undo():
                path = reverse(row.name, kwargs=dict(row.path(world)))
                data = dict(row.data(world))
                with undo():
                    if not _expose(client, row, path, data, world, person):
                        continue
                exposing.add(row.name)
                with _ask_always() as asked:
                    exposed = _expose(client, row, path, data, world, person)
                assert not exposed, f"{row.method} {row.name}: {exposed}"
                assert asked.called
    assert exposing >= EXPOSES, EXPOSES - exposing


def _ask_always():
    question = OpeningQuestion("Opening means something.", ())
    return mock.patch("timelines.access.asking.find_opening_question", return_value=question)


def _expose(
    client: Client, row: Row, path: str, data: dict[str, str], world: World, person: str
) -> set[str]:
    """Ask for the address; return the exposing actions that it recorded."""
    before = set(AuditEvent.objects.values_list("pk", flat=True))
    response = getattr(deepcopy(client), row.method)(path, data=data)
    if response.streaming:
        b"".join(response.streaming_content)
    events = AuditEvent.objects.exclude(pk__in=before).filter(
        actor=world.people[person], action__in=EXPOSING
    )
    return set(events.values_list("action", flat=True))
