"""No test talks to anything but this machine."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

LOCAL_NAMES = frozenset({"localhost", ""})


class NetworkBlocked(RuntimeError):
    """A test tried to reach another machine."""


def is_local(family: int, address: Any) -> bool:
    """True for unix sockets and loopback addresses."""
    if family == socket.AF_UNIX:
        return True
    host = address[0]
    if host in LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def block_network() -> None:
    """Refuse connections to other machines for the rest of the process."""
    _guard_socket("connect")
    _guard_socket("connect_ex")
    _guard_socket("sendto")
    resolve = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host or ""
        if not is_local(socket.AF_INET, (name,)):
            raise NetworkBlocked(f"A test asked for the address of {name}.")
        return resolve(host, *args, **kwargs)

    socket.getaddrinfo = getaddrinfo


def _guard_socket(method: str) -> None:
    original = getattr(socket.socket, method)

    def guarded(self: socket.socket, *args: Any) -> Any:
        address = args[-1]
        if not is_local(self.family, address):
            raise NetworkBlocked(f"A test tried to reach {address!r}.")
        return original(self, *args)

    setattr(socket.socket, method, guarded)
