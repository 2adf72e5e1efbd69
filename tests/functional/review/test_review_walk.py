"""A whole review in a real browser.

An admin draws, two reviewers and a third person decide, the report card is read. With REVIEW_WALK=1
its pictures go into the documentation.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from accounts.models import Role, User
from adjudication.blinding.page import ANSWERS
from adjudication.blinding.practice import practice_cases
from adjudication.models import Assignment, Decision, Packet
from tests import factories
from tests.functional.review.review_walk import PAGE, PICTURES, STEPS, Camera, build_page
from tests.functional.review.review_world import (
    FEW,
    PASSWORD,
    SCREEN,
    assert_accessible,
    build_judged_cases,
    press_answer,
    wait_for_item,
)
from timelines.models import Authoring

WANTED = {"TIMING decisive": 3, "TIMING UNCLEAR": 1, "one-sided": 2, "DUPLICATE": 1, "VALUE": 1}
KEYS = {value: key for key, value, _ in ANSWERS}


def test_the_page_of_the_documentation_is_the_one_of_the_walk():
    assert PAGE.read_text(encoding="utf-8") == build_page(), "run the walk with REVIEW_WALK=1"
    assert sorted(p.stem for p in PICTURES.glob("*.png")) == sorted(step.name for step in STEPS)


def person(study, role: Role, name: str) -> User:
    made = factories.make_user(study, role, username=name)
    made.set_password(PASSWORD)
    made.save()
    return made


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_from_the_draw_to_the_report_card(enter, new_window, complaints):
    study = factories.make_study("Heart surgery cohort")
    camera = Camera()
    # The pictures of the documentation show the whole record.
    _, run = build_judged_cases(study, series=None if camera.for_docs else FEW)
    admin = person(study, Role.ADMIN, "m.osei")
    first, second, third = (
        person(study, Role.REVIEWER, name) for name in ("r.iyer", "l.novak", "s.duran")
    )

    steering = enter(new_window(), admin, f"/packets/new/{run.public_id}/")
    steering.set_viewport_size(SCREEN)
    draw(steering, camera)
    for who, role in (
        (first, "Reviewer"),
        (second, "Reviewer"),
        (third, "Adjudicator (third person)"),
    ):
        steering.locator("#id_person").select_option(label=who.username)
        steering.get_by_label("Role").select_option(label=role)
        steering.get_by_role("button", name="Add to the packet").click()
    camera.take(steering, "packet")
    steering.get_by_role("button", name="Open for review").click()
    expect(steering.get_by_text("The packet is open. Its items")).to_be_visible()
    packet = Packet.objects.get()

    one = open_window(enter, new_window, first)
    camera.take(one, "steps")
    practise(one, camera)
    review(one, packet, camera)
    last_steps(one, camera)

    # The first one has shown that practice leads to the packet.
    Assignment.objects.filter(person__in=[second, third]).update(practised_at=packet.opened_at)
    two = open_window(enter, new_window, second)
    work(two, packet.items.count(), "2")
    expect(two.get_by_role("heading", name="All items are decided")).to_be_visible()

    three = open_window(enter, new_window, third)
    three.get_by_role("link", name="Start", exact=True).click()
    wait_for_item(three)
    assert_accessible(three)
    camera.take(three, "third")
    press_answer(three, "5")

    steering.reload()
    steering.get_by_role("link", name="Close…").click()
    steering.get_by_role("button", name="Close the packet").click()
    steering.get_by_role("link", name="Report card").click()
    expect(steering.get_by_role("heading", name="Report card of the judge")).to_be_visible()
    camera.take(steering, "report")
    expect(steering.get_by_role("main")).to_contain_text(
        f"{packet.items.count()} of {packet.items.count()} items decided"
    )

    one.goto(
        one.url.split("/review/")[0]
        + f"/review/{Assignment.objects.get(person=first).public_id}/answers/"
    )
    expect(one.get_by_role("columnheader", name="Judge")).to_be_visible()
    camera.take(one, "revealed")
    camera.finish()
    assert Authoring.objects.count() == 0
    assert Decision.objects.filter(packet=packet, kind="sign").count() == 1
    assert complaints == []


def draw(steering: Page, camera: Camera) -> None:
    for stratum, wanted in WANTED.items():
        steering.get_by_label(stratum, exact=True).fill(str(wanted))
    steering.get_by_label("Label").fill("Validation sample")
    steering.get_by_label("Cases").fill("1")
    steering.get_by_label("Second reviewer").select_option(index=1)
    steering.get_by_label("Seed").fill("11")
    steering.get_by_role("button", name="Preview").click()
    camera.take(steering, "draw")
    steering.get_by_role("button", name="Draw the packet").click()
    expect(steering.get_by_role("heading", name="People")).to_be_visible()


def open_window(enter, new_window, who: User) -> Page:
    """The person's own window, at their packet."""
    window = enter(new_window(), who, f"/review/{Assignment.objects.get(person=who).public_id}/")
    window.set_viewport_size(SCREEN)
    return window


def practise(window: Page, camera: Camera) -> None:
    window.get_by_role("link", name="Start practice").click()
    for case in practice_cases():
        wait_for_item(window)
        window.keyboard.press(KEYS[case.answer])
        window.keyboard.press("Enter")
        expect(window.locator("[data-feedback]")).to_be_visible()
        if case.number == 2:
            camera.take(window, "practice")
        window.keyboard.press("Enter")
    expect(window.get_by_role("heading", name="Practice")).to_be_visible()


def work(window: Page, items: int, key: str) -> None:
    window.get_by_role("link", name=re.compile("^(Start|Continue)$")).click()
    for _ in range(items):
        wait_for_item(window)
        press_answer(window, key)


def review(window: Page, packet: Packet, camera: Camera) -> None:
    """Decide every item by the keyboard; take two pictures.

    One is of an item with two rows, one of an item with a single row.
    """
    window.get_by_role("link", name="Start", exact=True).click()
    wanted = {"item": ".sides:not(:has(.side-missing))", "one-sided": ".side-missing"}
    for number in range(packet.items.count()):
        wait_for_item(window)
        for name in [n for n, selector in wanted.items() if window.locator(selector).count()]:
            del wanted[name]
            window.keyboard.press("1")
            assert_accessible(window)
            camera.take(window, name)
            if name == "item":
                window.emulate_media(color_scheme="dark")
                camera.take(window, "dark")
                window.emulate_media(color_scheme="light")
        press_answer(window, "1" if number % 3 else "5")
    expect(window.get_by_role("heading", name="All items are decided")).to_be_visible()
    assert not wanted
    window.get_by_role("link", name="To the last steps").click()


def last_steps(window: Page, camera: Camera) -> None:
    """One's answers, the last question, the signature and its receipt."""
    window.get_by_role("link", name="My answers").click()
    camera.take(window, "answers")
    window.go_back()
    window.get_by_role("link", name="Answer", exact=True).click()
    for n, group in enumerate(window.get_by_role("radiogroup").all()):
        group.get_by_label(("A", "B", "no idea")[n % 3], exact=True).check()
    camera.take(window, "question")
    window.get_by_role("button", name="Save my guesses").click()
    window.get_by_role("link", name="Sign", exact=True).click()
    window.get_by_label("Your password").fill(PASSWORD)
    window.get_by_role("button", name="Sign", exact=True).click()
    expect(window.get_by_role("region", name="Receipt")).to_be_visible()
    camera.take(window, "receipt")
