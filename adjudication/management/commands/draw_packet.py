"""`manage.py draw_packet`: draw a packet of a judge run's findings.

It can also assign reviewers and open the packet.
"""

from __future__ import annotations

from datetime import date
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from accounts.models import Role, Study, User
from accounts.permissions import NotAllowed
from adjudication.judging.config import SEED
from adjudication.models import JudgeRun, Packet
from adjudication.packets.actions import (
    PacketRefused,
    assign,
    draw_packet,
    list_pairings,
    open_packet,
)
from adjudication.sampling.drawing import CASES, Design
from adjudication.states import InvalidTransition

LATEST = "latest"


class Command(BaseCommand):
    help = (
        "Draw a packet by the protocol's quotas from every pairing of a judge run; assign reviewers"
        " and open it on request."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options."""
        parser.add_argument(
            "--run", default=LATEST, help=f"public id of a judge run, or {LATEST} (default)"
        )
        parser.add_argument(
            "--by", required=True, metavar="USER", help="the study admin who draws it"
        )
        parser.add_argument(
            "--label", required=True, help="reviewers see it: do not name a source or a judge"
        )
        parser.add_argument(
            "--cases",
            type=int,
            default=CASES,
            help=f"how many cases, of those judged in every pairing (default: {CASES})",
        )
        parser.add_argument("--seed", type=int, default=SEED, help=f"default: {SEED}")
        parser.add_argument(
            "--reviewer", action="append", default=[], metavar="USER", help="may be repeated"
        )
        parser.add_argument(
            "--due", type=date.fromisoformat, help="the day by which the review is due: YYYY-MM-DD"
        )
        parser.add_argument("--reviewers-an-item", type=int, default=1, help="default: 1")
        parser.add_argument(
            "--open", action="store_true", help="open it: after that its items cannot change"
        )
        parser.add_argument(
            "--once",
            action="store_true",
            help="do nothing if the study has a packet with that label",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Draw, assign, open; report shortages."""
        admin = _person(options["by"])
        run = _run(options["run"], admin)
        if (
            options["once"]
            and Packet.objects.filter(study=run.study, label=options["label"]).exists()
        ):
            self.stdout.write("drawn before")
            return
        try:
            packet = self._packet(run, admin, options)
        except (PacketRefused, NotAllowed, InvalidTransition, ValueError) as refused:
            raise CommandError(str(refused)) from refused
        self.stdout.write(
            f"packet {packet.public_id}: {packet.items.count()} items from"
            f" {len(packet.drawn['cases'])} cases"
        )
        for short in packet.drawn.get("shortages", []):
            self.stdout.write(
                f"short: {short['stratum']} of {short['pairing']}: {short['available']} of"
                f" {short['wanted']}"
            )

    @transaction.atomic
    def _packet(self, run: JudgeRun, admin: User, options: dict[str, Any]) -> Packet:
        """Do all that was requested, or nothing."""
        design = Design(
            pairings=list_pairings(run),
            cases=options["cases"],
            per_item=options["reviewers_an_item"],
        )
        packet = draw_packet(
            study=run.study,
            judge_run=run,
            label=options["label"],
            design=design,
            seed=options["seed"],
            by=admin,
            due_on=options["due"],
        )
        for name in options["reviewer"]:
            assign(packet=packet, person=_person(name), by=admin)
        return open_packet(packet=packet, by=admin) if options["open"] else packet


def _person(name: str) -> User:
    found = User.objects.filter(username=name, is_active=True).first()
    if found is None:
        raise CommandError(f"there is no active account {name!r}")
    return found


def _run(name: str, admin: User) -> JudgeRun:
    """Return the judge run, of the studies that the person administers."""
    studies = Study.objects.filter(memberships__user=admin, memberships__role=Role.ADMIN)
    found = JudgeRun.objects.filter(study__in=studies).select_related("study")
    run = found.first() if name == LATEST else found.filter(public_id=name).first()
    if run is None:
        raise CommandError(
            f"{admin.username} administers no study with"
            f" {'a judge run' if name == LATEST else f'the judge run {name}'}"
        )
    return run
