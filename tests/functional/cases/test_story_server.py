"""The story's pins: who may pin, what is stored, what never changes."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.utils import DatabaseError

from accounts.models import AuditEvent, Role
from tests import factories
from tests.functional.cases.case_world import build_world
from timelines.models import StoryPin

pytestmark = pytest.mark.django_db


@pytest.fixture
def world():
    return build_world()


@pytest.fixture
def pin(world, client):
    client.force_login(world.clinician)

    def post(name: str, pinned: str = "1", timeline=world.revised):
        data = {"t": timeline.public_id, "pinned": pinned}
        path = f"{world.address}o/{world.uid(name)}/pin/"
        return client.post(path, data, headers={"HX-Request": "true"})

    return post


def test_a_pin_is_a_row_that_everyone_in_the_study_sees(world, pin, client):
    answer = pin("fall")
    assert answer.status_code == 200
    assert answer.templates[0].name == "timelines/cases/_story.html"
    assert [m.uid for m in answer.context["story"].pinned] == [world.uid("fall")]
    pin("fall")  # again: nothing new
    colleague = factories.make_user(world.study, Role.ADMIN)
    client.force_login(colleague)
    page = client.get(world.address)
    assert [m.uid for m in page.context["story"].pinned] == [world.uid("fall")]

    assert pin("fall", "0").context["story"].pinned == ()
    stored = StoryPin.objects.order_by("pk").values_list("occurrence__uid4", "pinned", "by")
    fall = world.uid("fall")
    assert list(stored) == [(fall, True, world.clinician.pk), (fall, False, colleague.pk)]
    events = AuditEvent.objects.filter(action__in=["case.pin", "case.unpin"]).order_by("pk")
    assert [(e.action, e.actor, e.detail["uid"]) for e in events] == [
        ("case.pin", world.clinician, fall),
        ("case.unpin", colleague, fall),
    ]


def test_text_of_the_note_stays_text_in_the_story(pin):
    content = pin("markup").content.decode()
    assert "&lt;script&gt;" in content
    assert "<script>" not in content
    assert "<img" not in content


@pytest.mark.parametrize("wrong", ["timeline", "occurrence", "study", "role", "method"])
def test_others_cannot_pin(world, pin, client, wrong):
    path, data = f"{world.address}o/{world.uid('fall')}/pin/", {"t": world.revised.public_id}
    expected = 404
    if wrong == "timeline":
        data = {"t": factories.make_study().name}
    elif wrong == "occurrence":
        path = f"{world.address}o/0000/pin/"
    elif wrong == "study":
        client.force_login(factories.make_user(factories.make_study(), Role.ADMIN))
    elif wrong == "role":
        client.force_login(factories.make_user(world.study, Role.REVIEWER))
        expected = 403
    answer = client.get(path) if wrong == "method" else client.post(path, {**data, "pinned": "1"})
    assert answer.status_code == (405 if wrong == "method" else expected)
    assert not StoryPin.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_pins_are_append_only(world, pin):
    pin("fall")
    for statement in (
        "UPDATE timelines_storypin SET pinned = NOT pinned",
        "UPDATE timelines_storypin SET at = now()",
        "DELETE FROM timelines_storypin",
    ):
        with (
            pytest.raises((IntegrityError, DatabaseError)),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)
    assert StoryPin.objects.count() == 1
    world.encounter.delete()
    assert StoryPin.objects.count() == 0
