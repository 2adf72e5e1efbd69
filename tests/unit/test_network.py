"""The network block of the test session lets only this machine through."""

import socket
import urllib.request

import pytest

from tests.network import NetworkBlocked, is_local


@pytest.mark.parametrize("method", ["connect", "connect_ex"])
def test_another_machine_cannot_be_reached(method):
    with socket.socket() as client, pytest.raises(NetworkBlocked):
        getattr(client, method)(("192.0.2.1", 80))


def test_a_datagram_cannot_leave():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client, pytest.raises(NetworkBlocked):
        client.sendto(b"x", ("192.0.2.1", 53))


def test_names_are_not_looked_up():
    with pytest.raises(NetworkBlocked):
        socket.getaddrinfo("example.org", 443)


def test_a_library_cannot_fetch_a_page():
    with pytest.raises(NetworkBlocked):
        urllib.request.urlopen("http://example.org/")


def test_loopback_works():
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        assert client.getpeername() == server.getsockname()


@pytest.mark.parametrize(
    ("family", "address", "expected"),
    [
        (socket.AF_UNIX, "/tmp/x.sock", True),
        (socket.AF_INET, ("127.0.0.1", 80), True),
        (socket.AF_INET, ("127.8.9.1", 80), True),
        (socket.AF_INET6, ("::1", 80, 0, 0), True),
        (socket.AF_INET, ("localhost", 80), True),
        (socket.AF_INET, ("10.0.0.1", 80), False),
        (socket.AF_INET, ("localhost.example.org", 80), False),
    ],
)
def test_what_counts_as_local(family, address, expected):
    assert is_local(family, address) is expected
