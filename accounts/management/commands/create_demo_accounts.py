"""`manage.py create_demo_accounts`: create one account for each role.

The passwords are generated and printed once.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import transaction

from accounts.actions import add_role, create_account, create_study, reset_password
from accounts.models import Role, Study, User

DEMO_STUDY = "demo"


class Command(BaseCommand):
    help = (
        "Create the accounts clinician, reviewer and admin in the demo study and print their"
        " passwords once."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The study, and whether to make new passwords."""
        parser.add_argument(
            "--study",
            default=DEMO_STUDY,
            help=f"the study's name (default: {DEMO_STUDY}); created if it is new",
        )
        parser.add_argument(
            "--reset",
            action="store_true",
            help="give the existing accounts new passwords and print those",
        )

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        """Make what is missing; say what exists."""
        study = Study.objects.filter(name=options["study"]).first() or create_study(
            name=options["study"], by=None
        )
        shown = [(role, *self._account(study, role, reset=options["reset"])) for role in Role]
        for role, username, password in shown:
            self.stdout.write(
                f"{role.label:<18} {username:<12}"
                f" {password or '(exists; its password was shown when it was created)'}"
            )
        if all(password is None for *_, password in shown):
            self.stdout.write("New passwords: manage.py create_demo_accounts --reset")
        else:
            self.stdout.write("These passwords are not shown again and are not stored.")

    def _account(self, study: Study, role: Role, *, reset: bool) -> tuple[str, str | None]:
        """The account's user name, and its password where this run made one."""
        user = User.objects.filter(username=role.value).first()
        if user is None:
            user, password = create_account(
                username=role.value, study=study, role=role, by=None, one_time=False
            )
            return user.username, password
        add_role(study=study, user=user, role=role, by=None)
        return user.username, reset_password(user=user, by=None, one_time=False) if reset else None
