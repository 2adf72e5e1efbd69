"""`manage.py createsuperuser`: Django's command, with an audit event."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.db import transaction

from accounts.audit.trail import record
from accounts.models import User


class Command(createsuperuser.Command):
    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        """Create the account and record it. Raises CommandError."""
        before = set(User.objects.values_list("pk", flat=True))
        super().handle(*args, **options)
        for user in User.objects.exclude(pk__in=before):
            record(
                actor=None,
                study=None,
                action="account.create_superuser",
                object_type="accounts.user",
                object_id=user.public_id,
            )
