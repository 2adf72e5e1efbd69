"""Signing in in a real browser: at a provider, and with a passkey."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from playwright.sync_api import Page, expect

from accounts.actions import create_study
from accounts.models import AuditEvent, Role, User
from accounts.provider.values import GroupRole
from tests import factories
from tests.support.windows import collect_complaints
from tests.worlds.provider import run_organisation

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def window(page: Page, live_server, complaints):
    """A window at our server; anything of a third machine is refused at once."""
    cache.clear()
    page.route(
        lambda url: not url.startswith(("http://localhost:", "data:")), lambda route: route.abort()
    )
    collect_complaints(page, complaints)
    page.goto(f"{live_server.url}/sign-in/")
    return page


def test_in_and_out_by_the_provider(window, live_server, settings, complaints):
    create_study(name="Sepsis", by=None)
    with run_organisation() as organisation:
        settings.OIDC = organisation.settings(GroupRole("icu", "Sepsis", "clinician"))
        organisation.know("ada", groups=["icu"])
        window.reload()
        window.get_by_role("button", name="Sign in with Example Hospital").click()
        window.wait_for_url(f"{organisation.issuer}/oauth2/authorize**")
        window.get_by_placeholder("sub").fill("ada")
        window.get_by_role("button", name="Authorize").click()
        window.wait_for_url(f"{live_server.url}/")
        expect(window.locator(".person")).to_have_text("ada")
        window.get_by_role("button", name="Sign out").click()
        window.wait_for_url(f"{organisation.issuer}/oauth2/end_session**")
        window.get_by_role("button", name="End session").click()
        window.wait_for_url(f"{live_server.url}/sign-in/")
        window.goto(f"{live_server.url}/")
        expect(window.get_by_role("heading", name="Sign in")).to_be_visible()
    assert [line for line in complaints if "Content Security Policy" in line] == []
    actions = AuditEvent.objects.filter(action__startswith="session.").order_by("pk")
    assert list(actions.values_list("action", flat=True)) == ["session.sign_in", "session.sign_out"]


def add_virtual_key(page: Page) -> None:
    """Give the browser a key that checks its user, as a phone does."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})


def enter_password(page: Page) -> None:
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill(factories.PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()


def test_a_passkey_is_the_second_step_and_signs_in_alone(window, live_server, complaints):
    factories.make_user(factories.make_study(), Role.ADMIN, username="ada")
    add_virtual_key(window)
    enter_password(window)
    window.wait_for_url(f"{live_server.url}/")
    window.goto(f"{live_server.url}/second-step/passkey/")
    window.get_by_label("Your password").fill(factories.PASSWORD)
    window.get_by_role("button", name="Continue").click()
    window.wait_for_url("**/second-step/passkey/")
    window.get_by_role("button", name="Add", exact=True).click()
    window.wait_for_url("**/second-step/codes/")
    window.get_by_role("button", name="Sign out").click()
    window.wait_for_url("**/sign-in/")

    enter_password(window)
    window.wait_for_url("**/sign-in/second-step/")
    window.get_by_role("button", name="Use a passkey").click()
    window.wait_for_url(f"{live_server.url}/")
    window.get_by_role("button", name="Sign out").click()
    window.wait_for_url("**/sign-in/")

    window.get_by_role("button", name="Use a passkey").click()
    window.wait_for_url(f"{live_server.url}/")
    expect(window.locator(".person")).to_have_text("ada")
    window.goto(f"{live_server.url}/second-step/")
    expect(window.get_by_role("row", name="Master key")).to_be_visible()
    window.get_by_role("link", name="Remove", exact=True).click()
    window.get_by_label("Your password").fill(factories.PASSWORD)
    window.get_by_role("button", name="Continue").click()
    window.get_by_role("button", name="Remove").click()
    window.wait_for_url("**/second-step/")
    assert complaints == []
    assert not User.objects.get(username="ada").authenticator_set.exists()
    ways = AuditEvent.objects.filter(action="session.sign_in").order_by("pk")
    assert [event.detail["ways"] for event in ways] == ["password", "password mfa", "mfa"]
