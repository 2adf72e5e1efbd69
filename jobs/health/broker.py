"""A client of the broker that never waits long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from celery import current_app
from django.conf import settings
from kombu.exceptions import KombuError
from kombu.transport.redis import Channel
from redis.exceptions import RedisError

#: Seconds that the broker has to accept a connection, and for each answer.
PATIENCE = 2.0
#: What a broker that is away, hangs or refuses us raises.
AWAY = (OSError, KombuError, RedisError)


@contextmanager
def open_broker() -> Iterator[Any]:
    """Yield a client of the broker (redis-py), which has answered a ping.

    Raises one of AWAY.
    """
    waits = {"socket_timeout": PATIENCE, "socket_connect_timeout": PATIENCE}
    options = {**settings.CELERY_BROKER_TRANSPORT_OPTIONS, **waits}
    with (
        current_app.connection_for_read(transport_options=options) as broker,
        broker.channel() as channel,  # pings
    ):
        yield channel.client


def count_messages(broker: Any) -> dict[str, int]:
    """Return how many messages wait, by queue.

    Each level of priority (`jobs.hints`) is a list of its own.
    """
    levels = ["", *(f"{Channel.sep}{step}" for step in Channel.priority_steps if step)]
    return {
        queue: sum(broker.llen(f"{queue}{level}") for level in levels) for queue in settings.QUEUES
    }
