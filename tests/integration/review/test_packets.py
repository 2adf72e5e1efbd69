"""Packets on a real database.

Which findings are eligible, what is frozen once opened, who may be assigned, and which pages are
closed to assigned people.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import AuditEvent, Role
from accounts.permissions import NotAllowed
from accounts.registry import closed_objects, veto
from adjudication.access.asking import accept_exposure
from adjudication.access.closed import find_closed_objects
from adjudication.access.eligibility import (
    FINDING_PAGES,
    check_user_may_see_findings,
    find_ineligibility_reasons,
    load_visibility,
)
from adjudication.access.exposure import record_exposure
from adjudication.blinding.visibility import PacketVisibility
from adjudication.models import Finding, Packet, PacketItem, Slot
from adjudication.packets import actions as packets
from adjudication.packets.actions import SWAPPED, UNCHANGED, PacketRefused
from adjudication.packets.occurrences import find_occurrences
from adjudication.review import decisions, slots
from adjudication.sampling.drawing import OUTSIDE_SHARED, SAME_OCCURRENCE
from adjudication.states import InvalidTransition
from tests import factories
from tests.worlds.authored import make_draft
from tests.worlds.judged import FixedJudge, make_judged_run, make_judged_world
from tests.worlds.reviewing import (
    Review,
    add_reviewer,
    draw_review,
    make_design,
    make_token,
    open_review,
)
from timelines.access.authoring import TIMELINE_PAGES

pytestmark = pytest.mark.django_db(transaction=True)

PAIRINGS = (
    "author:vega · revised | rules-orion · revised",
    "author:vega · revised | llm-lyra · revised",
    "rules-orion · revised | llm-lyra · revised",
)


@pytest.fixture
def review() -> Review:
    return draw_review()


def test_the_eligible_set_leaves_out_what_is_outside_the_strata_and_the_swapped_rerun():
    world = make_judged_world(2, swap=True)
    assert packets.list_pairings(world.run) == PAIRINGS
    eligible = packets.find_eligible_findings(world.run)
    assert {f.pairing for f in eligible.findings} == set(PAIRINGS)
    assert {f.case for f in eligible.findings} == {e.public_id for e in world.encounters}
    straight = Finding.objects.filter(game__run=world.run, game__swapped=False)
    assert (
        eligible.excluded[SWAPPED]
        == Finding.objects.filter(game__run=world.run, game__swapped=True).count()
    )
    assert (
        eligible.excluded[OUTSIDE_SHARED] == straight.filter(type="SHARED_UNSUPPORTED").count() > 0
    )
    assert len(eligible.findings) == straight.count() - sum(
        n for reason, n in eligible.excluded.items() if reason != SWAPPED
    )
    assert set(eligible.judged.values()) == {frozenset(PAIRINGS)}


def test_a_drawn_packet_keeps_design_seed_versions_and_what_was_short(review):
    packet = review.packet
    assert (packet.state, packet.seed) == ("draft", 7)
    eligible = sum(sum(n.values()) for n in packet.drawn["eligible"].values())
    assert packet.items.count() + packet.drawn["excluded"][SAME_OCCURRENCE] == eligible
    places = find_occurrences(review.world.run)
    about = [one for item in review.items for one in set(places[item.finding.public_id])]
    assert len(about) == len(set(about)), "no occurrence comes twice"
    assert packet.drawn["shortages"][0]["wanted"] == 9
    assert packet.drawn["cases"] == [review.world.encounters[0].public_id]
    item = review.items[0]
    assert item.versions["judge_version"] == "1"
    assert item.versions["input_sha256"] == item.finding.game.input_sha256
    same = packets.draw_packet(
        study=review.study,
        judge_run=review.world.run,
        label="Again",
        design=make_design(review.world),
        seed=7,
        by=review.admin,
    )
    assert [i.finding_id for i in same.items.order_by("ordinal")] == [
        i.finding_id for i in review.items
    ]


def test_drawing_is_for_admins_of_the_runs_study(review):
    common = {
        "study": review.study,
        "judge_run": review.world.run,
        "design": make_design(review.world),
        "seed": 1,
    }
    with pytest.raises(NotAllowed):
        packets.draw_packet(
            label="x", by=factories.make_user(review.study, Role.CLINICIAN), **common
        )
    with pytest.raises(PacketRefused):
        packets.draw_packet(label=" ", by=review.admin, **common)
    with pytest.raises(PacketRefused, match="no pairing"):
        packets.draw_packet(
            label="x",
            by=review.admin,
            **{**common, "design": replace(common["design"], pairings=("a | b",))},
        )
    other = factories.make_study()
    with pytest.raises(PacketRefused, match="another study"):
        packets.draw_packet(
            label="x", by=factories.make_user(other, Role.ADMIN), **{**common, "study": other}
        )


def test_an_opened_packet_is_frozen_by_the_database(review):
    with pytest.raises(PacketRefused, match="1 reviewer per item, 0 assigned"):
        packets.open_packet(packet=review.packet, by=review.admin)
    add_reviewer(review)
    packets.open_packet(packet=review.packet, by=review.admin)
    assert Slot.objects.filter(item__packet=review.packet).count() == len(review.items)
    for change in (
        lambda: PacketItem.objects.filter(pk=review.items[0].pk).update(quota=2),
        lambda: PacketItem.objects.filter(pk=review.items[0].pk).delete(),
        lambda: Packet.objects.filter(pk=review.packet.pk).update(state="draft"),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            change()
    with pytest.raises(InvalidTransition):
        packets.require_second_reviewer(packet=review.packet, pairing=PAIRINGS[0], by=review.admin)
    with pytest.raises(InvalidTransition):
        packets.open_packet(packet=review.packet, by=review.admin)
    with pytest.raises(InvalidTransition):
        packets.delete_draft(packet=review.packet, by=review.admin)


def test_a_second_reviewer_gets_the_packet_of_one_pairing(review):
    changed = packets.require_second_reviewer(
        packet=review.packet, pairing=PAIRINGS[1], by=review.admin
    )
    assert changed == review.packet.items.filter(pairing=PAIRINGS[1]).count() > 0
    assert Counter(review.packet.items.values_list("pairing", "quota"))[PAIRINGS[1], 2] == changed
    add_reviewer(review)
    with pytest.raises(PacketRefused, match="2 reviewers per item, 1 assigned"):
        packets.open_packet(packet=review.packet, by=review.admin)
    add_reviewer(review, pairings=[PAIRINGS[1]])
    packets.open_packet(packet=review.packet, by=review.admin)
    assert Slot.objects.filter(item__packet=review.packet).count() == len(review.items) + changed


def test_authors_the_exposed_and_strangers_are_not_eligible(review):
    encounter = review.world.encounters[0]
    fresh, author, reader, browser = (
        factories.make_user(review.study, Role.CLINICIAN) for _ in range(4)
    )
    stranger = factories.make_user()
    make_draft(encounter, author)
    accept_exposure(by=browser, case_ids=[encounter.public_id])
    record_exposure(user=browser, encounters=[encounter], page="finding")
    AuditEvent.objects.create(
        actor=reader, study=review.study, action="case.open", object_type="ehr.encounter", object_id=encounter.public_id,
        detail={"timelines": True},
    )  # fmt: skip
    AuditEvent.objects.create(
        actor=fresh, study=review.study, action="case.open", object_type="ehr.encounter", object_id=encounter.public_id,
        detail={"timelines": False},
    )  # fmt: skip
    assert find_ineligibility_reasons(fresh, review.packet) == []
    assert find_ineligibility_reasons(author, review.packet) == [
        "They author a timeline of 1 case of the packet."
    ]
    assert find_ineligibility_reasons(reader, review.packet) == [
        "They have seen 1 case of the packet unblinded."
    ]
    assert find_ineligibility_reasons(browser, review.packet) == [
        "They have seen 1 case of the packet unblinded."
    ]
    assert find_ineligibility_reasons(stranger, review.packet) == [
        "This person is not an active member of the study."
    ]
    for person in (author, reader, browser, stranger):
        with pytest.raises(NotAllowed):
            packets.assign(packet=review.packet, person=person, by=review.admin)


@pytest.mark.parametrize("path", ["/review/{}/answers/", "/api/review/{}/answers/"])
@pytest.mark.parametrize("reveal", ["never", "after_close"])
def test_whoever_has_seen_the_judges_answers_beside_their_own_was_exposed(client, path, reveal):
    review = open_review(reveal=reveal)
    mine = review.assignments[0]
    slot = slots.next_item(assignment=mine)
    decisions.decide(
        assignment=mine,
        item=slot.item,
        answer="A",
        shown_swapped=False,
        token=make_token(),
        by=mine.person,
    )
    client.force_login(mine.person)
    assert client.get(path.format(mine.public_id)).status_code == 200
    assert find_ineligibility_reasons(mine.person, review.packet) == []
    packets.close_packet(packet=review.packet, by=review.admin)
    assert client.get(path.format(mine.public_id)).status_code == 200
    seen = ["They have seen 1 case of the packet unblinded."]
    assert find_ineligibility_reasons(mine.person, review.packet) == (
        seen if reveal == "after_close" else []
    )


def test_exposure_to_many_cases_is_one_insert():
    world = make_judged_world(3)
    person = factories.make_user(world.study, Role.CLINICIAN)
    with CaptureQueriesContext(connection) as queries:
        record_exposure(user=person, encounters=world.encounters, page="findings")
    assert sum(query["sql"].startswith("INSERT") for query in queries) == 1
    events = AuditEvent.objects.filter(actor=person, action="case.unblinded")
    assert set(events.values_list("object_id", flat=True)) == {
        e.public_id for e in world.encounters
    }


def test_another_open_packet_with_the_case_keeps_a_revealed_one_closed(review, client):
    """The first packet is closed while its reviewer works on the second.

    Closing would reveal the reviewer's side.
    """
    mine = add_reviewer(review)
    second = packets.draw_packet(
        study=review.study,
        judge_run=review.world.run,
        label="Second",
        design=make_design(review.world),
        seed=9,
        by=review.admin,
    )
    packets.assign(packet=second, person=mine.person, by=review.admin)
    for packet in (review.packet, second):
        packets.open_packet(packet=packet, by=review.admin)
    packets.close_packet(packet=review.packet, by=review.admin)
    review.packet.refresh_from_db()
    client.force_login(mine.person)
    card = reverse("adjudication:report_card", args=[review.packet.public_id])
    assert not load_visibility(mine.person, review.packet).judge
    assert client.get(card).status_code == 403
    packets.close_packet(packet=second, by=review.admin)
    assert load_visibility(mine.person, review.packet).judge
    assert client.get(card).status_code == 200


def test_who_was_exposed_after_the_assignment_keeps_the_packet_from_opening(review):
    person = add_reviewer(review).person
    record_exposure(user=person, encounters=review.world.encounters, page="finding")
    with pytest.raises(PacketRefused, match="unblinded"):
        packets.open_packet(packet=review.packet, by=review.admin)


def test_counts_of_sources_are_closed_from_the_assignment_to_a_draft_on(review, client):
    """Lists of cases and runs record no exposure, so they close early."""
    encounter = review.world.encounters[0]
    run = factories.make_run(encounter.dataset, label="counted")
    inventory = factories.make_inventory(encounter.notes.get(), run)
    for _ in range(37):
        factories.make_occurrence(inventory, "Fever")
    factories.make_case_run(run, encounter, inventory)
    clinician = factories.make_user(review.study, Role.CLINICIAN)
    client.force_login(clinician)
    pages = [reverse("timelines:cases"), reverse("timelines:run", args=[run.public_id])]

    def shown() -> list[tuple[int, bool]]:
        answers = [client.get(page) for page in pages]
        return [(a.status_code, b'data-words="occurrences">37<' in a.content) for a in answers]

    counts = [(200, True), (200, False)]
    assert shown() == counts
    mine = packets.assign(packet=review.packet, person=clinician, by=review.admin)
    # The only case of the run is closed, and so is the run.
    assert shown() == [(200, False), (403, False)]
    packets.withdraw_assignment(assignment=mine, by=review.admin)
    assert shown() == counts


@pytest.mark.parametrize("state", ["draft", "open"])
def test_pages_that_would_unblind_are_closed_until_the_packet_is_closed(review, client, state):
    encounter = review.world.encounters[0]
    clinician = factories.make_user(review.study, Role.CLINICIAN)
    assert veto(clinician, TIMELINE_PAGES, encounter.public_id) is None
    packets.assign(packet=review.packet, person=clinician, by=review.admin)
    if state == "open":
        packets.open_packet(packet=review.packet, by=review.admin)
    client.force_login(clinician)
    case = {"public_id": encounter.public_id}
    for name in ("timelines:case", "timelines:agreement", "timelines:author_start"):
        assert client.get(reverse(name, kwargs=case)).status_code == 403, name
    assert client.get(reverse("ehr:record", kwargs=case)).status_code == 200
    assert closed_objects(clinician, TIMELINE_PAGES) == {encounter.public_id}
    assert find_closed_objects(clinician).cases == {encounter.pk}
    with pytest.raises(NotAllowed):
        check_user_may_see_findings(clinician, encounter)
    if state == "draft":
        packets.open_packet(packet=review.packet, by=review.admin)
    packets.close_packet(packet=review.packet, by=review.admin)
    assert client.get(reverse("timelines:case", kwargs=case)).status_code == 200
    check_user_may_see_findings(clinician, encounter)


def test_a_packet_that_is_never_revealed_keeps_its_findings_closed():
    review = open_review(reveal="never")
    person, encounter = review.assignments[0].person, review.world.encounters[0]
    packets.close_packet(packet=review.packet, by=review.admin)
    assert veto(person, FINDING_PAGES, encounter.public_id)
    assert veto(person, TIMELINE_PAGES, encounter.public_id) is None
    assert load_visibility(person, review.packet) == PacketVisibility(items=True, own_answers=True)


def test_an_admin_who_reviews_is_blinded_like_anyone(review):
    second = factories.make_user(review.study, Role.ADMIN)
    packets.assign(packet=review.packet, person=second, by=review.admin)
    packets.open_packet(packet=review.packet, by=review.admin)
    assert not load_visibility(second, review.packet).judge
    assert load_visibility(review.admin, review.packet).judge
    with pytest.raises(NotAllowed):
        packets.close_packet(packet=review.packet, by=second)


def test_people_come_back_with_the_order_they_had(review):
    first = add_reviewer(review)
    packets.withdraw_assignment(assignment=first, by=review.admin)
    with pytest.raises(PacketRefused):
        packets.withdraw_assignment(assignment=first, by=review.admin)
    again = packets.assign(packet=review.packet, person=first.person, by=review.admin)
    assert (again.pk, again.seed, again.withdrawn_at) == (first.pk, first.seed, None)


def test_only_what_another_run_tells_differently_comes_back():
    review = open_review()
    same = make_judged_run(review.world.dataset, FixedJudge(version="2"))
    assert packets.find_changed_findings(review.packet, same).findings == ()
    with pytest.raises(PacketRefused, match="No finding"):
        packets.draw_changed(packet=review.packet, judge_run=same, by=review.admin)
    other = make_judged_run(review.world.dataset, FixedJudge(version="3", fever="SECOND"))
    changed = packets.draw_changed(packet=review.packet, judge_run=other, by=review.admin)
    assert changed.follows == review.packet
    findings = Finding.objects.filter(items__packet=changed)
    assert {(f.type, f.a_event) for f in findings} == {("TIMING", "fever")}
    assert {i.versions["judge_version"] for i in changed.items.all()} == {"3"}
    assert {i.versions["judge_version"] for i in review.items} == {"1"}
    assert changed.drawn["excluded"][UNCHANGED] > 0


def test_a_new_snapshot_of_the_record_brings_its_findings_back():
    review = open_review()
    encounter = review.world.encounters[0]
    row = factories.make_row(encounter, "lab:new::", 3.0, value="1")
    factories.make_series(encounter, "lab:new::", [row])
    again = make_judged_run(review.world.dataset)
    changed = packets.find_changed_findings(review.packet, again)
    assert len(changed.findings) == len(packets.find_eligible_findings(again).findings)
