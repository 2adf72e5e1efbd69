"""`manage.py erase_account USERNAME`: erase a person, keep the trail."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.actions import LastAdmin
from accounts.membership.erasure import erase_account
from accounts.models import User


class Command(BaseCommand):
    help = (
        "Deactivate an account and remove the name, e-mail address, roles, tokens and notifications."
        " The audit trail and reviews keep the person's random id. It cannot be undone."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the person, and a repetition of the name."""
        parser.add_argument("username")
        parser.add_argument("--confirm", required=True, metavar="USERNAME", help="the same again")

    def handle(self, *args: Any, **options: Any) -> None:
        """Erase, and print what is gone. Raises CommandError."""
        user = User.objects.filter(username=options["username"]).first()
        if user is None:
            raise CommandError("There is no person of that user name.")
        if options["confirm"] != options["username"]:
            raise CommandError("--confirm is not the user name. Nothing was erased.")
        try:
            gone = erase_account(user=user, by=None)
        except LastAdmin as error:
            raise CommandError(f"{error} Give the role to another person first.") from None
        for table, count in gone.items():
            self.stdout.write(f"{table}: {count:,} deleted")
        self.stdout.write(f"the audit trail names the person as {user.public_id}")
