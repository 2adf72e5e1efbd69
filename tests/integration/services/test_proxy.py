"""The shipped configuration of nginx, run in front of a plain web process."""

import http.client
import socket
import ssl
import time
from contextlib import ExitStack, suppress

import pytest

from tests.support.proxy import run_proxy
from tests.support.web_server import run_echo

TRUST_ALL = ssl._create_unverified_context()
HALF = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nabc"


@pytest.fixture(scope="module")
def ports(tmp_path_factory):
    """gunicorn's own worker, which half-sent requests stop."""
    with run_echo("gthread") as web, run_proxy(tmp_path_factory.mktemp("nginx"), web.port) as found:
        yield found


def ask(port, path="/", body=None, **headers):
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=TRUST_ALL)
    try:
        connection.request("GET" if body is None else "POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def test_http_is_sent_to_https(ports):
    connection = http.client.HTTPConnection("127.0.0.1", ports[0], timeout=10)
    connection.request("GET", "/cases/?page=2", headers={"Host": "occurrent.example.org"})
    answer = connection.getresponse()
    assert answer.status == 301
    assert answer.headers["Location"] == "https://occurrent.example.org/cases/?page=2"
    connection.close()


def test_requests_reach_the_web_process(ports):
    assert ask(ports[1]) == (200, "0 bytes")
    assert ask(ports[1], body=b"x" * 1_000_000) == (200, "1000000 bytes")


def test_headers_of_the_client_about_itself_are_replaced(ports):
    status, answer = ask(
        ports[1], "/headers", **{"X-Forwarded-For": "6.6.6.6", "X-Forwarded-Proto": "http"}
    )
    assert (status, answer) == (200, "127.0.0.1 https")


def test_half_sent_requests_stop_no_answer(ports):
    with ExitStack() as stack:
        for _ in range(24):
            plain = socket.create_connection(("127.0.0.1", ports[1]))
            client = stack.enter_context(TRUST_ALL.wrap_socket(plain))
            client.sendall(HALF)
        time.sleep(0.3)
        started = time.monotonic()
        assert ask(ports[1], body=b"x" * 1000) == (200, "1000 bytes")
        assert time.monotonic() - started < 1


def test_large_bodies_are_taken_where_imports_arrive_alone(ports):
    large = b"x" * 4_000_000
    assert ask(ports[1], "/imports/new/", large) == (200, "4000000 bytes")
    assert ask(ports[1], "/api/imports/", large) == (200, "4000000 bytes")
    for path in ("/", "/sign-in/", "/imports/new/x/", "/api/imports/a/check/"):
        with suppress(BrokenPipeError, ConnectionResetError):
            assert ask(ports[1], path, large)[0] == 413


def test_a_flood_of_passwords_is_refused_and_pages_are_not(ports):
    statuses = [ask(ports[1], "/sign-in/", b"username=a")[0] for _ in range(40)]
    assert statuses[:20] == [200] * 20
    assert 429 in statuses
    assert ask(ports[1], "/sign-in/")[0] == 200
    assert ask(ports[1])[0] == 200


@pytest.mark.parametrize("path", ["/metrics", "/metrics/", "/readyz", "/readyz/"])
def test_what_is_for_monitoring_is_not_public(ports, path):
    assert ask(ports[1], path)[0] == 404
