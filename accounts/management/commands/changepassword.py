"""`manage.py changepassword`: Django's command, with an audit event."""

from __future__ import annotations

import getpass
from typing import Any

from django.contrib.auth.management.commands import changepassword
from django.db import transaction

from accounts.audit.trail import record
from accounts.models import User


class Command(changepassword.Command):
    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> str | None:
        """Change the password and record it. Raises CommandError."""
        said: str | None = super().handle(*args, **options)
        user = User.objects.get(username=options["username"] or getpass.getuser())
        record(
            actor=None,
            study=None,
            action="account.reset_password",
            object_type="accounts.user",
            object_id=user.public_id,
        )
        return said
