"""After the sign-out a browser's disk has nothing that was read."""

import pytest
from playwright.sync_api import expect

from tests.functional.conftest import PATIENCE_MS

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_note_is_gone_after_the_sign_out(
    enter, world, browser, browser_type, browser_type_launch_args, tmp_path
):
    profile = browser_type.launch_persistent_context(
        tmp_path / "profile", **browser_type_launch_args
    )
    profile.set_default_timeout(PATIENCE_MS)
    page = enter(profile.pages[0], world.clinician, world.address)
    expect(page.get_by_text("Fell at home").first).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in/")
    profile.close()
    files = [file for file in (tmp_path / "profile").rglob("*") if file.is_file()]
    assert any("Cache_Data" in file.parts for file in files), "the browser has a cache"
    assert [file.name for file in files if b"Fell at home" in file.read_bytes()] == []
