"""Access to the blinded review: the assigned person alone.

Nobody else can see that the review exists.
"""

from __future__ import annotations

from unittest import mock

from django.utils import timezone

from accounts.provider import confirmation
from adjudication.blinding.visibility import are_sides_swapped
from adjudication.judging.config import JudgeConfig
from adjudication.models import Assignment, Comparison, Finding, Game, JudgeRun, Packet, PairSearch
from adjudication.packets import actions as packets
from adjudication.packets.searches import find_searchable_games
from adjudication.review import decisions, slots
from adjudication.sampling.drawing import Design
from jobs.models import JobState
from tests import factories
from tests.integration.site.matrix.world import SIGN_IN, TIMES, Row, World, answers
from timelines.domain import TimelineKind
from timelines.models import Timeline

SOURCES = [["author:one", "revised", 1], ["rules-two", "revised", 1]]
NOTE = "Fever for three days."


def _review(world: World) -> Assignment:
    """The reviewer's open packet with one item, practised."""
    found = (
        Assignment.objects.filter(packet__study=world.study, person=world.people["reviewer"])
        .select_related("packet", "person")
        .first()
    )
    if found is not None:
        return found
    run = _make_judged_run(world)
    admin = world.people["admin"]
    design = Design(pairings=packets.list_pairings(run), cases=None)
    packet = packets.draw_packet(
        study=world.study, judge_run=run, label="sample", design=design, seed=1, by=admin
    )
    made = packets.assign(packet=packet, person=world.people["reviewer"], by=admin)
    packets.open_packet(packet=packet, by=admin)
    Assignment.objects.filter(pk=made.pk).update(practised_at=timezone.now())
    return Assignment.objects.select_related("packet", "person").get(pk=made.pk)


def _make_judged_run(world: World) -> JudgeRun:
    """One game with one finding, stored by hand."""
    encounter = factories.make_encounter(factories.make_dataset(world.study))
    note = factories.make_note(encounter, NOTE)
    factories.make_series(
        encounter,
        "lab:lactate::",
        [factories.make_row(encounter, "lab:lactate::", 1.0, value="413.7")],
    )
    sides: list[Timeline] = []
    for (source, _, _), hours in zip(SOURCES, TIMES[2:], strict=True):
        inventory = factories.make_inventory(note, origin="import")
        occurrence = factories.make_occurrence(inventory, span=(0, 5), mention="fever")
        sides.append(
            factories.make_timeline(
                inventory, {occurrence: hours}, kind=TimelineKind.REVISED, source=str(source)
            )
        )
        factories.seal(inventory)
    run = JudgeRun.objects.create(
        study=world.study,
        sources=SOURCES,
        judge="rules",
        judge_name="rules",
        judge_version="1",
        config=JudgeConfig().to_dict(),
    )
    comparison = Comparison.objects.create(encounter=encounter, first=sides[0], second=sides[1])
    game = Game.objects.create(
        run=run,
        comparison=comparison,
        seed=1,
        a_is_first=True,
        outcome=Game.Outcome.JUDGED,
        state=JobState.SUCCEEDED,
    )
    Finding.objects.create(
        game=game, ordinal=1, type="TIMING", verdict="A", polarity="present", a_event="fever", a_time=TIMES[2],
        b_event="fever", b_time=TIMES[3],
        a_entry=sides[0].entries.get(), b_entry=sides[1].entries.get(), grounding="NONE", category="wrong_time", charged_first=False,
        subject_sha256="0" * 64,
    )  # fmt: skip
    return run


def _mine(world: World) -> dict[str, str]:
    return {"public_id": _review(world).public_id}


def _item(world: World) -> dict[str, str]:
    review = _review(world)
    return {"public_id": review.public_id, "item_id": review.packet.items.get().public_id}


def _search(world: World) -> dict[str, str]:
    review = _review(world)
    game = find_searchable_games(review.packet)[0]
    made, _ = PairSearch.objects.get_or_create(assignment=review, game=game)
    return {"public_id": review.public_id, "search_id": made.public_id}


def _decide(world: World) -> dict[str, str]:
    review = _review(world)
    slot = slots.next_item(assignment=review)
    assert slot is not None
    swapped = are_sides_swapped(review.seed, slot.item.public_id)
    decisions.decide(
        assignment=review,
        item=slot.item,
        answer="A",
        shown_swapped=swapped,
        token="matrix",
        by=review.person,
    )
    return {"public_id": review.public_id}


def _sign(world: World) -> dict[str, str]:
    decision = _decide(world)
    review = _review(world)
    # The people of the matrix have no password, and a new one would end the session that asks.
    with mock.patch.object(confirmation, "require_password", return_value=review.person):
        decisions.sign(assignment=review, password="", by=review.person)
    return decision


def _draft(world: World) -> dict[str, str]:
    """Nobody learns of a packet that is not open yet."""
    review = _review(world)
    packet = Packet.objects.create(
        study=world.study, label="draft", judge_run=review.packet.judge_run, seed=1
    )
    return {
        "public_id": Assignment.objects.create(
            packet=packet, person=review.person, seed=1
        ).public_id
    }


def _reviewers_own(answer: int) -> dict[str, int | str]:
    return dict(
        answers(
            anonymous=SIGN_IN,
            clinician=404,
            reviewer=answer,
            admin=404,
            outsider=404,
            nobody=403,
            superuser=403,
        )
    )


#: The matrix sends forms, which these addresses refuse: they take JSON.
NOT_JSON = _reviewers_own(415)
NOBODYS = _reviewers_own(404)

ROWS = [
    Row(
        "adjudication:review_queue",
        answers(
            anonymous=SIGN_IN,
            clinician=200,
            reviewer=200,
            admin=200,
            outsider=200,
            nobody=403,
            superuser=403,
        ),
    ),
    # Refused without a case; the question itself: tests/integration/review/test_asking.py.
    Row(
        "adjudication:open_anyway",
        answers(
            anonymous=SIGN_IN,
            clinician=404,
            reviewer=404,
            admin=404,
            outsider=404,
            nobody=403,
            superuser=403,
        ),
        method="post",
    ),
    Row(
        "adjudication:review_guidelines",
        answers(
            anonymous=SIGN_IN,
            clinician=200,
            reviewer=200,
            admin=200,
            outsider=200,
            nobody=403,
            superuser=403,
        ),
    ),
    Row("adjudication:review_packet", _reviewers_own(200), path=_mine),
    Row("adjudication:review_packet", NOBODYS, path=_draft),
    Row("adjudication:review_item", _reviewers_own(200), path=_mine),
    Row("adjudication:review_next", NOT_JSON, method="post", path=_mine),
    Row("adjudication:review_undo", NOT_JSON, method="post", path=_mine),
    Row("adjudication:review_history", _reviewers_own(200), path=_decide),
    Row("adjudication:review_guess", _reviewers_own(200), path=_decide),
    Row("adjudication:review_guess", _reviewers_own(302), method="post", path=_decide),
    Row("adjudication:review_sign", _reviewers_own(200), path=_decide),
    Row(
        "adjudication:review_sign",
        _reviewers_own(400),
        method="post",
        path=_decide,
        data=lambda world: {"password": "not the password"},
    ),
    Row(
        "adjudication:review_unsign",
        _reviewers_own(302),
        method="post",
        path=_sign,
        data=lambda world: {"reason": "why"},
    ),
    Row("adjudication:review_receipt", _reviewers_own(200), path=_sign),
    Row("adjudication:review_receipt", NOBODYS, path=_decide),
    Row("adjudication:review_receipt_file", _reviewers_own(200), path=_sign),
    Row("adjudication:review_practice", _reviewers_own(302), path=_mine),
    Row(
        "adjudication:review_practice_case",
        _reviewers_own(200),
        path=lambda world: {**_mine(world), "number": "1"},
    ),
    Row(
        "adjudication:review_practice_case",
        NOBODYS,
        path=lambda world: {**_mine(world), "number": "99"},
    ),
    Row(
        "adjudication:review_practice_decide",
        NOT_JSON,
        method="post",
        path=lambda world: {**_mine(world), "number": "1"},
    ),
    Row("adjudication:review_practice_undo", NOT_JSON, method="post", path=_mine),
    *(
        Row(
            f"adjudication:review_practice_{step}",
            NOT_JSON,
            method="post",
            path=lambda world: {**_mine(world), "number": "1"},
        )
        for step in ("skip", "flag")
    ),
    Row("adjudication:review_search", _reviewers_own(200), path=_search),
    Row("adjudication:review_search", _reviewers_own(302), method="post", path=_search),
    Row("adjudication:review_chosen", _reviewers_own(200), path=_item),
    Row("adjudication:review_decide", NOT_JSON, method="post", path=_item),
    Row("adjudication:review_draft", NOT_JSON, method="post", path=_item),
    Row("adjudication:review_skip", NOT_JSON, method="post", path=_item),
    Row("adjudication:review_flag", NOT_JSON, method="post", path=_item),
    Row(
        "adjudication:review_series",
        _reviewers_own(200),
        method="post",
        path=lambda world: {**_item(world), "number": "0"},
    ),
    Row("adjudication:review_note", NOT_JSON, method="post", path=_item),
    Row("adjudication:review_timelines", _reviewers_own(200), method="post", path=_item),
]
