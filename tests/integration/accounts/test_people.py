"""Invitations, sessions, deactivation, and who can see what."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from accounts.actions import add_role, remove_role, set_active
from accounts.invitations.actions import (
    InvitationEnded,
    accept,
    accept_with_new_account,
    invite,
    withdraw,
)
from accounts.membership.erasure import erase_account
from accounts.models import AuditEvent, Invitation, Membership, Role, User
from accounts.permissions import NotAllowed
from accounts.provider.values import GroupRole
from accounts.sessions.actions import end_sessions
from accounts.sessions.stored import name_browser
from tests.factories import PASSWORD, make_study, make_user
from tests.worlds.provider import run_organisation, sign_in_at

pytestmark = pytest.mark.django_db
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


@pytest.fixture
def study(db):
    return make_study("Sepsis")


@pytest.fixture
def admin(study):
    return make_user(study, Role.ADMIN, username="ada")


@pytest.fixture
def grace(study):
    return make_user(study, Role.CLINICIAN, username="grace")


def window(person: User | None = None, **headers: Any) -> Client:
    """A browser, with the session of a sign-in by password."""
    client = Client(**headers)
    if person is not None:
        client.post("/sign-in/", {"username": person.username, "password": PASSWORD})
    return client


def actions(prefix: str) -> list[str]:
    events = AuditEvent.objects.filter(action__startswith=prefix).order_by("pk")
    return list(events.values_list("action", flat=True))


# Invitations.


def make_link(admin: User, role: str = "reviewer") -> tuple[str, Client]:
    client = window(admin)
    page = client.post("/study/people/invite/", {"label": "Dr Hopper", "role": role})
    found = re.search(r"http://testserver(/invitation/[^<]+)<", page.text)
    assert found is not None
    return found[1], client


def test_a_link_creates_an_account_with_the_role_once(admin, study):
    path, _ = make_link(admin)
    page = window().get(path)
    assert "ada invites you as blinded reviewer" in page.text
    form = {"username": "hopper", "password1": PASSWORD, "password2": PASSWORD}
    assert window().post(path, form)["Location"] == "/sign-in/"
    person = User.objects.get(username="hopper")
    assert list(person.memberships.values_list("study", "role")) == [(study.pk, "reviewer")]
    assert window(person).get("/").status_code == 200
    again = window().post(path, {**form, "username": "second"})
    assert (again.status_code, "does not work" in again.text) == (404, True)
    assert not User.objects.filter(username="second").exists()
    invitation = Invitation.objects.get()
    assert invitation.used_by == person
    assert actions("invitation.") == ["invitation.create", "invitation.accept"]


def test_only_a_digest_of_the_link_is_stored(admin):
    path, _ = make_link(admin)
    secret = path.split("/")[2]
    assert len(secret) == 43
    stored = str(list(Invitation.objects.values())) + str(list(AuditEvent.objects.values()))
    assert secret not in stored


def test_who_has_an_account_joins_with_it(admin, grace, study):
    path, _ = make_link(admin)
    client = window(grace)
    assert "Join as grace" in client.get(path).text
    assert client.post(path)["Location"] == "/"
    assert set(grace.memberships.values_list("role", flat=True)) == {"clinician", "reviewer"}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"username": "ADA"}, "That user name is taken."),
        ({"username": "a b"}, "Enter a valid username"),
        ({"password1": "short", "password2": "short"}, "at least 12 characters"),
        ({"password2": "another"}, "The two passwords differ."),
    ],
)
def test_what_is_wrong_is_said_and_the_link_still_works(admin, changed, words):
    path, _ = make_link(admin)
    form = {"username": "hopper", "password1": PASSWORD, "password2": PASSWORD}
    answer = window().post(path, {**form, **changed})
    assert (answer.status_code, words in answer.text) == (400, True)
    assert window().post(path, form).status_code == 302


def test_a_link_ends(admin, study, settings):
    expired, _ = make_link(admin)
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    withdrawn, client = make_link(admin)
    wanted = Invitation.objects.get(label="Dr Hopper", expires_at__gt=timezone.now())
    client.post("/study/people/withdraw/", {"invitation": wanted.public_id})
    assert actions("invitation.")[-1] == "invitation.withdraw"
    powerless, _ = make_link(admin)
    add_role(study=study, user=make_user(), role=Role.ADMIN, by=None)
    remove_role(study=study, user=admin, role=Role.ADMIN, by=None)
    for path in (expired, withdrawn, powerless, "/invitation/guessed/"):
        assert window().get(path).status_code == 404, path
        assert window().post(path, {}).status_code == 404, path


def test_an_invitation_is_taken_once_and_by_nobody_after_it_ended(admin, grace, study):
    invitation, _ = invite(study=study, role=Role.ADMIN, label="x", by=admin)
    accept(invitation=invitation, by=grace)
    with pytest.raises(InvitationEnded):
        accept(invitation=invitation, by=make_user())
    with pytest.raises(InvitationEnded), transaction.atomic():
        accept_with_new_account(invitation=invitation, username="late", password=PASSWORD)
    assert not User.objects.filter(username="late").exists()
    assert not withdraw(invitation=invitation, by=admin)
    with pytest.raises(IntegrityError), transaction.atomic():
        Invitation.objects.update(ended_at=None)


def test_only_admins_invite_and_withdraw(admin, grace, study):
    with pytest.raises(NotAllowed):
        invite(study=study, role=Role.REVIEWER, label="x", by=grace)
    invitation, _ = invite(study=study, role=Role.REVIEWER, label="x", by=admin)
    with pytest.raises(NotAllowed):
        withdraw(invitation=invitation, by=grace)
    with pytest.raises(ValidationError):
        invite(study=study, role=Role.REVIEWER, label=" ", by=admin)
    page = window(admin).post("/study/people/invite/", {"label": "", "role": "reviewer"})
    assert (page.status_code, "Say whom" in page.text) == (400, True)


def test_an_invited_person_of_the_provider_needs_no_group(admin, study, settings):
    with run_organisation() as organisation:
        settings.OIDC = organisation.settings(GroupRole("icu", "Sepsis", "clinician"), only=True)
        organisation.know("hopper")
        _, secret = invite(study=study, role=Role.REVIEWER, label="x", by=admin)
        path = f"/invitation/{secret}/"
        client = window()
        page = client.get(path)
        assert "Sign in with Example Hospital" in page.text
        assert 'type="password"' not in page.text
        form = {"username": "hopper", "password1": PASSWORD, "password2": PASSWORD}
        assert client.post(path, form).status_code == 400
        assert sign_in_at(organisation, client, "hopper", next=path)["Location"] == path
        client.post(path)
        person = User.objects.get(username="hopper")
        assert list(person.memberships.values_list("role", "provided")) == [("reviewer", False)]
        sign_in_at(organisation, window(), "hopper")
        assert person.memberships.count() == 1, "the provider does not take it away"


# Sessions.


def test_the_own_sessions_are_listed_and_ended(grace):
    here, there = window(grace, HTTP_USER_AGENT=FIREFOX), window(grace, REMOTE_ADDR="10.0.0.7")
    page = here.get("/sessions/")
    assert "Firefox on Linux (this one)" in page.text
    assert "10.0.0.7" in page.text
    number = UserSession.objects.get(ip="10.0.0.7").pk
    here.post("/sessions/end/", {"session": number})
    assert (here.get("/").status_code, there.get("/").status_code) == (200, 302)
    assert actions("session.end") == ["session.end"]


def test_all_other_sessions_end_at_once(grace):
    windows = [window(grace) for _ in range(3)]
    windows[0].post("/sessions/end/")
    assert [one.get("/").status_code for one in windows] == [200, 302, 302]
    assert AuditEvent.objects.get(action="session.end").detail == {"sessions": 2}


@pytest.mark.parametrize("sent", ["-1", "x", "1" * 30, "²"])
def test_no_session_has_such_a_number(grace, sent):
    assert window(grace).post("/sessions/end/", {"session": sent}).status_code == 404


def test_nobody_ends_the_session_of_another(admin, grace):
    theirs = window(grace)
    mine = window(make_user(make_study(), Role.ADMIN))
    number = UserSession.objects.get(user=grace).pk
    assert mine.post("/sessions/end/", {"session": number}).status_code == 404
    with pytest.raises(NotAllowed):
        end_sessions(user=grace, by=User.objects.exclude(pk__in=(admin.pk, grace.pk)).get())
    assert theirs.get("/").status_code == 200


def test_an_admin_and_a_superuser_end_the_sessions_of_a_person(admin, grace):
    for by in (admin, User.objects.create_superuser("root")):
        theirs = window(grace)
        assert end_sessions(user=grace, by=by) >= 1
        assert theirs.get("/").status_code == 302


def test_superusers_end_sessions_on_the_admin_site(grace):
    theirs = window(grace)
    root = Client()
    root.force_login(User.objects.create_superuser("root"))
    root.post("/admin/accounts/user/", {"action": "end_sessions", "_selected_action": [grace.pk]})
    assert theirs.get("/").status_code == 302


def test_deactivating_on_the_page_ends_sessions_for_good(admin, grace):
    theirs, mine = window(grace), window(admin)
    mine.post("/study/people/activate/", {"person": grace.public_id})
    assert theirs.get("/").status_code == 302
    assert "grace (deactivated)" in mine.get("/study/people/").text
    mine.post("/study/people/activate/", {"person": grace.public_id, "active": "on"})
    assert theirs.get("/").status_code == 302, "the old session does not come back"
    assert window(grace).get("/").status_code == 200
    with pytest.raises(NotAllowed):
        set_active(user=admin, active=False, by=admin)


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (FIREFOX, "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/129.0 Safari/537.36 Edg/129.0", "Edge on Windows"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 14) Version/17 Safari/605", "Safari on macOS"),
        ("curl/8.5.0", "curl/8.5.0"),
        ("", "unknown"),
    ],
)
def test_browsers_have_names(agent, name):
    assert name_browser(agent) == name


def test_an_erased_person_leaves_no_session_invitation_or_account_at_the_provider(admin, grace):
    path, _ = make_link(admin)
    client = window(grace)
    client.post(path)
    SocialAccount.objects.create(user=grace, provider="https://login.example.org", uid="grace")
    gone = erase_account(user=grace, by=None)
    assert gone["accounts_invitation"] == gone["socialaccount_socialaccount"] == 1
    assert gone["usersessions_usersession"] == 1
    assert client.get("/").status_code == 302


# Who can see what.


def test_the_page_says_how_people_sign_in_and_what_roles_open(admin, grace, study):
    Membership.objects.filter(user=grace).update(provided=True)
    page = window(admin).get("/study/people/")
    text = re.sub(r"<[^>]*>|\s+", " ", page.text)
    assert re.search(r"grace +Clinician · by group +password", text)
    assert "Only the review queue" in page.text
    assert "cannot open its cases in any role" in page.text


def test_nobody_can_lock_a_person_out_from_another_address(grace):
    for _ in range(20):
        window(REMOTE_ADDR="10.6.6.6").post(
            "/sign-in/", {"username": "grace", "password": "guess"}, REMOTE_ADDR="10.6.6.6"
        )
    locked = Client().post(
        "/sign-in/", {"username": "grace", "password": PASSWORD}, REMOTE_ADDR="10.6.6.6"
    )
    assert "Too many attempts" in locked.text
    assert window(grace, REMOTE_ADDR="10.0.0.8").get("/").status_code == 200
