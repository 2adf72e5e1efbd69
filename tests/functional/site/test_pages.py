"""Home, cases, record and runs in a real browser.

A launch by a real worker, search, series, rows, axe in both themes. Pictures go to ARTIFACTS
(default `var/artifacts`), which is not committed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.core.cache import cache
from django.utils import timezone
from playwright.sync_api import expect

from accounts.models import Role
from jobs.models import JobState
from tests import factories
from tests.marks import deep
from tests.paths import DEMO
from tests.support.windows import collect_complaints, sign_in
from tests.worlds.reconstructed import LIGHT_ROLES, import_folder
from timelines.models import STAGE_ORDER, StageRun

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WIDE, TABLET = {"width": 1280, "height": 800}, {"width": 820, "height": 1180}
MARKUP = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>'
QUEUES = "ingest,pipeline,generate,embed,judge"
RUN_SECONDS = 600_000


@pytest.fixture
def admin_of(live_server, page, complaints):
    """Sign the browser in as a study's admin; collect the console's errors."""
    cache.clear()
    page.set_viewport_size(WIDE)
    collect_complaints(page, complaints)

    def enter_(study):
        sign_in(page.context, factories.make_user(study, Role.ADMIN), live_server.url)
        return page

    yield enter_
    assert complaints == []


@pytest.fixture
def worker(process_environment, tmp_path):
    """A real worker on the test's database and broker."""
    command = [
        sys.executable,
        "-m",
        "celery",
        "-A",
        "config.celery",
        "worker",
        "--pool",
        "solo",
        "-Q",
        QUEUES,
        "--loglevel",
        "WARNING",
    ]
    environment = {**process_environment, "MODEL_ROLES": json.dumps(LIGHT_ROLES)}
    with (tmp_path / "worker.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=settings.BASE_DIR, env=environment, stdout=log, stderr=log
        )
    yield process
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.long
def test_an_admin_launches_a_run_watches_it_end_and_reads_why(admin_of, live_server, worker):
    dataset = import_folder(DEMO / "intro", "introduction")
    page = admin_of(dataset.study)
    page.goto(f"{live_server.url}/")
    page.get_by_role("link", name="Launch a run").click()
    expect(page.get_by_label("Cohort")).to_contain_text("introduction (1 case)")
    page.get_by_label("Label").fill(f"evening {MARKUP}")
    page.get_by_role("button", name="Launch").click()
    page.wait_for_url("**/runs/*/")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"evening {MARKUP}")
    expect(page.locator("#run-summary")).to_contain_text("7 of 7 stages done", timeout=RUN_SECONDS)
    expect(page.locator("#run-summary .badge")).to_have_text("Done")
    expect(page.locator("#run-announce")).to_have_text("Done")
    assert page.locator("#run-summary").get_attribute("hx-get") is None, (
        "the page keeps asking after the end"
    )
    expect(page.locator("#stage-table")).to_contain_text("occurrences")
    page.get_by_role("link", name="intro-ich").click()
    page.wait_for_selector("#case[data-ready]")
    page.locator(".seg").first.click()
    expect(page.locator("#chain-pane h2")).to_be_visible()
    page.get_by_text("Export", exact=False).first.click()
    page.get_by_role("link", name="Record", exact=True).click()
    expect(page.get_by_role("heading", name="Structured record")).to_be_visible()
    assert page.evaluate("window.hit") is None


def test_the_case_list_is_searched_as_one_types_and_the_address_stays(admin_of, live_server):
    dataset = factories.make_dataset()
    for n in range(70):
        factories.make_encounter(
            dataset, case_id=f"c{n:03}", title=f"Sepsis {MARKUP}" if n == 42 else f"Stay {n}"
        )
    page = admin_of(dataset.study)
    page.goto(f"{live_server.url}/cases/")
    expect(page.locator("#case-count")).to_have_text("70 cases, page 1 of 2")
    page.get_by_label("Search").press_sequentially("seps")
    expect(page.locator("#case-count")).to_have_text("1 case")
    expect(page.locator("#case-list tbody tr")).to_have_count(1)
    assert page.url.endswith("/cases/")
    expect(page.get_by_label("Search")).to_be_focused()
    page.get_by_label("Search").fill("")
    expect(page.locator("#case-count")).to_have_text("70 cases, page 1 of 2")
    page.get_by_role("button", name="Next").click()
    expect(page.locator("#case-count")).to_have_text("70 cases, page 2 of 2")
    expect(page.locator("#case-list tbody tr")).to_have_count(20)
    page.get_by_label("State").select_option("done")
    expect(page.get_by_role("heading", name="No case matches")).to_be_visible()
    # Filters are in the address, the searched words never are.
    assert page.url.endswith("/cases/?state=done")
    assert page.evaluate("window.hit") is None


@pytest.mark.deep
def test_a_series_opens_below_its_row_with_the_keyboard(admin_of, live_server):
    encounter = factories.make_encounter(title=MARKUP)
    rows = [
        factories.make_row(encounter, f"lab:{MARKUP}:", float(n), value=f"{n} {MARKUP}")
        for n in range(130)
    ]
    factories.make_series(encounter, rows[0].event, rows, summary=f"first line\nsecond {MARKUP}")
    page = admin_of(encounter.dataset.study)
    page.goto(f"{live_server.url}/cases/{encounter.public_id}/record/")
    button = page.locator("button.disclose")
    expect(button).to_have_attribute("aria-expanded", "false")
    expect(page.locator(".series-detail")).to_be_hidden()
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(page.locator(".rows-wrap tbody tr:not(.more)")).to_have_count(100)
    page.get_by_role("button", name="Show more: 100 of 130 so far").click()
    expect(page.locator(".rows-wrap tbody tr")).to_have_count(130)
    expect(page.locator(".series-summary")).to_have_css("white-space-collapse", "preserve-breaks")
    page.keyboard.press("Tab")
    button.press("Enter")
    expect(page.locator(".series-detail")).to_be_hidden()
    page.get_by_label("Search series").press_sequentially("no such")
    expect(page.get_by_role("heading", name="No series matches")).to_be_visible()
    assert page.url.endswith("/record/")
    assert page.evaluate("window.hit") is None


@pytest.mark.deep
def test_a_link_to_a_row_brings_it_into_view(admin_of, live_server):
    encounter = factories.make_encounter()
    for n in range(40):
        factories.make_series(
            encounter, f"chart:a{n:02}:", [factories.make_row(encounter, f"chart:a{n:02}:", 1.0)]
        )
    rows = [factories.make_row(encounter, "lab:zinc:", float(n)) for n in range(90)]
    factories.make_series(encounter, "lab:zinc:", rows)
    page = admin_of(encounter.dataset.study)
    page.goto(f"{live_server.url}/cases/{encounter.public_id}/record/?row={rows[80].row_index}")
    marked = page.locator(f"#row-{rows[80].row_index}")
    expect(marked).to_be_in_viewport()
    expect(marked).to_be_focused()


@pytest.mark.deep
def test_open_reasons_scroll_and_focus_outlive_the_polls(admin_of, live_server):
    run = make_unfinished_run()
    page = admin_of(run.study)
    page.set_viewport_size({"width": 700, "height": 700})
    page.goto(f"{live_server.url}/runs/{run.public_id}/")
    page.get_by_text("Earlier attempts (2)").click()
    page.locator(".table-wrap:has(#stage-table)").evaluate("e => { e.scrollLeft = 200 }")
    page.locator("#run-pause").focus()
    StageRun.objects.filter(case_run__run=run, state=JobState.RUNNING).update(
        progress={"done": 5, "total": 9, "words": "batch 6 of 9"}
    )
    StageRun.objects.filter(case_run__run=run, state=JobState.FAILED).update(attempt=4)
    expect(page.locator("#stage-table")).to_contain_text("batch 6 of 9")
    expect(page.locator("#stage-table")).to_contain_text("failed after 4 attempts")
    assert page.locator("details[id^=reasons]").first.evaluate("e => e.open")
    assert page.locator(".table-wrap:has(#stage-table)").evaluate("e => e.scrollLeft") == 200
    expect(page.locator("#run-pause")).to_be_focused()
    with page.expect_request("**/runs/**") as asked:
        pass
    assert asked.value.headers["x-background-poll"] == "1"
    assert "seen=" in asked.value.url
    assert "csrf" not in asked.value.url
    assert page.evaluate("window.hit") is None


@pytest.mark.deep
def test_a_poll_after_the_session_ended_leads_to_the_sign_in_page(admin_of, live_server):
    run = make_unfinished_run()
    page = admin_of(run.study)
    page.goto(f"{live_server.url}/runs/{run.public_id}/")
    # A response under way would bring the session's cookie back.
    page.wait_for_load_state("networkidle")
    page.context.clear_cookies()
    page.wait_for_url("**/sign-in/**")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()


@pytest.mark.deep
@pytest.mark.parametrize("theme", ["dark", *deep("light")])
def test_axe_finds_nothing_and_pictures_are_taken(admin_of, live_server, page, theme):
    run = make_unfinished_run()
    encounter = run.cases.order_by("pk").first().encounter
    rows = [
        factories.make_row(
            encounter, "lab:lactate:blood", 3.0 * n, value=str(4 - n / 3), unit="mmol/L"
        )
        for n in range(9)
    ]
    series = factories.make_series(encounter, "lab:lactate:blood", rows)
    factories.make_row(encounter, "diagnosis:sepsis:", None, value="A41.9", time_kind="unknown")
    admin_of(run.study)
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    record = f"/cases/{encounter.public_id}/record/"
    paths = {
        "home": "/",
        "cases": "/cases/",
        "record": f"{record}?row=4",
        "runs": "/runs/",
        "launch": "/runs/new/",
    }
    for size in (WIDE, TABLET):
        page.set_viewport_size(size)
        for name, path in {**paths, "run": f"/runs/{run.public_id}/"}.items():
            page.goto(f"{live_server.url}{path}")
            assert_accessible(page)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
                f"{name} scrolls sideways"
            )
            picture(page, f"{name}-{size['width']}-{theme}")
    assert series.count == 9


def make_unfinished_run():
    """Return a run of twelve cases in different states.

    Done, failed after three attempts, running in its second, cancelled, and the others waiting.
    """
    dataset = factories.make_dataset(name="Stays")
    run = factories.make_run(dataset, label=f"nightly {MARKUP}")
    later = timezone.now() + timedelta(hours=1)
    for number in range(12):
        case = factories.make_encounter(
            dataset,
            case_id=f"2{number:07}",
            title="Septicaemia due to Escherichia coli, with shock",
        )
        case_run = factories.make_case_run(run, case)
        for place, stage in enumerate(STAGE_ORDER):
            StageRun.objects.create(case_run=case_run, stage=stage, **_fields(number, place, later))
    return run


def _fields(number: int, place: int, later) -> dict:
    now = timezone.now()
    times = {"started_at": now - timedelta(seconds=9), "finished_at": now, "attempt": 1}
    if number == 0 or (number in (1, 2) and place < 3):
        return {"state": JobState.SUCCEEDED, **times}
    if place == 3 and number == 1:
        reasons = [
            "the embedder did not answer within 30 s",
            "the worker stopped answering",
            f"the embedder did not answer {MARKUP}",
        ]
        return {"state": JobState.FAILED, **times, "attempt": 3, "reasons": reasons}
    if place == 3 and number == 2:
        progress = {"done": 3, "total": 9, "words": f"batch 4 of 9 {MARKUP}"}
        return {
            "state": JobState.RUNNING,
            "started_at": now,
            "lease_expires_at": later,
            "attempt": 2,
            "progress": progress,
        }
    if number == 3:
        return {"state": JobState.CANCELLED}
    return {"state": JobState.QUEUED if place == 0 else JobState.BLOCKED}


def assert_accessible(page) -> None:
    found = Axe().run(page)
    violations = [
        (v["id"], [node["html"][:160] for node in v["nodes"]][:3])
        for v in found.response["violations"]
    ]
    assert violations == []


def picture(page, name: str) -> None:
    folder = (
        Path(os.environ.get("ARTIFACTS", Path(settings.BASE_DIR) / "var" / "artifacts")) / "pages"
    )
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png")
