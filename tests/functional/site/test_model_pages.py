"""Models, a run's calls and a whole call in a real browser.

Fragments load under the content security policy; axe in both themes. Pictures go to ARTIFACTS
(default `var/artifacts`), which is not committed.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.db import connections
from playwright.sync_api import Page, expect

from accounts.models import Role
from llm_runtime import views
from llm_runtime.base import ModelRequest
from llm_runtime.models import ModelCall
from llm_runtime.servers import health
from tests import factories
from tests.model_server import ModelServer
from tests.unit.timelines.prompted.answers import make_good_answer
from tests.worlds.prompted import finish_run, small_dataset, use_server
from timelines.models import Run
from timelines.pipeline.config import PipelineConfig
from timelines.runs import actions

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

MARKUP = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>'
ARTIFACTS = Path(os.environ.get("ARTIFACTS", settings.BASE_DIR / "var" / "artifacts"))


@pytest.fixture
def server(monkeypatch):
    """Serve every role; the first inference is refused once.

    The refused answer has markup in it.
    """

    def answer(request: ModelRequest, number: int) -> str:
        infers = (
            request.schema is not None
            and "row" in request.schema.get("$defs", {})
            and "timelines" not in request.schema["properties"]
        )
        return MARKUP if infers and request.seed == 1 else make_good_answer(request)

    with ModelServer(answer) as running:
        roles = use_server(monkeypatch, running)
        monkeypatch.setattr(views, "configured_roles", lambda: roles)
        monkeypatch.setattr(health, "PATIENCE", 60.0)
        yield running


@pytest.fixture
def run(server) -> Run:
    """Run a case in a separate thread, as a worker would.

    The browser's event loop occupies this one.
    """

    def work() -> Run:
        try:
            started = actions.start_run(
                dataset=small_dataset(),
                backbone="prompted",
                config=PipelineConfig(alternatives=1),
                by=None,
            )
            return finish_run(started)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as worker:
        return worker.submit(work).result()


def check_looks(page: Page, name: str) -> None:
    """A picture and axe, in both themes."""
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.screenshot(path=ARTIFACTS / f"{name}-{theme}.png", full_page=True)
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def test_models_a_runs_calls_and_one_call(run, enter, page):
    admin = factories.make_user(run.study, Role.ADMIN)
    enter(page, admin, "/models/")
    expect(page.locator("#model-health")).to_contain_text("reachable")
    expect(page.locator("#model-health")).to_contain_text("32768")
    check_looks(page, "models")
    page.get_by_role("button", name="Check again").click()
    expect(page.locator("#model-health")).to_contain_text("reachable")

    page.goto(page.url.replace("/models/", f"/runs/{run.public_id}/"))
    expect(page.locator("#run-calls tfoot")).to_contain_text(str(ModelCall.objects.count()))
    expect(page.locator("#run-calls")).to_contain_text("1 refused by the check")
    page.get_by_text("By case").click()
    check_looks(page, "run-calls")
    page.locator("#call-cases").get_by_role("link", name="case-0").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Model calls of case case-0")
    check_looks(page, "case-calls")
    page.get_by_role("row").filter(has_text="refused by the check").get_by_role("link").click()
    expect(page.locator("pre").first).to_have_text(MARKUP)
    assert page.evaluate("window.hit") is None
    check_looks(page, "model-call")
