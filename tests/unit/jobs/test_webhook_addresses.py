"""Addresses of webhooks: public, https, and what is signed."""

from __future__ import annotations

import hashlib
import hmac
import socket

import pytest

from jobs.webhooks import addresses
from jobs.webhooks.addresses import AddressRefused, AddressUnknown, check_address, find_target
from jobs.webhooks.delivery import sign


def resolve_to(monkeypatch, *ips):
    def getaddrinfo(host, port, **how):
        if not ips:
            raise socket.gaierror
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in ips]

    monkeypatch.setattr(addresses.socket, "getaddrinfo", getaddrinfo)


@pytest.mark.parametrize(
    "url",
    [
        "http://receiver.example/",
        "ftp://receiver.example/",
        "https://",
        "https:///path",
        "https://user:pass@receiver.example/",
        "https://receiver.example/a b",
        "https://receiver.example/\r\nHost: x",
        "https://receiver.example:99999/",
        "https://[::1/",
        "https://ä.example/",
        "https://receiver.example/" + "x" * 500,
        "https://127.0.0.1/",
        "https://10.1.2.3/",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://[fd00::1]/",
        "https://0.0.0.0/",
        "javascript:alert(1)",
        "",
    ],
)
def test_odd_and_private_addresses_are_refused(url):
    with pytest.raises(AddressRefused):
        check_address(url)


def test_settings_allow_http_and_private_networks(settings):
    settings.WEBHOOK_HTTP = settings.WEBHOOK_PRIVATE = True
    check_address("http://10.1.2.3:8080/hook?x=1")


def test_every_address_of_the_name_must_be_public(monkeypatch):
    resolve_to(monkeypatch, "93.184.215.14", "10.0.0.1")
    with pytest.raises(AddressRefused, match="WEBHOOK_PRIVATE"):
        find_target("https://receiver.example/hook")
    resolve_to(monkeypatch, "93.184.215.14")
    target = find_target("https://receiver.example/hook?x=1")
    assert (target.ip, target.port, target.path) == ("93.184.215.14", 443, "/hook?x=1")
    assert (target.host, target.https) == ("receiver.example", True)
    resolve_to(monkeypatch)
    with pytest.raises(AddressUnknown):
        find_target("https://receiver.example/")


def test_the_signature_covers_time_and_body():
    expected = hmac.new(b"key", b'17.{"a": 1}', hashlib.sha256).hexdigest()
    assert sign("key", 17, b'{"a": 1}') == f"t=17,v1={expected}"
    assert sign("key", 18, b'{"a": 1}') != sign("key", 17, b'{"a": 1}')
