"""Exceptions that end the work on a job early.

Their messages are ours and safe to log; other exceptions' messages are not.
"""

from __future__ import annotations


class LostLease(Exception):
    """Another worker has the job or may take it: write nothing more."""

    log_safe = True


class JobCancelled(Exception):
    """Someone asked for the job to stop."""

    log_safe = True


class RequeueJob(Exception):
    """The rest of the job is stored as work for workers of another queue.

    This is no failure.
    """

    log_safe = True


class WorkerStops(RequeueJob):
    """The worker was asked to end.

    Another worker does the job, and the attempt does not count.
    """


class PermanentFailure(Exception):
    """Trying again would fail the same way.

    The message is stored and shown: words an admin can act on, never patient text.
    """

    log_safe = True
    retryable = False


class OutOfTime(PermanentFailure):
    """The job took longer than its limit. Trying again would take as long."""


def describe_error(error: BaseException) -> str:
    """Return the stored reason of a failure: the class and a safe message.

    The message is left out unless the class marks it as safe (`log_safe`).
    """
    name = type(error).__name__
    message = str(error)
    return f"{name}: {message}" if message and getattr(type(error), "log_safe", False) else name
