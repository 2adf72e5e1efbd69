"""`manage.py give_back_jobs PID…`: requeue the jobs of killed processes.

`make run` calls it after it had to kill worker processes that did not end in time.
"""

from __future__ import annotations

import socket
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from accounts.wording import format_count
from jobs import registry
from jobs.actions import give_back


class Command(BaseCommand):
    help = (
        "Queue the jobs of ended worker processes of this machine again, without counting the"
        " attempt. Only for processes that are gone."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Which processes."""
        parser.add_argument("pids", nargs="+", type=int, metavar="PID")

    def handle(self, *args: Any, **options: Any) -> None:
        """Give back, and say how many."""
        workers = [f"{socket.gethostname()}:{pid}" for pid in options["pids"]]
        count = sum(
            give_back(jobs=kind.job_class._default_manager.all(), workers=workers)
            for kind in registry.kinds()
        )
        self.stdout.write(f"{format_count(count, 'job')} given back")
