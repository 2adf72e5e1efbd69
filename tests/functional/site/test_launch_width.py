"""The launch form fits a narrow window, with its advanced settings open."""

from __future__ import annotations

import pytest

from accounts.models import Role
from tests import factories
from tests.marks import deep

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("width", [390, *deep(820, 1440)])
def test_the_settings_of_a_run_fit_the_window(enter, page, world, complaints, width):
    enter(page, factories.make_user(world.study, Role.ADMIN), "/runs/new/")
    page.set_viewport_size({"width": width, "height": 900})
    page.locator("details.advanced > summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert complaints == []
