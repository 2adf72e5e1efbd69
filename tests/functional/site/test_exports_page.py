"""The list of exports on a phone: state and download are in view."""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from accounts.models import Role
from jobs.models import JobState
from tests import factories
from timelines.models import Export

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WIDTH, TALLEST = 390, 180


def test_state_and_download_are_in_view_on_a_phone(enter, page, world, complaints):
    admin = factories.make_user(world.study, Role.ADMIN)
    facts = {"study": world.study, "dataset": world.encounter.dataset, "created_by": admin}
    done = {"state": JobState.SUCCEEDED, "finished_at": timezone.now(), "sha256": "a" * 64}
    Export.objects.create(**facts, **done, format="csv", lines=12_345, size=9_000_000)
    Export.objects.create(**facts, format="label_studio", state=JobState.QUEUED)
    enter(page, admin, "/exports/")
    page.set_viewport_size({"width": WIDTH, "height": 844})
    table = page.get_by_role("region", name="Table of exports")
    assert table.evaluate("(box) => box.scrollWidth <= box.clientWidth")
    for shown in (
        table.get_by_text("Done", exact=True),
        table.get_by_text("Queued", exact=True),
        table.get_by_role("link", name="Download"),
    ):
        expect(shown).to_be_visible()
        box = shown.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= WIDTH
    heights = page.locator(".exports tbody tr").evaluate_all(
        "(rows) => rows.map((row) => row.getBoundingClientRect().height)"
    )
    assert max(heights) < TALLEST
    assert complaints == []
