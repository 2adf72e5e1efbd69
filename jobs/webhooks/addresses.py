"""Which addresses a webhook may have.

A server that sends to any address can be used to reach services that only it can reach. Names are
therefore resolved, and every address that they lead to must be public.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings

LONGEST = 500


class AddressRefused(ValueError):
    """An address that no webhook may have; the message says why."""

    log_safe = True
    retryable = False


class AddressUnknown(RuntimeError):
    """The name of the host cannot be resolved at the moment."""

    log_safe = True


@dataclass(frozen=True, slots=True)
class Target:
    """An address that was checked: the host by name, and where it is."""

    https: bool
    host: str
    port: int
    ip: str
    path: str


def check_address(url: str) -> None:
    """Raise AddressRefused for an address that cannot be one of a webhook.

    The name is not resolved here: `find_target` does so for each message.
    """
    _split(url)


def find_target(url: str) -> Target:
    """Resolve the host, once: the message goes to exactly this address.

    Raises AddressRefused, AddressUnknown.
    """
    https, host, port, path = _split(url)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise AddressUnknown("the name of the webhook's host cannot be resolved") from None
    addresses = [str(entry[4][0]) for entry in found]
    for address in addresses:
        _check_public(address)
    return Target(https, host, port, addresses[0], path)


def _split(url: str) -> tuple[bool, str, int, str]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise AddressRefused("This is not an address. Enter https://host/path.") from None
    schemes = ("https", "http") if settings.WEBHOOK_HTTP else ("https",)
    if parts.scheme not in schemes or not host or len(url) > LONGEST or not url.isascii():
        raise AddressRefused(
            f"Enter an address that begins with {' or '.join(f'{s}://' for s in schemes)} and has"
            f" at most {LONGEST} characters."
        )
    if parts.username or parts.password or any(c <= " " or c == "\x7f" for c in url):
        raise AddressRefused("The address must not have a user name, a password or spaces.")
    if _is_ip(host):
        _check_public(host)
    https = parts.scheme == "https"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return https, host, port or (443 if https else 80), path


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _check_public(address: str) -> None:
    found = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(found, "ipv4_mapped", None)
    if not settings.WEBHOOK_PRIVATE and not (mapped or found).is_global:
        raise AddressRefused(
            "The host is in a private network. The operator can allow that with WEBHOOK_PRIVATE."
        )
