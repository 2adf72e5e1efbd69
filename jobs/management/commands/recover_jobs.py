"""`manage.py recover_jobs`: requeue jobs after the database was restored.

`manage.py restore` does it by itself. After the server's own restore to a point in time, run it.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from accounts.wording import format_count
from jobs import registry
from jobs.actions import recover


class Command(BaseCommand):
    help = (
        "After the database was restored to an earlier moment: queue interrupted jobs again, and"
        " make sure that no worker of before can write. Stop all workers first."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Recover every kind of job, and print how many."""
        jobs = (kind.job_class._default_manager.all() for kind in registry.kinds())
        count = sum(recover(jobs=mine) for mine in jobs)
        self.stdout.write(f"{format_count(count, 'job')} queued again")
