"""Count what may happen only so often, in the database and on its time.

One row for each key, locked for one statement, so that several processes count together. Keys are
digests: the table stores neither names nor addresses of clients.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from django.db import connection
from django.db.models import F
from django.utils.crypto import salted_hmac

from accounts.models import SignInAttempts

_SPEND = """
INSERT INTO accounts_signinattempts AS seen (key, count, window_ends_at)
VALUES (%(key)s, 1, statement_timestamp() + make_interval(secs => %(seconds)s))
ON CONFLICT (key) DO UPDATE SET
    count = CASE WHEN seen.window_ends_at <= statement_timestamp() THEN 1 ELSE seen.count + 1 END,
    window_ends_at = CASE WHEN seen.window_ends_at <= statement_timestamp() OR (%(renewed)s AND seen.count < %(most)s)
                          THEN statement_timestamp() + make_interval(secs => %(seconds)s) ELSE seen.window_ends_at END
RETURNING count, greatest(1, ceil(extract(epoch FROM window_ends_at - statement_timestamp())))
"""


@dataclass(frozen=True)
class Limit:
    """At most so many in so many seconds.

    `renewed`: the window begins again with each of them until none is left.
    """

    most: int
    seconds: int
    renewed: bool = False


@dataclass(frozen=True)
class Count:
    """How many there were in the window that ends in `seconds`."""

    key: str
    count: int
    most: int
    seconds: int

    @property
    def allowed(self) -> bool:
        """True if this one was within the limit."""
        return self.count <= self.most

    @property
    def wait(self) -> int:
        """Seconds until there may be another one; 0 if there may be now."""
        return self.seconds if self.count >= self.most else 0


def make_key(*words: str) -> str:
    """Return a digest of the words."""
    return salted_hmac(
        "accounts.sign_in.throttle", "\n".join(words), algorithm="sha256"
    ).hexdigest()


def spend(key: str, limit: Limit) -> Count:
    """Count one more; the window of a limit that is reached stays."""
    values: dict[str, str | int] = {"key": key, **asdict(limit)}
    with connection.cursor() as cursor:
        cursor.execute(_SPEND, values)
        count, seconds = cursor.fetchone()
    return Count(key, count, limit.most, int(seconds))


def give_back(key: str) -> None:
    """Uncount one."""
    SignInAttempts.objects.filter(key=key, count__gt=0).update(count=F("count") - 1)


def delete_ended() -> int:
    """Delete the rows of windows that have ended; return how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM accounts_signinattempts WHERE window_ends_at < statement_timestamp()"
        )
        return cursor.rowcount
