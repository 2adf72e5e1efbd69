"""Work on a second connection, to test concurrent transactions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet

PATIENCE_SECONDS = 60.0


class BackgroundAct:
    """`act` on a thread with a connection of its own."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self._act = act
        self._answer: Any = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def settle(self) -> BackgroundAct:
        """Return once it is done or waits for a lock that another connection has."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self._thread.is_alive() and not has_waiting_connection():
            assert time.monotonic() < deadline, "neither done nor waiting"
            time.sleep(0.01)
        return self

    def answer(self) -> Any:
        """What it returned, once it is done; raises what it raised."""
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive(), "it waits for ever"
        if self._error is not None:
            raise self._error
        return self._answer

    def _run(self) -> None:
        try:
            self._answer = self._act()
        except BaseException as error:
            self._error = error
        finally:
            connection.close()


def has_waiting_connection() -> bool:
    """Whether another connection waits for a lock."""
    with connection.cursor() as cursor:
        # Inside a transaction, pg_stat_activity would give its first answer again.
        cursor.execute("SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)")
        return bool(cursor.fetchone()[0])


@contextmanager
def lock_rows(rows: QuerySet[Any]) -> Iterator[None]:
    """These rows are locked by another connection while the block runs."""
    taken, done = threading.Event(), threading.Event()

    def lock() -> None:
        with transaction.atomic():
            assert list(rows.select_for_update())
            taken.set()
            assert done.wait(PATIENCE_SECONDS)

    locker = BackgroundAct(lock)
    assert taken.wait(PATIENCE_SECONDS)
    try:
        yield
    finally:
        done.set()
        locker.answer()
