"""Count failed sign-ins for each pair of name and address.

The counts are in the database, on database time. Why not a package: the counting is one locked row,
and the usual packages store the names as typed, and people now and then type their password there
(docs/adr/0012-accounts-roles-scoping.md).
"""

from __future__ import annotations

from django.conf import settings
from django.db import connection, transaction
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from accounts.models import SignInAttempts
from accounts.wording import format_count

_SPEND = """
INSERT INTO accounts_signinattempts AS seen (key, count, window_ends_at)
VALUES (%(key)s, 1, statement_timestamp() + make_interval(mins => %(minutes)s))
ON CONFLICT (key) DO UPDATE SET
    count = CASE WHEN seen.window_ends_at <= statement_timestamp() THEN 1 ELSE seen.count + 1 END,
    window_ends_at = CASE WHEN seen.window_ends_at <= statement_timestamp() OR seen.count < %(limit)s
                          THEN statement_timestamp() + make_interval(mins => %(minutes)s) ELSE seen.window_ends_at END
RETURNING count
"""


def make_key(request: HttpRequest, username: str) -> str:
    """Return a digest of name and address, so that the table stores neither."""
    pair = f"{username.strip().casefold()}\n{client_address(request)}"
    return salted_hmac("accounts.sign_in.throttle", pair, algorithm="sha256").hexdigest()


def client_address(request: HttpRequest) -> str:
    """Return the client's address.

    Behind our own proxy (BEHIND_PROXY) it is the last one, which the proxy appended.
    """
    if settings.SECURE_PROXY_SSL_HEADER:
        forwarded: str = request.META.get("HTTP_X_FORWARDED_FOR", "")
        if forwarded:
            return forwarded.rsplit(",", 1)[-1].strip()
    return str(request.META.get("REMOTE_ADDR", ""))


def spend(key: str) -> bool:
    """Use up one attempt; return False if none is left.

    The wait begins with the last attempt; further attempts do not extend it.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            _SPEND,
            {
                "key": key,
                "limit": settings.SIGN_IN_ATTEMPTS,
                "minutes": settings.SIGN_IN_LOCK_MINUTES,
            },
        )
        (count,) = cursor.fetchone()
    return bool(count <= settings.SIGN_IN_ATTEMPTS)


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
