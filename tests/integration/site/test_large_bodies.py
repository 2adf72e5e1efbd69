"""Large bodies are read only from people who may send them."""

import io

import pytest
from django.test import Client, RequestFactory

from accounts.models import Role
from accounts.requests.guard import UPLOADS, find_refusal
from accounts.requests.middleware import UploadMiddleware
from tests import factories

pytestmark = pytest.mark.django_db

LARGE = 3_000_000
FORM = "multipart/form-data; boundary=x"


class Unread(io.BytesIO):
    """A body that must not be read: a client that never sends the rest."""

    def read(self, size=-1):
        raise AssertionError("the body was read")


def send(path, *, client=None, length=LARGE, kind=FORM, body=None, **extra):
    stream = Unread() if body is None else io.BytesIO(body)
    return (client or Client()).generic(
        "POST",
        path,
        content_type=kind,
        **{"wsgi.input": stream, "CONTENT_LENGTH": str(length)},
        **extra,
    )


@pytest.mark.parametrize("kind", [FORM, "application/x-www-form-urlencoded"])
@pytest.mark.parametrize("path", ["/sign-in/", "/cases/search/", "/no/such/page", UPLOADS])
def test_nobody_reads_a_large_body_of_somebody_unknown(path, kind):
    answer = send(path, kind=kind)
    assert answer.status_code == 413
    assert "too large" in answer.text


def test_the_api_asks_for_the_token_first():
    for path in ("/api/imports/", "/api/exports/"):
        assert send(path, kind="application/json").status_code == 401


def test_people_send_large_files_to_the_page_of_imports_alone():
    client = Client()
    client.force_login(factories.make_user(factories.make_study(), Role.ADMIN))
    assert send("/cases/search/", client=client).status_code == 413
    part = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
    body = part + b"x" * LARGE + b"\r\n--x--\r\n"
    answer = send(UPLOADS, client=client, body=body, length=len(body))
    assert answer.status_code in (200, 302)


def test_small_bodies_are_read_as_before():
    answer = Client().post("/sign-in/", {"username": "a", "password": "b"})
    assert "do not match" in answer.text
    assert Client().post(UPLOADS, {}).status_code == 302


@pytest.mark.parametrize("length", ["", "abc", "-1", "0"])
def test_odd_lengths_are_small(length):
    request = RequestFactory().generic("GET", "/", CONTENT_LENGTH=length)
    assert find_refusal(request) is None
    assert UploadMiddleware(lambda request: "answered")(request) == "answered"
