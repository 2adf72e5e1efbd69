"""Error pages say what to do and repeat no input and no stored data."""

import pytest
from django.core.exceptions import SuspiciousOperation
from django.test import Client, RequestFactory, override_settings
from django.urls import path
from django.views import defaults

from accounts.models import User
from accounts.permissions import NotAllowed

CANARY = "Mr. Canary, 71, intracerebral haemorrhage"


def stumble(request):
    raise ValueError(CANARY)


def refuse(request):
    raise NotAllowed("This needs the role study admin in this study.")


def suspect(request):
    raise SuspiciousOperation(CANARY)


def _urls():
    from config.urls import urlpatterns as ours

    return [path("stumble/", stumble), path("refuse/", refuse), path("suspect/", suspect), *ours]


class Urls:
    urlpatterns = property(lambda self: _urls())


@pytest.fixture
def client(db):
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create(username="ada"))
    with override_settings(ROOT_URLCONF=Urls()):
        yield client


@pytest.mark.parametrize(
    ("address", "status", "words"),
    [
        ("/stumble/", 500, "Something went wrong"),
        ("/suspect/", 400, "did not understand"),
        ("/refuse/", 403, "needs the role study admin"),
        ("/no/such/page/", 404, "no such page"),
    ],
)
def test_each_error_has_its_page_without_what_caused_it(client, address, status, words):
    response = client.get(address, {"text": CANARY})
    assert response.status_code == status
    assert words in response.text
    assert "Canary" not in response.text
    assert "Traceback" not in response.text


def test_the_plain_pages_need_neither_request_nor_database():
    """A server error may come from either, so this page must not ask them."""
    request = RequestFactory().get("/")
    assert defaults.server_error(request).status_code == 500
    assert defaults.bad_request(request, ValueError(CANARY)).status_code == 400
