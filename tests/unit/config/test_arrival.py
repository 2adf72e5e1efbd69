"""When the bytes of a connection are a request that a thread may answer."""

import pytest
from django.conf import settings

from config.web.arrival import CONTINUE, LARGEST_BODY, LONGEST_HEAD, NO_LENGTH, Arrival

GET = b"GET / HTTP/1.1\r\nHost: a\r\n"


def arrive(*pieces):
    arrival = Arrival()
    for piece in pieces:
        arrival.add(piece)
    return arrival


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        ([b""], False),
        ([GET], False),
        ([GET, b"\r\n"], True),
        ([GET, b"\r", b"\n"], True),
        ([GET, b"Content-Length: 3\r\n\r\n"], False),
        ([GET, b"Content-Length: 3\r\n\r\nab"], False),
        ([GET, b"CONTENT-LENGTH:3\r\n\r\nab", b"c"], True),
        ([GET, b"Content-Length: 3\r\n\r\nabcGET"], True),
        # gunicorn refuses these: nothing to wait for.
        ([GET, b"Content-Length: three\r\n\r\n"], True),
        ([GET, b"Content-Length: " + b"9" * 30 + b"\r\n\r\n"], True),
        ([b"x" * (LONGEST_HEAD + 1)], True),
    ],
)
def test_whole(pieces, whole):
    assert arrive(*pieces).whole is whole


def test_a_large_body_is_read_while_it_is_answered():
    head = GET + b"Content-Length: %d\r\n\r\n"
    small, large = arrive(head % LARGEST_BODY), arrive(head % (LARGEST_BODY + 1))
    assert (small.whole, small.streamed) == (False, False)
    assert (large.whole, large.streamed) == (True, True)
    assert settings.DATA_UPLOAD_MAX_MEMORY_SIZE == LARGEST_BODY


def test_a_client_that_asks_first_is_answered_at_once():
    head = GET + b"Content-Length: 3\r\nExpect: 100-Continue\r\n\r\n"
    assert arrive(head).reply == CONTINUE
    assert arrive(head + b"abc").reply == b""


def test_a_body_without_length_is_refused():
    arrival = arrive(GET + b"Transfer-Encoding: chunked\r\n\r\n")
    assert (arrival.reply, arrival.refused) == (NO_LENGTH, True)
