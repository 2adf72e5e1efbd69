"""`manage.py release_check`: what keeps this version from a release."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from accounts.wording import format_count
from config.releases.checks import run_checks


class Command(BaseCommand):
    help = (
        "Check that the version, CHANGELOG.md, tags, migrations, locks, the Python client and the"
        " documentation agree. Exits with 1 if one of them keeps the version from a release."
    )
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a line for each check. Raises CommandError if one fails."""
        faults = run_checks()
        self.stdout.write(f"Occurrent {settings.VERSION}")
        for name, found in faults.items():
            self.stdout.write(f"{name}: {'ok' if not found else 'FAULTY'}")
            for fault in found:
                self.stdout.write(f"  {fault}")
        if count := sum(len(found) for found in faults.values()):
            raise CommandError(f"{format_count(count, 'fault')}")
