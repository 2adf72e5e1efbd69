"""`manage.py remove_second_step`: let the password alone sign in."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import User
from accounts.second_step.actions import remove_second_steps


class Command(BaseCommand):
    help = "Remove the authenticator app, passkeys and recovery codes of a person who lost them."

    def add_arguments(self, parser: CommandParser) -> None:
        """The person."""
        parser.add_argument("username")

    def handle(self, *args: Any, **options: Any) -> None:
        """Remove them. Raises CommandError for an unknown name."""
        user = User.objects.filter(username=options["username"]).first()
        if user is None:
            raise CommandError(f"There is no account {options['username']!r}.")
        removed = remove_second_steps(user=user, by=None)
        self.stdout.write(
            "The password alone signs in now." if removed else "The person has no second step."
        )
