"""`manage.py api_token`: issue, list and revoke a person's API tokens."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.api_access.tokens import TokenRefused, find_tokens, issue_token, revoke_token
from accounts.models import User
from accounts.wording import format_count


class Command(BaseCommand):
    help = (
        "Create an API token for a person and print it once. --list shows the person's valid"
        " tokens; --revoke revokes one or all."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the person and the actions."""
        parser.add_argument("username")
        parser.add_argument("--label", default="command line", help="purpose of the token")
        parser.add_argument("--list", action="store_true", help="show the valid tokens")
        parser.add_argument(
            "--revoke",
            metavar="TOKEN",
            help="revoke the token with this id or beginning, or `all` of them",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Issue a token by default. Raises CommandError."""
        user = User.objects.filter(username=options["username"]).first()
        if user is None:
            raise CommandError(f"There is no account {options['username']!r}.")
        if options["list"]:
            for token in find_tokens(user):
                self.stdout.write(
                    f"{token.public_id}  {token.token_key}…  {token.label}  until"
                    f" {token.expiry:%Y-%m-%d %H:%M} UTC"
                )
        elif options["revoke"]:
            self._revoke(user, options["revoke"])
        else:
            self._issue(user, options["label"])

    def _issue(self, user: User, label: str) -> None:
        try:
            token, secret = issue_token(user=user, label=label, by=None)
        except TokenRefused as refused:
            raise CommandError(str(refused)) from None
        self.stdout.write(secret)
        self.stderr.write(
            f"This token is not shown again. It expires {token.expiry:%Y-%m-%d %H:%M} UTC."
        )

    def _revoke(self, user: User, wanted: str) -> None:
        found = [
            t for t in find_tokens(user) if wanted == "all" or wanted in (t.public_id, t.token_key)
        ]
        if not found and wanted != "all":
            raise CommandError("No token of this person has that id or beginning. See --list.")
        for token in found:
            revoke_token(token=token, by=None)
        self.stdout.write(f"{format_count(len(found), 'token')} revoked.")
