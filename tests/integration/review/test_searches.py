"""Searches for differences: assigned, done first, then matched."""

from __future__ import annotations

from unittest import mock

import pytest
from django.core.management import call_command
from django.urls import reverse

from accounts.models import AuditEvent, Role
from accounts.permissions import NotAllowed
from adjudication.models import Decision, Finding, Game, PairSearch
from adjudication.packets.actions import PacketRefused
from adjudication.packets.chain import verification
from adjudication.packets.chain.verification import find_faults
from adjudication.packets.searches import assign_search, find_searchable_games, remove_search
from adjudication.ratings.card.data import compute_card
from adjudication.ratings.card.searches import load_search_rates
from adjudication.reports.card import tables
from adjudication.review import slots
from adjudication.review.decisions import DecisionRefused
from adjudication.review.notes import write_note
from adjudication.review.opening import open_item
from adjudication.review.practice import check_practised
from adjudication.review.search_rows import load_sides
from adjudication.review.searches import (
    FIRST_SEARCH,
    Listed,
    add_difference,
    remove_difference,
    submit_search,
)
from adjudication.searching.matching import Kind
from tests import factories
from tests.support.api import ApiClient
from tests.support.pages import join_markup
from tests.worlds.judged import make_judged_world
from tests.worlds.reviewed import ReviewedWorld, build_open_world, decide_all

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world() -> ReviewedWorld:
    return build_open_world(make_judged_world(2))


@pytest.fixture
def search(world) -> PairSearch:
    game = find_searchable_games(world.packet)[0]
    return assign_search(assignment=world.assignment(world.reviewers[0]), game=game, by=world.admin)


def address(search: PairSearch) -> str:
    return reverse(
        "adjudication:review_search", args=[search.assignment.public_id, search.public_id]
    )


def as_listed(finding: Finding) -> Listed:
    kind = Kind.of_finding(finding.type)
    return Listed(str(kind), finding.a_entry_id, finding.b_entry_id)


def test_items_open_only_after_the_search(client, world, search):
    mine = search.assignment
    with pytest.raises(NotAllowed, match="Search the assigned timelines"):
        check_practised(mine)
    client.force_login(mine.person)
    item_page = reverse("adjudication:review_item", args=[mine.public_id])
    shown = join_markup(client.get(item_page, follow=True))
    assert FIRST_SEARCH in shown
    assert "1 search" in shown
    client.post(address(search), {"do": "submit"})
    check_practised(mine)
    assert client.get(item_page).status_code == 200


def test_a_listed_finding_of_the_judge_is_matched_and_the_rest_is_not(world, search):
    """The person lists two findings of the judge and one row more."""
    reviewer = search.assignment.person
    findings = list(Finding.objects.filter(game=search.game).order_by("ordinal"))
    one_sided = next(f for f in findings if f.type in ("A_ONLY", "B_ONLY"))
    timing = next(f for f in findings if f.type == "TIMING")
    other = Listed(
        "DUPLICATE",
        *((one_sided.a_entry_id, None) if one_sided.a_entry_id else (None, one_sided.b_entry_id)),
    )
    for listed in (as_listed(one_sided), as_listed(timing), other):
        add_difference(search=search, listed=listed, by=reviewer)
    submit_search(search=search, by=reviewer)
    (found,) = load_search_rates(world.packet)
    total = found.lines[-1]
    assert (total.listed, total.reported, total.matched) == (3, len(findings), 2)
    assert compute_card(world.packet).searches == (found,)
    table = tables.search(compute_card(world.packet))
    assert [row[:3] for row in table.rows][-1] == (reviewer.get_username(), 1, "all")


def test_the_submission_is_a_link_of_the_chain_without_words_in_its_detail(world, search):
    reviewer = search.assignment.person
    sides = load_sides(search.assignment, search)
    row = (sides.right if sides.swapped else sides.left)[0]
    listed = Listed("one-sided", row.entry, None, 6.0, "zqwords")
    add_difference(search=search, listed=listed, by=reviewer)
    link = submit_search(search=search, by=reviewer)
    assert (link.kind, link.item) == ("search", None)
    assert link.comment == "1. zqwords"
    assert link.detail["differences"] == [
        {"kind": "one-sided", "a": row.entry, "b": None, "time": 6.0}
    ]
    assert find_faults(world.packet) == []
    call_command("verify_chain")
    for change in (
        lambda: submit_search(search=search, by=reviewer),
        lambda: add_difference(search=search, listed=listed, by=reviewer),
    ):
        with pytest.raises(DecisionRefused, match="submitted"):
            change()
    assert Decision.objects.filter(kind="search").count() == 1


def test_a_changed_search_and_changed_findings_are_found(world, search):
    submit_search(search=search, by=search.assignment.person)
    with mock.patch.object(verification, "game_digest", return_value="0" * 64):
        (fault,) = find_faults(world.packet)
    assert "findings of the searched pair" in fault.reason
    other = find_searchable_games(world.packet)[1]
    PairSearch.objects.filter(pk=search.pk).update(game=other)
    (fault,) = find_faults(world.packet)
    assert "missing or was changed" in fault.reason


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        (Listed("one-sided", 1, 2), "a row of one side"),
        (Listed("TIMING", 1, None), "a row of each side"),
        (Listed("DUPLICATE", None, None), "a row of one side"),
        (Listed("nothing", 1, None), "what the difference is about"),
        (Listed("one-sided", 1, None, float("nan")), "plausible"),
        (Listed("one-sided", 1, None, None, "x" * 501), "at most 500"),
    ],
)
def test_impossible_differences_are_refused(search, listed, words):
    with pytest.raises(DecisionRefused, match=words):
        add_difference(search=search, listed=listed, by=search.assignment.person)


def test_nobody_else_changes_a_search(world, search):
    listed = Listed("one-sided", 1, None)
    for person in (world.reviewers[1], world.admin):
        with pytest.raises(NotAllowed):
            add_difference(search=search, listed=listed, by=person)
        with pytest.raises(NotAllowed):
            submit_search(search=search, by=person)
    with pytest.raises(DecisionRefused, match="Reload"):
        remove_difference(search=search, number=1, by=search.assignment.person)


def test_who_can_search_what(world, search):
    mine = search.assignment
    with pytest.raises(PacketRefused, match="already"):
        assign_search(assignment=mine, game=search.game, by=world.admin)
    with pytest.raises(NotAllowed):
        assign_search(assignment=mine, game=search.game, by=mine.person)


def test_cases_outside_the_packet_cannot_be_searched():
    world = build_open_world(make_judged_world(2), cases=1)
    inside = find_searchable_games(world.packet)
    assert len(inside) == 3
    outside = Game.objects.exclude(pk__in=[g.pk for g in inside]).first()
    assert outside is not None
    with pytest.raises(PacketRefused, match="judged pair"):
        assign_search(assignment=world.assignment(world.reviewers[0]), game=outside, by=world.admin)


def test_a_person_who_has_seen_an_item_of_the_case_cannot_search_it(world):
    mine = world.assignment(world.reviewers[0])
    slot = slots.next_item(assignment=mine)
    assert slot is not None
    open_item(mine, slot.item)
    case = slot.item.finding.game.comparison.encounter
    for game in find_searchable_games(world.packet):
        if game.comparison.encounter == case:
            with pytest.raises(PacketRefused, match="has seen an item of this case"):
                assign_search(assignment=mine, game=game, by=world.admin)


def test_a_search_can_be_removed_until_it_is_submitted(world, search):
    other = find_searchable_games(world.packet)[1]
    second = assign_search(assignment=search.assignment, game=other, by=world.admin)
    remove_search(search=second, by=world.admin)
    assert list(PairSearch.objects.all()) == [search]
    submit_search(search=search, by=search.assignment.person)
    with pytest.raises(PacketRefused, match="submitted"):
        remove_search(search=search, by=world.admin)


def test_the_page_lists_both_sides_saves_each_step_and_is_recorded(client, search):
    client.force_login(search.assignment.person)
    sides = load_sides(search.assignment, search)
    shown = join_markup(client.get(address(search)))
    assert "Timeline A" in shown
    assert sides.left[0].event in shown
    event = AuditEvent.objects.get(action="review.search")
    assert event.detail["case"] == search.game.comparison.encounter.public_id
    body = {"do": "add", "kind": "only", "a": "2", "b": "", "time": "−3 h", "words": "<b>"}
    shown = join_markup(client.post(address(search), body, follow=True))
    assert "&lt;b&gt;" in shown
    assert "−3 h" in shown
    (stored,) = PairSearch.objects.get().draft
    chosen = sides.left[1].entry
    assert (stored["b" if sides.swapped else "a"], stored["time"]) == (chosen, -3.0)
    for wrong, words in (
        ({"a": "999"}, "has no row 999"),
        ({"a": "x"}, "number of a row"),
        ({"a": "2", "time": "soon"}, "as hours from admission"),
        ({"a": "2"}, "already"),
    ):
        answer = client.post(address(search), {**body, "time": "", **wrong}, follow=True)
        assert words in join_markup(answer)
    client.post(address(search), {"do": "remove", "number": "1"})
    assert PairSearch.objects.get().draft == []


def test_the_admin_assigns_and_removes_searches_on_the_packets_page(client, world):
    client.force_login(world.admin)
    game = find_searchable_games(world.packet)[0]
    mine = world.assignment(world.reviewers[0])
    page = reverse("adjudication:packet_action", args=[world.packet.public_id, "search"])
    body = {"assignment": mine.public_id, "game": game.public_id}
    assert "will search this pair" in join_markup(client.post(page, body, follow=True))
    made = PairSearch.objects.get()
    assert (made.assignment, made.game) == (mine, game)
    assert AuditEvent.objects.filter(action="packet.search").count() == 1
    refused = client.post(page, {**body, "game": "nothing"}, follow=True)
    assert "Choose a judged pair" in join_markup(refused)
    away = reverse("adjudication:packet_action", args=[world.packet.public_id, "unsearch"])
    client.post(away, {"search": made.public_id})
    assert not PairSearch.objects.exists()


def test_a_review_is_signed_after_its_searches(client, world):
    """One assigned after all items were decided, without their pages."""
    mine = world.assignment(world.reviewers[0])
    decide_all(world, mine.person, lambda item: "A")
    assign_search(assignment=mine, game=find_searchable_games(world.packet)[0], by=world.admin)
    client.force_login(mine.person)
    page = reverse("adjudication:review_sign", args=[mine.public_id])
    answer = client.post(page, {"password": factories.PASSWORD})
    assert answer.status_code == 400
    assert "Submit your searches" in join_markup(answer)
    submit_search(search=PairSearch.objects.get(), by=mine.person)
    client.post(page, {"password": factories.PASSWORD})
    assert world.assignment(mine.person).signed_at is not None


def test_the_dashboard_of_the_judge_run_has_recall_for_those_who_may_see_the_card(
    client, world, search
):
    """One of the judge's findings is listed, so that recall is 1 of 1."""
    finding = Finding.objects.filter(game=search.game, type="TIMING").first()
    assert finding is not None
    add_difference(search=search, listed=as_listed(finding), by=search.assignment.person)
    submit_search(search=search, by=search.assignment.person)
    run = world.packet.judge_run
    page = reverse("adjudication:dashboard", args=[run.public_id])
    file = reverse("adjudication:dashboard_table", args=[run.public_id, "search", "csv"])
    reader = factories.make_user(world.packet.study, Role.CLINICIAN)
    client.force_login(reader)
    assert "Recall of the judge against people" not in join_markup(client.get(page))
    assert len(client.get(file).content.decode().splitlines()) == 1
    client.force_login(world.admin)
    shown = join_markup(client.get(page))
    assert "Recall of the judge against people" in shown
    lines = [line.split(",") for line in client.get(file).content.decode().splitlines()]
    person, reported = search.assignment.person.get_username(), search.game.findings.count()
    timing = next(line for line in lines if line[2] == "TIMING")
    assert timing[:4] == [person, "1", "TIMING", "1"]
    assert lines[-1][2:6] == ["all", "1", str(reported), "1"]
    # Wilson's interval of 1 of 1
    assert ",100.0,20.65" in ",".join(lines[-1])


def test_admin_and_reviewer_do_the_same_by_the_api(world):
    """Assigned, searched, submitted; the admin sees how many, not which."""
    mine = world.assignment(world.reviewers[0])
    boss, reviewer = ApiClient(world.admin), ApiClient(mine.person)
    game = find_searchable_games(world.packet)[0]
    packet = f"packets/{world.packet.public_id}/searches/"
    body = {"assignment": mine.public_id, "game": game.public_id}
    status, assigned = boss.post(packet, **body)
    assert (status, assigned["submitted_at"], assigned["listed"]) == (201, None, None)
    assert boss.post(packet, **body)[0] == 422

    path = f"review/{mine.public_id}/searches/{assigned['id']}/"
    assert [s["id"] for s in reviewer.get(f"review/{mine.public_id}/searches/")[1]] == [
        assigned["id"]
    ]
    sides = load_sides(mine, PairSearch.objects.get())
    shown = reviewer.get(path)[1]
    assert [row["event"] for row in shown["a"]] == [row.event for row in sides.left]
    assert reviewer.post(f"{path}differences/", kind="only", a=999)[0] == 422
    assert reviewer.post(f"{path}differences/", kind="TIMING", a=1)[0] == 400
    status, listed = reviewer.post(f"{path}differences/", kind="only", a=2, time=-3.0, words="w")
    assert status == 201
    assert listed["listed"] == [{"kind": "only", "a": 2, "b": None, "time": -3.0, "words": "w"}]
    (stored,) = PairSearch.objects.get().draft
    assert stored["b" if sides.swapped else "a"] == sides.left[1].entry
    assert reviewer.delete(f"{path}differences/1/")[0] == 204
    assert reviewer.delete(f"{path}differences/1/")[0] == 422
    reviewer.post(f"{path}differences/", kind="twice", b=1)
    assert reviewer.post(f"{path}submit/")[1]["listed"][0]["kind"] == "twice"
    assert reviewer.post(f"{path}submit/")[0] == 422
    (seen,) = boss.get(packet)[1]
    assert (seen["username"], seen["listed"]) == (mine.person.get_username(), 1)
    assert boss.delete(f"{packet}{assigned['id']}/")[0] == 422
    assert reviewer.get(packet)[0] == 403


def test_the_admin_reads_notes_by_the_api(world):
    mine = world.assignment(world.reviewers[0])
    slot = slots.next_item(assignment=mine)
    assert slot is not None
    write_note(assignment=mine, item=slot.item, text="odd quote", token="t", by=mine.person)
    (note,) = ApiClient(world.admin).get(f"packets/{world.packet.public_id}/notes/")[1]
    assert (note["text"], note["item"], note["number"], note["username"]) == (
        "odd quote",
        slot.item.public_id,
        slot.item.ordinal,
        mine.person.get_username(),
    )
