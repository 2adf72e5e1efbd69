"""Empty the broker that the tests of one process share."""

from __future__ import annotations

from celery import current_app

from jobs.health import presence
from jobs.health.broker import open_broker


def purge_queues() -> None:
    """Delete the messages of every queue and priority."""
    with current_app.connection_for_write() as broker, broker.channel() as channel:
        for queue in current_app.amqp.queues:
            channel.queue_purge(queue)


def empty_broker() -> None:
    """Delete all messages, and what workers and the sweeper reported."""
    purge_queues()
    with open_broker() as broker:
        broker.delete(presence.KEY, presence.SWEPT)
