"""What needs the operator, in sentences: what is wrong, what to do."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.utils import timezone

from accounts.wording import describe_duration, format_count, inflect_noun
from config.operations.state import QueueLine, State
from jobs.health.stuck import LOST

#: The sweeper runs every few seconds.
SWEEP_OVERDUE = timedelta(minutes=2)
BACKUP_OVERDUE = timedelta(hours=36)
MAIL_OVERDUE = timedelta(minutes=15)


def find_problems(state: State) -> list[str]:
    """Return the sentences, the most urgent first."""
    now = timezone.now()
    return [
        *_find_in_broker(state, now),
        *(_describe_queue(line) for line in state.queues if line.idle_without_worker),
        *_find_in_database(state),
        *(f"The disk of the {disk.place} is almost full." for disk in state.disks if disk.low),
        *_find_in_backups(state, now),
        *_find_in_messages(state),
    ]


def _find_in_broker(state: State, now: datetime) -> Iterator[str]:
    if state.broker is None:
        yield "The broker does not answer. Workers get no work until it does."
    elif state.broker.swept is None:
        yield "The sweeper has not run. Start the scheduler (celery beat) and a worker of `pipeline`."
    elif now - state.broker.swept > SWEEP_OVERDUE:
        yield (
            f"The sweeper ran {describe_duration(now - state.broker.swept)} ago. Start the scheduler (celery beat)"
            " and a worker of `pipeline`."
        )


def _describe_queue(line: QueueLine) -> str:
    waits = format_count(line.jobs, "job") if line.jobs else format_count(line.messages, "message")
    verb = inflect_noun(line.jobs or line.messages, "waits", "wait")
    return f"No worker for `{line.name}`. {waits} {verb}. Start a worker of this queue."


def _find_in_database(state: State) -> Iterator[str]:
    if missing := state.missing_migrations:
        yield f"{format_count(missing, 'migration')} not applied. Run manage.py migrate."
    if lost := sum(job.why == LOST for job in state.stuck):
        yield f"{format_count(lost, 'job')} lost the worker and nothing took over."


def _find_in_backups(state: State, now: datetime) -> Iterator[str]:
    last, good = state.backup, state.good_backup
    if last is not None and not last.ok:
        yield f"The last backup failed. {last.reason}".strip()
    elif good is None:
        yield "No backup was made yet. Run manage.py backup."
    elif now - good.at > BACKUP_OVERDUE:
        yield f"The last backup is {describe_duration(now - good.at)} old."


def _find_in_messages(state: State) -> Iterator[str]:
    messages = state.messages
    if messages.oldest is not None and messages.oldest > MAIL_OVERDUE:
        yield f"{format_count(messages.waiting, 'mail')} not sent yet. Check EMAIL_HOST."
    if messages.given_up:
        were = inflect_noun(messages.given_up, "was", "were")
        yield f"{format_count(messages.given_up, 'mail')} could not be sent and {were} given up."
    if messages.failed_deliveries:
        count = format_count(messages.failed_deliveries, "webhook message")
        yield f"{count} not accepted by the receiver."
