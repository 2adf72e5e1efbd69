"""`manage.py give_back_jobs PID…`: requeue the jobs of killed processes.

`make run` calls it after it had to kill worker processes that did not end in time.
"""

from __future__ import annotations

import logging
import socket
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from accounts.wording import format_count
from jobs import registry
from jobs.actions import give_back

logger = logging.getLogger(__name__)


class Command(BaseCommand):
    help = (
        "Queue the jobs of ended worker processes of this machine again, without counting the"
        " attempt. Use it only for processes that have ended."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Which processes."""
        parser.add_argument("pids", nargs="+", type=int, metavar="PID")

    def handle(self, *args: Any, **options: Any) -> None:
        """Give back every kind of job, and print how many.

        An error in one kind does not stop the others. Raises CommandError with its name.
        """
        workers = [f"{socket.gethostname()}:{pid}" for pid in options["pids"]]
        count, failed = 0, []
        for kind in registry.kinds():
            name = kind.job_class._meta.label
            try:
                count += give_back(jobs=kind.job_class._default_manager.all(), workers=workers)
            except DatabaseError:
                logger.warning("could not give back jobs of %s", name, exc_info=True)
                failed.append(name)
        self.stdout.write(f"{format_count(count, 'job')} given back")
        if failed:
            raise CommandError(
                f"Not given back because of an error of the database: {', '.join(failed)}. Run the"
                " command again: when their leases end, the attempt counts."
            )
