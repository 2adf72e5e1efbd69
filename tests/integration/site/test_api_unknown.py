"""Unknown addresses of the API get a refusal in the API's form, no page."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts.models import Role
from tests import factories
from tests.support.api import ApiClient

pytestmark = pytest.mark.django_db
MISSING = {"code": "not_found", "detail": "It does not exist, or you cannot access it."}


@pytest.fixture
def api() -> ApiClient:
    return ApiClient(factories.make_user(factories.make_study(), Role.ADMIN))


@pytest.mark.parametrize(
    "path",
    [
        "",
        "nothing",
        "nothing/",
        "judge-runs/RUN/nothing/",
        "schema/nothing",
        "no thing/%00/",
        "no%0Athing/",
    ],
)
def test_it_is_told_as_every_other_thing_that_there_is_not(api, path):
    assert api.get(path) == (404, MISSING)
    assert api.post(path) == (404, MISSING)
    assert api.delete(path) == (404, MISSING)


def test_it_is_the_body_of_a_known_address_without_its_row(api):
    assert api.get("judge-runs/nothing/") == (404, MISSING)


def test_whoever_is_not_signed_in_learns_nothing():
    answer = Client().get("/api/nothing/")
    assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")
    assert answer.json() == Client().get("/api/judge-runs/").json()


def test_a_missing_slash_still_leads_to_the_address(api):
    answer = api.client.get("/api/judge-runs?limit=3", headers=api.headers)
    assert (answer.status_code, answer["Location"]) == (301, "/api/judge-runs/?limit=3")
