"""`manage.py create_account`: add a person with a one-time password.

The password is printed once.
"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.actions import AccountExists, create_account, create_study
from accounts.models import Role, Study


class Command(BaseCommand):
    help = (
        "Create an account with a role in a study (the study too, if it is new) and print its"
        " one-time password once."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Everything by name."""
        parser.add_argument("--username", required=True)
        parser.add_argument("--role", required=True, choices=Role.values)
        parser.add_argument("--study", required=True, help="the study's name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Create and print. Raises CommandError for a taken or malformed name."""
        study = Study.objects.filter(name=options["study"]).first() or create_study(
            name=options["study"], by=None
        )
        try:
            user, password = create_account(
                username=options["username"], study=study, role=Role(options["role"]), by=None
            )
        except AccountExists:
            raise CommandError(
                "That user name is taken. Add roles on the study page, or choose another name."
            ) from None
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        self.stdout.write(f"{user.username}  {password}")
        self.stdout.write(
            "This password is not shown again. The person replaces it at the first sign-in."
        )
