"""`manage.py guess_test`: do a packet's items give sources away?"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.models import User
from accounts.permissions import NotAllowed
from adjudication.guessing.run import Guess
from adjudication.models import Packet
from adjudication.review.guess_test import run_guess_test
from timelines.runs.storage import NoteChanged


class Command(BaseCommand):
    help = "Guess the sources of a packet's items with a classifier; fail if it beats chance."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("packet", help="public id of the packet")
        parser.add_argument("--by", required=True, help="user name of a study admin")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the test, print a line for each pairing; a draft stores it."""
        packet = Packet.objects.filter(public_id=options["packet"]).select_related("study").first()
        if packet is None:
            raise CommandError(f"there is no packet {options['packet']!r}")
        by = User.objects.filter(username=options["by"], is_active=True).first()
        if by is None:
            raise CommandError(f"there is no active account {options['by']!r}")
        try:
            guesses = run_guess_test(packet=packet, by=by)
        except (NotAllowed, NoteChanged) as refused:
            raise CommandError(str(refused)) from refused
        for guess in guesses:
            self._report(guess)
        if any(guess.passed is False for guess in guesses):
            raise CommandError("The items of a pairing give their sources away.")

    def _report(self, guess: Guess) -> None:
        self.stdout.write(f"{guess.pairing}: {guess.count} items of {guess.cases} cases")
        if guess.area is None:
            self.stdout.write("  too few cases to guess")
            return
        self.stdout.write(
            f"  area {guess.area:.3f}, 95 % interval {guess.low:.3f} to {guess.high:.3f}"
        )
        for name, weight in guess.signs:
            self.stdout.write(f"  {weight:+.2f} {name}")
