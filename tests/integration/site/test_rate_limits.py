"""Limits of costly requests for each person, on pages and in the API."""

import pytest
from django.test import Client
from django.urls import get_resolver, reverse

from accounts.api_access.tokens import issue_token
from accounts.models import Role, SignInAttempts
from config.web import rate_limits
from config.web.rate_limits import GROUPS
from tests import factories
from tests.integration.site.test_role_matrix import list_names

pytestmark = pytest.mark.django_db

#: Addresses that make a file or a table of one, which no name may do without a limit.
FILES = ("_table", "_csv", "_file", "_download", "_export", "_figure", "_reasons")


@pytest.fixture
def study(settings):
    settings.REQUEST_LIMITS = 1
    return factories.make_study()


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Three instead of many, so that a test need not ask so often."""
    few = {
        address: rate_limits.Group(group.name, 3, group.addresses, group.starts)
        for address, group in rate_limits._BY_ADDRESS.items()
    }
    monkeypatch.setattr(rate_limits, "_BY_ADDRESS", few)


@pytest.fixture
def admin(study):
    return factories.make_user(study, Role.ADMIN)


@pytest.fixture
def web(admin):
    client = Client()
    client.force_login(admin)
    return client


SEARCH = "/cases/search/"


def search(client, **extra):
    return client.post(SEARCH, {"text": "fever"}, **extra)


def test_the_fourth_search_of_a_minute_has_to_wait(web):
    assert [search(web).status_code for _ in range(4)] == [200, 200, 200, 429]
    answer = search(web)
    assert 1 <= int(answer["Retry-After"]) <= 60
    assert "Too many requests at once" in answer.text
    assert "Nothing was changed" in answer.text


def test_scripts_of_pages_get_a_sentence(web):
    for _ in range(3):
        search(web)
    answer = search(web, headers={"Accept": "application/json"})
    assert answer.json()["message"].startswith("Too many requests. Try again in ")


def test_other_people_and_other_groups_are_not_limited(web, study):
    for _ in range(4):
        search(web)
    other = Client()
    other.force_login(factories.make_user(study, Role.CLINICIAN))
    assert search(other).status_code == 200
    assert web.get("/cases/").status_code == 200
    assert web.get("/exports/new/").status_code == 200


def test_a_form_is_shown_without_limit_and_sent_with_one(web):
    assert {web.get("/exports/new/").status_code for _ in range(5)} == {200}
    assert [web.post("/exports/new/", {}).status_code for _ in range(4)][3] == 429


def test_the_api_has_the_same_limits_and_count(web, admin):
    _, token = issue_token(user=admin, label="script", by=None)
    program = Client(headers={"Authorization": f"Bearer {token}"})
    search(web)
    search(web)
    ask = lambda: program.post(  # noqa: E731
        reverse("timelines_api:case_search"), {"text": "fever"}, content_type="application/json"
    )
    assert ask().status_code == 200
    answer = ask()
    assert (answer.status_code, answer.json()["code"]) == (429, "throttled")
    assert answer["Retry-After"] == str(answer.json()["retry_after"])
    assert search(web).status_code == 429


def test_the_limits_can_be_raised_and_switched_off(web, settings):
    settings.REQUEST_LIMITS = 2
    assert [search(web).status_code for _ in range(7)] == [200] * 6 + [429]
    settings.REQUEST_LIMITS = 0
    assert search(web).status_code == 200


def test_what_is_not_costly_is_not_counted(web):
    web.get("/cases/")
    assert not SignInAttempts.objects.exists()


def test_people_who_are_not_signed_in_are_sent_to_sign_in(study):
    assert {search(Client()).status_code for _ in range(5)} == {302}


def addresses():
    return set(list_names(get_resolver().url_patterns))


def test_the_table_names_addresses_that_exist_once():
    named = [address for group in GROUPS for address in sorted(group.addresses)]
    assert set(named) <= addresses()
    assert len(named) == len(set(named))


def test_every_address_that_makes_a_file_is_in_the_table():
    named = {address for group in GROUPS for address in group.addresses}
    files = {a for a in addresses() if a.endswith(FILES)}
    assert files - named == set()
    assert len(files) > 25
