"""Run one worker, as a container does; stopping it costs no attempt.

`python -m config.services.worker --queues judge …` takes the options of Celery's worker. On SIGTERM
the worker hands its jobs back. If it does not end in time, it is killed and its jobs are requeued
(docs/adr/0037-stopping-and-limits.md).
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping, Sequence

from config.services.commands import command
from config.services.supervisor import Child, kill_group, start, stop_children
from config.services.terminal import end_on_sigterm, print_now


def make_worker(options: Sequence[str], environment: Mapping[str, str] | None = None) -> Child:
    """Return a worker with these options of Celery."""
    celery = [sys.executable, "-m", "celery", "--app", "config", "worker", *options]
    return Child("worker", celery, dict(environment or {}), after_kill=command("give_back_jobs"))


def main(options: Sequence[str]) -> int:
    """Run the worker until its end or a signal; return the exit status."""
    end_on_sigterm()
    return run_worker(make_worker(options))


def run_worker(worker: Child) -> int:
    """As `main`, for a worker that is not started yet."""
    try:
        status = start(worker).wait()
    except KeyboardInterrupt:
        # A second signal must not end the wait: the jobs would lose their attempt.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        stop_children([worker], print_now)
        return 0
    kill_group(worker)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
