"""The operator's page in a real browser.

It refreshes, and fits every width.

axe in both themes. Pictures go to ARTIFACTS (default `var/artifacts`), which is not committed.
"""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from accounts.models import User
from jobs.health.presence import Worker, report
from jobs.leases.clock import database_time
from jobs.models import Webhook, WebhookDelivery
from tests import factories
from tests.functional.site.test_model_pages import ARTIFACTS, check_looks
from tests.support.broker import empty_broker
from tests.worlds.job_rows import stage_row, stage_rows
from timelines.models import Run, StageRun

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WIDTHS = (1440, 820, 390)


@pytest.fixture
def operator(services, settings) -> User:
    settings.FREE_DISK_BYTES = 0
    empty_broker()
    return User.objects.create_user("operator", is_superuser=True)


@pytest.fixture
def busy() -> None:
    """Jobs that wait without a worker, a lost one and failed ones."""
    stage_rows(7)
    Run.objects.update(backbone="prompted")
    lost = stage_row(state="running", lease_expires_at=database_time())
    StageRun.objects.filter(pk=lost.pk).update(lease_expires_at="2020-01-01T00:00Z")
    stage_row(
        state="failed",
        finished_at=timezone.now(),
        reasons=["attempt 3: OutOfTime: it took longer than 1800 s. Raise STAGE_SECONDS"],
    )
    hook = Webhook.objects.create(
        study=factories.make_study("hooks"), url="https://receiver.example/", secret="s" * 64
    )
    WebhookDelivery.objects.create(
        webhook=hook,
        event="test",
        object_id="a" * 12,
        state="failed",
        finished_at=timezone.now(),
        reasons=["attempt 9: DeliveryFailed: the receiver answered 503"],
    )
    report(Worker("gpu-machine-2", 4711, ("embed", "judge", "pipeline"), "prefork", 4))


def test_the_page_names_what_is_wrong_and_refreshes(enter, page, operator, busy, complaints):
    enter(page, operator, "/operations/")
    expect(page.locator("#operations")).to_contain_text("No worker for generate.")
    expect(page.locator("#model-health table")).to_be_visible()
    check_looks(page, "operations")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.screenshot(path=ARTIFACTS / f"operations-{width}.png", full_page=True)
        wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        assert not page.evaluate(wide), width
    report(Worker("machine-one", 12, ("generate",), "threads", 8))
    expect(page.locator("#operations")).not_to_contain_text("No worker for")
    expect(page.locator("#operations")).to_contain_text("machine-one")
    page.get_by_role("button", name="Retry this WebhookDelivery").click()
    expect(page.locator(".messages")).to_contain_text("The job is queued again.")
    assert WebhookDelivery.objects.get().state == "queued"
    assert complaints == []
