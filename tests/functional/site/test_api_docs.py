"""The description of the API is drawn without a complaint of the browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from accounts.models import Role
from tests import factories

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_description_opens_without_a_complaint(enter, page, complaints):
    person = factories.make_user(factories.make_study("api"), Role.CLINICIAN)
    enter(page, person, "/api/docs/")
    operation = page.locator(".opblock-summary").first
    expect(operation).to_be_visible()
    operation.click()
    expect(page.locator(".opblock.is-open .opblock-body")).to_be_visible()
    assert complaints == []
