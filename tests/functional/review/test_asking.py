"""A clinician is asked before a case of a packet opens, in a real browser."""

from __future__ import annotations

import re

import pytest
from django.core.cache import cache
from playwright.sync_api import expect

from accounts.models import AuditEvent, Role
from adjudication.access.eligibility import find_ineligibility_reasons
from tests import factories
from tests.support.windows import sign_in
from tests.worlds.reviewing import draw_review

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("scripts", [True, False])
def test_a_clinician_goes_back_or_opens_the_case(live_server, browser, scripts):
    cache.clear()
    review = draw_review()
    person = factories.make_user(review.study, Role.CLINICIAN)
    case = review.world.encounters[0].public_id
    context = browser.new_context(java_script_enabled=scripts)
    page = context.new_page()
    sign_in(context, person, live_server.url)
    page.goto(f"{live_server.url}/cases/")
    link = page.locator(f'a[href^="/cases/{case}/"]').first

    link.click()
    question = page.get_by_text("you cannot review it in packet “First packet”")
    expect(question).to_be_visible()
    page.get_by_role("link", name="Go back").click()
    expect(page).to_have_url(f"{live_server.url}/cases/")
    assert find_ineligibility_reasons(person, review.packet) == []

    link.click()
    page.get_by_role("button", name="Open it").click()
    expect(page).to_have_url(re.compile(f"{live_server.url}/cases/{case}/"))
    expect(question).to_have_count(0)
    expect(page.get_by_role("tab", name="Story") if scripts else page.locator("h1")).to_be_visible()
    page.reload()
    expect(question).to_have_count(0)
    assert find_ineligibility_reasons(person, review.packet)
    assert AuditEvent.objects.filter(actor=person, action="exposure.accept").count() == 1
    context.close()
