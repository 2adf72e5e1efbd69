"""Fixtures of the browser tests: people with windows, a draft's editor."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.core.cache import cache
from django.core.signals import request_finished, request_started
from django.db import connection
from playwright.sync_api import BrowserContext, Page, expect

from accounts.models import User
from tests.functional.authoring.authoring_world import WIDE
from tests.functional.cases.case_world import build_world
from tests.functional.review.review_world import (
    SCREEN,
    PacketWorld,
    build_packet_world,
    wait_for_item,
)
from tests.support.windows import collect_complaints, sign_in
from timelines.authoring.actions import start_authoring
from timelines.models import Authoring

#: How long a browser test waits for what must come. It is no measure: a machine that others use as
#: well may be many times slower.
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture
def context(context: BrowserContext) -> BrowserContext:
    """A test's browser window, with as much patience."""
    context.set_default_timeout(PATIENCE_MS)
    return context


@pytest.fixture(autouse=True)
def answered_to_the_end(request: pytest.FixtureRequest) -> Iterator[None]:
    """Wait for pending requests of closed pages before tables are emptied.

    Both need locks on the same tables.
    """
    if "browser" not in request.fixturenames:
        yield
        return
    request.getfixturevalue("transactional_db")
    served = Served()
    with served.counted():
        yield
        asked = """SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
                   AND state IN ('active', 'idle in transaction'))"""
        until = time.monotonic() + 60
        with connection.cursor() as cursor:
            while (served.now or cursor.execute(asked).fetchone()[0]) and time.monotonic() < until:
                time.sleep(0.02)


class Served:
    """A count of the requests that the live server's threads are answering.

    Between two statements the database does not know of them.
    """

    def __init__(self) -> None:
        self.now = 0
        self._lock = threading.Lock()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count until the block ends."""
        request_started.connect(self._started)
        request_finished.connect(self._finished)
        try:
            yield
        finally:
            request_started.disconnect(self._started)
            request_finished.disconnect(self._finished)

    def _started(self, **_: object) -> None:
        self._add(1)

    def _finished(self, **_: object) -> None:
        self._add(-1)

    def _add(self, change: int) -> None:
        # The test's own client asks in the main thread, and ends with its answer.
        if threading.current_thread() is not threading.main_thread():
            with self._lock:
                self.now += change


@pytest.fixture
def complaints() -> list[str]:
    """What the consoles of all windows complained of."""
    return []


@pytest.fixture
def world():
    cache.clear()
    return build_world()


@pytest.fixture
def enter(live_server, complaints):
    """Signs a person into a browser window and opens a path."""

    def enter_(page: Page, person: User, path: str) -> Page:
        # An answer that is still on its way to another person's page would bring that person's
        # session back. A new window, which asked for nothing, need not be idle for half a second.
        if page.url != "about:blank":
            page.goto("about:blank")
            page.wait_for_load_state("networkidle")
        sign_in(page.context, person, live_server.url)
        page.set_viewport_size(WIDE)
        collect_complaints(page, complaints)
        page.goto(f"{live_server.url}{path}")
        return page

    return enter_


@pytest.fixture
def new_window(browser):
    """A browser window with cookies of its own."""
    made = []

    def new_window_() -> Page:
        made.append(browser.new_context())
        made[-1].set_default_timeout(PATIENCE_MS)
        return made[-1].new_page()

    yield new_window_
    for context in made:
        context.close()


@pytest.fixture
def packed() -> PacketWorld:
    """An open packet over a shipped case, and its reviewer."""
    cache.clear()
    return build_packet_world()


@pytest.fixture
def reviewing(enter, packed, page):
    """Open a reviewer's window with the first item.

    At the end it waits for the page's pending requests.
    """
    opened: list[Page] = []

    def reviewing_(on: Page | None = None) -> Page:
        entered = enter(on or page, packed.reviewer, packed.item_address)
        entered.set_viewport_size(SCREEN)
        wait_for_item(entered)
        opened.append(entered)
        return entered

    yield reviewing_
    for window in opened:
        if not window.is_closed():
            window.context.set_offline(False)
            window.wait_for_load_state("networkidle")
            window.goto("about:blank")
            window.wait_for_timeout(300)


@pytest.fixture
def editor(world, enter, page):
    """The editor of a draft of the world's case, begun by its clinician."""

    def editor_(protocol: str = "unaided", on: Page | None = None) -> Page:
        authoring, _ = start_authoring(
            encounter=world.encounter, protocol=Authoring.Protocol(protocol), by=world.clinician
        )
        opened = enter(on or page, world.clinician, f"/authoring/{authoring.public_id}/")
        opened.wait_for_selector("#authoring[data-ready]")
        return opened

    return editor_
