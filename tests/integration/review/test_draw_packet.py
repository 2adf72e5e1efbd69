"""`manage.py draw_packet` draws, assigns and opens, or does nothing."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Role
from adjudication.models import Packet, Slot
from tests import factories
from tests.worlds.judged import make_judged_world

pytestmark = pytest.mark.django_db(transaction=True)


def draw(**options):
    out = StringIO()
    call_command("draw_packet", stdout=out, **options)
    return out.getvalue()


def test_a_packet_is_drawn_assigned_and_opened():
    world = make_judged_world(cases=2)
    admin, reviewer = (
        factories.make_user(world.study, Role.ADMIN),
        factories.make_user(world.study, Role.REVIEWER),
    )
    asked = {
        "label": "sample",
        "by": admin.username,
        "reviewer": [reviewer.username],
        "open": True,
        "once": True,
    }
    output = draw(**asked)
    packet = Packet.objects.get()
    assert f"packet {packet.public_id}: {packet.items.count()} items from 2 cases" in output
    assert re.search(
        r"short: TIMING decisive of author:vega · revised \| rules-orion · revised: \d of 15",
        output,
    )
    assert packet.state == Packet.State.OPEN
    assert Slot.objects.filter(item__packet=packet).count() == packet.items.count()
    assert "drawn before" in draw(**asked)
    assert Packet.objects.count() == 1


def test_what_cannot_be_opened_is_not_drawn():
    world = make_judged_world(cases=1)
    admin = factories.make_user(world.study, Role.ADMIN)
    with pytest.raises(CommandError, match="0 assigned"):
        draw(label="sample", by=admin.username, open=True)
    assert not Packet.objects.exists()
    with pytest.raises(CommandError, match="no active account 'nobody'"):
        draw(label="sample", by="nobody")
    with pytest.raises(CommandError, match="administers no study"):
        draw(label="sample", by=factories.make_user(world.study, Role.CLINICIAN).username)
