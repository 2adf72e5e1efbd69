"""Ratings by the rules judge say which sources share its reading of notes."""

from __future__ import annotations

import pytest
from django.urls import reverse

from accounts.models import Role
from adjudication.models import JudgeRun
from tests import factories
from tests.worlds.judged import make_judged_world
from timelines.models import Timeline

pytestmark = pytest.mark.django_db(transaction=True)
WARNING = "Their errors are not independent"


def test_a_judge_is_no_witness_for_the_backbone_it_shares_its_reader_with(client):
    world = make_judged_world(cases=2)
    client.force_login(factories.make_user(world.study, Role.ADMIN))
    address = reverse("adjudication:dashboard", args=[world.run.public_id])
    assert WARNING not in client.get(address).content.decode()
    run = factories.make_run(world.dataset, source="rules-orion")
    made = factories.make_case_run(run, world.encounters[0])
    factories.change_past_guards(
        Timeline.objects.filter(encounter=world.encounters[0], source="rules-orion"), case_run=made
    )
    page = client.get(address).content.decode()
    assert WARNING in page
    assert "which made rules-orion · revised" in page
    factories.change_past_guards(JudgeRun.objects.filter(pk=world.run.pk), judge="prompted")
    assert WARNING not in client.get(address).content.decode()
