"""Half-sent requests keep no thread of the web process."""

import http.client
import time

import pytest

from config import gunicorn
from tests.support.web_server import HALF_SENT, HEAD, OURS, run_echo


@pytest.fixture(scope="module")
def server():
    with run_echo(OURS, threads=2) as running:
        yield running


def test_it_is_the_worker_that_is_deployed():
    assert gunicorn.worker_class == OURS


@pytest.mark.parametrize("body", [None, b"", b"x" * 1000, b"x" * 2_000_000, b"x" * 5_000_000])
def test_requests_of_every_size_are_answered(server, body):
    assert server.ask(body) == f"{len(body or b'')} bytes"


def test_a_client_that_asks_before_it_sends(server):
    assert server.ask(b"x" * 100_000, Expect="100-continue") == "100000 bytes"


def test_a_body_without_length_is_refused(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    connection.putrequest("POST", "/")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    assert connection.getresponse().status == 411
    connection.close()


def test_several_requests_use_one_connection(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    for size in (0, 10, 100_000):
        connection.request("POST", "/", b"x" * size)
        assert connection.getresponse().read() == f"{size} bytes".encode()
    connection.close()


def test_requests_that_come_together_are_all_answered(server):
    with server.half_sent(HEAD + b"\r\n" + HEAD + b"\r\n", clients=1):
        assert server.ask() == "0 bytes"


@pytest.mark.parametrize("sent", sorted(set(HALF_SENT) - {"large body"}))
def test_half_sent_requests_stop_no_answer(server, sent):
    with server.half_sent(HALF_SENT[sent]):
        started = time.monotonic()
        assert server.ask(b"x" * 1000, seconds=5) == "1000 bytes"
        assert time.monotonic() - started < 1


def test_more_connections_than_may_wait_drop_the_oldest(server):
    with server.half_sent(HEAD, clients=400):
        assert server.ask(seconds=5) == "0 bytes"
