"""Limit sign-ins for each name and address, each address, and in all.

The counts are in the database, on database time (`accounts.requests.counting`). A browser in which
that person has signed in before has its own count and no other, so that nobody can lock out
somebody else (`accounts.sign_in.devices`). Why not a package: the usual ones store the names as
typed, and people now and then type their password there (docs/adr/0012-accounts-roles-scoping.md,
docs/adr/0073-attack.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

from django.conf import settings
from django.db import connection
from django.http import HttpRequest

from accounts.models import SignInAttempts
from accounts.requests import counting
from accounts.requests.counting import Count, Limit
from accounts.sign_in.devices import find_device
from accounts.wording import format_count

_ATTEMPT = "sign_in_attempt"


@dataclass(frozen=True)
class Attempt:
    """The counts that one attempt spent, until one refused it.

    The first is that of the name and its address or browser.
    """

    counts: tuple[Count, ...]

    @property
    def allowed(self) -> bool:
        """True if a password may be checked."""
        return all(count.allowed for count in self.counts)

    @property
    def wait(self) -> int:
        """Seconds until the next attempt; 0 if it may come now."""
        return max(count.wait for count in self.counts)

    def find_count(self, *, known_account: bool) -> Count:
        """Return the count that speaks for this attempt in the trail.

        It is the one that refused it; else the pair's for an account, and the address's for names
        that are none, of which there is no end.
        """
        refused = next((count for count in self.counts if not count.allowed), None)
        return refused or self.counts[0 if known_account else min(1, len(self.counts) - 1)]


def spend_attempt(request: HttpRequest, username: str, *, signing_in: bool) -> Attempt:
    """Use up one attempt, and note it for `find_attempt`.

    A person who is signed in, or a browser that is known, spends only its own.
    """
    device = find_device(request, username)
    minutes = settings.SIGN_IN_LOCK_MINUTES * 60
    counts = [spend(make_key(request, username, device))]
    if signing_in and not device:
        network = counting.make_key("address", client_network(request))
        for key, most in (
            (network, settings.SIGN_IN_ADDRESS_ATTEMPTS),
            (counting.make_key("all"), settings.SIGN_IN_TOTAL_ATTEMPTS),
        ):
            if counts[-1].allowed:
                counts.append(counting.spend(key, Limit(most, minutes)))
    attempt = Attempt(tuple(counts))
    setattr(request, _ATTEMPT, attempt)
    return attempt


def find_attempt(request: HttpRequest | None) -> Attempt | None:
    """Return the latest attempt of a request."""
    return getattr(request, _ATTEMPT, None)


def give_back(attempt: Attempt) -> None:
    """Uncount an attempt that was no guess: no password was checked."""
    for count in attempt.counts:
        counting.give_back(count.key)


def forgive(attempt: Attempt) -> None:
    """Forget the failures of the pair after a success, and this attempt."""
    clear(attempt.counts[0].key)
    give_back(Attempt(attempt.counts[1:]))


def make_key(request: HttpRequest, username: str, device: str = "") -> str:
    """Return a digest of name and address, or of name and browser."""
    return counting.make_key(username.strip().casefold(), device or client_address(request))


def client_address(request: HttpRequest) -> str:
    """Return the client's address.

    Behind our own proxy (BEHIND_PROXY) it is the last one, which the proxy appended.
    """
    if settings.SECURE_PROXY_SSL_HEADER:
        forwarded: str = request.META.get("HTTP_X_FORWARDED_FOR", "")
        if forwarded:
            return forwarded.rsplit(",", 1)[-1].strip()
    return str(request.META.get("REMOTE_ADDR", ""))


def client_network(request: HttpRequest) -> str:
    """Return the address, or its network of 2⁶⁴ addresses in IPv6.

    One customer of a provider has that many.
    """
    address = client_address(request)
    try:
        known = ip_address(address)
    except ValueError:
        return address
    if not isinstance(known, IPv6Address) or known.ipv4_mapped:
        return address
    return str(ip_network((known, 64), strict=False))


def spend(key: str) -> Count:
    """Use up one attempt of a name.

    The wait begins with the last attempt; further attempts do not extend it.
    """
    limit = Limit(settings.SIGN_IN_ATTEMPTS, settings.SIGN_IN_LOCK_MINUTES * 60, renewed=True)
    return counting.spend(key, limit)


def clear(key: str) -> None:
    """Forget the failures of the pair after a success."""
    SignInAttempts.objects.filter(key=key).delete()


def seconds_locked(key: str) -> int:
    """Return the seconds until the pair may try again; 0 if it may now."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT ceil(extract(epoch FROM window_ends_at - statement_timestamp())) FROM"
            " accounts_signinattempts WHERE key = %s AND count >= %s AND window_ends_at >"
            " statement_timestamp()",
            [key, settings.SIGN_IN_ATTEMPTS],
        )
        row = cursor.fetchone()
    return int(row[0]) if row else 0


def describe_wait(seconds: int) -> str:
    """Return the wait in words: "40 seconds", "1 minute", "14 minutes".

    Minutes are rounded up.
    """
    if seconds < 60:
        return format_count(seconds, "second")
    minutes = -(-seconds // 60)
    return format_count(minutes, "minute")
