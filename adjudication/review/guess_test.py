"""Test whether the items of a packet give their sources away."""

from __future__ import annotations

from collections.abc import Iterator

from django.db import transaction
from django.utils import timezone

from accounts.audit.trail import record
from accounts.models import User
from accounts.permissions import check_user_can_manage_study
from adjudication.blinding.visibility import are_sides_swapped, blinded_item
from adjudication.guessing.run import Guess, guess_sources
from adjudication.guessing.served import ServedItem
from adjudication.guessing.serving import serve_item
from adjudication.models import Packet
from adjudication.packets.actions import is_first_judged_a
from adjudication.review.items import load_material

TESTED = "packet.guess_test"


@transaction.atomic
def run_guess_test(*, packet: Packet, by: User) -> list[Guess]:
    """Run the test over all items; a draft stores the result.

    An opened packet is frozen. Raises NotAllowed, NoteChanged.
    """
    check_user_can_manage_study(by, packet.study)
    guesses = guess_sources(list(_serve_items(packet)))
    result = {
        "at": timezone.now().isoformat(timespec="seconds"),
        "pairings": [g.plain() for g in guesses],
    }
    stored = Packet.objects.filter(pk=packet.pk, state=Packet.State.DRAFT).update(guess_test=result)
    if stored:
        packet.refresh_from_db()
    record(
        actor=by,
        study=packet.study,
        action=TESTED,
        object_type="adjudication.packet",
        object_id=packet.public_id,
        detail={"passed": sum(g.passed is True for g in guesses), "pairings": len(guesses)},
    )
    return guesses


def read_guesses(packet: Packet) -> list[Guess]:
    """Return the stored result; [] before the first test."""
    return [Guess.from_plain(plain) for plain in packet.guess_test.get("pairings", [])]


def _serve_items(packet: Packet) -> Iterator[ServedItem]:
    """Yield items as a reviewer gets them, the first source first."""
    joined = "finding__game__comparison"
    items = packet.items.select_related(
        f"{joined}__encounter", f"{joined}__first", f"{joined}__second"
    )
    for item in items.order_by("ordinal"):
        shown = blinded_item(load_material(item, record="names"), packet.seed)
        swapped = are_sides_swapped(packet.seed, item.public_id)
        yield serve_item(
            shown,
            case=item.finding.game.comparison.encounter.public_id,
            pairing=item.pairing,
            first_is_left=is_first_judged_a(item.finding.game, item.pairing) != swapped,
        )
