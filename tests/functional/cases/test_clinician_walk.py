"""The intro case as a clinician walks it.

Understand, question, correct, comment, export. With `--film FILE` the walk is stored as an animated WebP of a few seconds, for the README.
"""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.cache import cache
from PIL import Image
from playwright.sync_api import Page, expect

from accounts.actions import add_role
from accounts.models import Role
from tests import factories
from tests.paths import DEMO
from tests.support.windows import collect_complaints, sign_in
from tests.worlds.reconstructed import import_folder, run_inline
from timelines.models import Comment, Correction

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.slow]

PANEL = "#chain-pane"
SIZE = {"width": 1280, "height": 800}
#: Milliseconds of one picture, and the width and quality of the film.
SHOWN_MS = 1600
FILM_WIDTH = 960
FILM_QUALITY = 70
MOST_BYTES = 3_000_000


class Film:
    """Pictures of a page in order, if they are wanted."""

    def __init__(self, page: Page, path: str | None) -> None:
        self.page = page
        self.path = path
        self.pictures: list[Image.Image] = []

    def take(self, times: int = 1, still: str = "") -> None:
        """Add the page as it is now; `still` is a picture of it beside the film."""
        if self.path is None:
            return
        if still:
            self.page.screenshot(path=Path(self.path).with_name(still))
        picture = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        height = round(picture.height * FILM_WIDTH / picture.width)
        self.pictures += [picture.resize((FILM_WIDTH, height), Image.Resampling.LANCZOS)] * times

    def store(self) -> None:
        """Write the film."""
        if self.path is None:
            return
        first, *others = self.pictures
        first.save(
            self.path,
            save_all=True,
            append_images=others,
            duration=SHOWN_MS,
            loop=0,
            quality=FILM_QUALITY,
            method=6,
        )
        assert Path(self.path).stat().st_size < MOST_BYTES


def test_a_clinician_understands_questions_corrects_comments_and_exports(
    live_server, page, complaints, request
):
    cache.clear()
    dataset = import_folder(DEMO / "intro", "introduction")
    run_inline(dataset)
    clinician = factories.make_user(dataset.study, Role.CLINICIAN, username="vega")
    colleague = factories.make_user(username="rigel")
    add_role(study=dataset.study, user=colleague, role=Role.CLINICIAN, by=None)
    sign_in(page.context, clinician, live_server.url)
    page.set_viewport_size(SIZE)
    collect_complaints(page, complaints)
    film = Film(page, request.config.getoption("--film"))

    # What is this stay?
    page.goto(f"{live_server.url}/cases/")
    page.get_by_role("link", name="74 M · Intracerebral haemorrhage on apixaban").click()
    page.wait_for_selector("#case[data-ready]")
    expect(page.get_by_role("heading", level=1)).to_contain_text("4 d 6 h · to rehab")
    expect(page.locator(".ribbon")).to_contain_text("Neuro SICU")
    story = page.locator("#panel-story")
    expect(story).to_contain_text("nicardipine was started")
    film.take(2)

    # What was given, and why at that time?
    story.get_by_text("Reversal agent was given", exact=False).click()
    answer = page.locator(f"{PANEL} .answer")
    expect(answer).to_contain_text("Given HD 1 · 15:42, not 10:42.")
    expect(answer).to_contain_text("The order is from 10:24.")
    film.take(2, still="case-page.png")
    page.locator(f"{PANEL} summary", has_text="How we got here").click()
    expect(page.locator(f"{PANEL} #step-6")).to_contain_text("andexanet alfa started")
    film.take()
    page.locator(f"{PANEL} summary", has_text="How we got here").click()

    # When, beside everything else?
    page.keyboard.press("2")
    expect(page.locator("#panel-lanes svg").first).to_be_visible()
    page.get_by_role("button", name="What the record changed").click()
    film.take(2)
    page.keyboard.press("1")

    # What is wrong? The strength of the arm was charted at 13:42, before the discharge.
    page.locator(".seg", has_text="strength in the left arm").first.click()
    expect(page.locator(f"{PANEL} [data-answers]")).to_be_visible()
    page.keyboard.press("e")
    page.get_by_label("Time", exact=True).fill("HD 5 13:42")
    expect(page.locator("[data-correct-read]")).to_contain_text("HD 5 · 13:42")
    page.get_by_label("Reason").fill("the last examination that was charted")
    film.take(2)
    with page.expect_navigation():
        page.get_by_role("button", name="Save correction").click()
    expect(answer).to_contain_text("Corrected by vega to HD 5 · 13:42")
    assert Correction.objects.get().author == clinician
    film.take()

    page.keyboard.press("c")
    page.keyboard.type("Was the left leg tested, too? @rigel ")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".thread")).to_contain_text("Was the left leg tested, too? @rigel")
    assert Comment.objects.get().author == clinician
    film.take(2)

    # Take it along: the file has the corrected time and who corrected it.
    page.locator("summary", has_text="Export").click()
    film.take()
    with page.expect_download() as waited:
        page.get_by_role("link", name="JSONL", exact=False).first.click()
    lines = [json.loads(x) for x in Path(waited.value.path()).read_text().splitlines()]
    (corrected,) = [x for x in lines if "strength in the left arm" in x["mention"]]
    assert corrected["time"] == pytest.approx(100.5)
    assert complaints == []
    film.store()
