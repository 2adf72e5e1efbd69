"""Forms as a real browser sends them, with its Origin and Referer."""

import pytest

from accounts.actions import create_account, create_study
from accounts.models import Role, User

NEW_PASSWORD = "Fifteen-Beige-Lampposts"


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_a_new_member_signs_in_replaces_the_password_and_signs_out(live_server, page):
    study = create_study(name="Cohort", by=None)
    _, password = create_account(username="grace", study=study, role=Role.CLINICIAN, by=None)
    page.goto(f"{live_server.url}/")
    page.get_by_label("Username").fill("grace")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    assert "do not match" in page.get_by_role("alert").inner_text()
    page.get_by_label("Username").fill("grace")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/password/")
    page.get_by_label("Old password").fill(password)
    page.get_by_label("New password", exact=True).fill(NEW_PASSWORD)
    page.get_by_label("New password confirmation").fill(NEW_PASSWORD)
    page.get_by_role("button", name="Change password").click()
    page.wait_for_url(f"{live_server.url}/")
    assert "Your password was changed" in page.get_by_role("status").inner_text()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in/")
    assert User.objects.get(username="grace").check_password(NEW_PASSWORD)
