"""One page of each shape of address in a real browser, for each role.

There is no error on the console, no failed request, no violation.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from django.db import connections
from playwright.sync_api import Page, Request, Response

from tests.integration.site.test_crawl import crawl_person
from tests.support.crawler import Visit, select_shapes
from tests.worlds.demo_world import Demo, make_demo

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

#: Those whose pages differ; others see a part of the same ones.
VISITORS = ("admin", "author", "reviewer", "adjudicator", "superuser", "anonymous")
#: Of the admin site, whose pages are of one kind, a few are enough.
ADMIN_PAGES = 8


class Watch:
    """What the browser complains of, with the page that was open."""

    def __init__(self, page: Page) -> None:
        self.page, self.found = page, list[str]()
        page.on(
            "console",
            lambda message: (
                self._note(message.text) if message.type in ("error", "warning") else None
            ),
        )
        page.on("pageerror", lambda error: self._note(str(error)))
        page.on("requestfailed", self._failed)
        page.on("response", self._answered)

    def _note(self, words: str) -> None:
        self.found.append(f"{urlsplit(self.page.url).path}: {words}")

    def _failed(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # the browser left the page
            self._note(f"{request.url} failed: {request.failure}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self._note(f"{response.url} answered {response.status}")


def crawl_demo() -> tuple[Demo, dict[str, list[Visit]]]:
    """Return the demo, and for each visitor the shapes of page that are new."""
    demo, found, known = make_demo(), dict[str, list[Visit]](), set[str]()
    try:
        for person in VISITORS:
            visits = select_shapes(crawl_person(demo, person, each=1))
            new = [
                v
                for shape, v in visits.items()
                if shape not in known and "?" not in shape and v.whole
            ]
            found[person] = new[:ADMIN_PAGES] if person == "superuser" else new
            known |= {v.shape for v in found[person]}
    finally:
        connections.close_all()
    return demo, found


@pytest.mark.deep
def test_no_page_complains(live_server, page, enter):
    # In a thread of its own: stages and some views run event loops, and Playwright has one in this
    # thread.
    with ThreadPoolExecutor(1) as threads:
        demo, pages = threads.submit(crawl_demo).result()
    watch = Watch(page)
    for person in VISITORS:
        if person == "anonymous":
            page.context.clear_cookies()
        for number, visit in enumerate(pages[person]):
            if number == 0 and person != "anonymous":
                enter(page, demo.people[person], visit.address)
            else:
                page.goto(f"{live_server.url}{visit.address}")
            page.wait_for_load_state("networkidle")
    assert sum(map(len, pages.values())) > 30
    assert not watch.found, "\n".join(watch.found)
