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
from adjudication.models import GuessTest, Packet
from adjudication.packets.actions import is_first_judged_a
from adjudication.review.items import load_material
from jobs.hints import send_hints
from jobs.leases.hold import Hold, write_guard
from jobs.limits import make_limit
from jobs.models import JobState
from jobs.worker import work

TESTED = "packet.guess_test"
#: Items that are tested in the request; more take longer than about two seconds.
AT_ONCE = 30


@transaction.atomic
def run_guess_test(*, packet: Packet, by: User) -> list[Guess]:
    """Run the test over all items; a draft stores the result.

    An opened packet is frozen. Raises NotAllowed, NoteChanged.
    """
    check_user_can_manage_study(by, packet.study)
    guesses = guess_sources(list(_serve_items(packet)))
    _store(packet, guesses, by)
    return guesses


@transaction.atomic
def start_guess_test(*, packet: Packet, by: User) -> GuessTest | None:
    """Run the test of a few items now, and queue that of many.

    Returns the job, None if the test is done. One that is under way is returned. Raises NotAllowed,
    NoteChanged.
    """
    check_user_can_manage_study(by, packet.study)
    if packet.items.count() <= AT_ONCE:
        run_guess_test(packet=packet, by=by)
        return None
    locked = Packet.objects.select_for_update(of=("self",)).get(pk=packet.pk)
    if (waiting := find_guess_test(locked)) is not None:
        return waiting
    job = GuessTest.objects.create(packet=locked, created_by=by)
    send_hints(GuessTest, [job.pk])
    return job


def find_guess_test(packet: Packet) -> GuessTest | None:
    """Return the job that is under way."""
    active = (JobState.QUEUED, JobState.RUNNING)
    return GuessTest.objects.filter(packet=packet, state__in=active).first()


def execute_guess_test(job_id: int) -> JobState | None:
    """Run the test if the job waits; return its new state.

    None if there was nothing to do.
    """
    return work(GuessTest, job_id, _work, limit=lambda job: make_limit(asks_models=False))


def _work(job: GuessTest, hold: Hold) -> None:
    served = []
    for item in _serve_items(job.packet):
        hold.check()
        served.append(item)
    guesses = guess_sources(served)
    hold.check()
    with write_guard(hold):
        _store(job.packet, guesses, job.created_by)


def _store(packet: Packet, guesses: list[Guess], by: User | None) -> None:
    """Store the result in a draft, and record it in the trail."""
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
