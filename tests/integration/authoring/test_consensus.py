"""Two submitted timelines become one, through the pages."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import IntegrityError, InternalError, connection, transaction
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEvent, User
from tests.support.pages import join_markup
from tests.worlds.authored import Page, make_author, make_case, make_draft, settle
from timelines.authoring import consensus
from timelines.authoring.consensus import Choice, is_outdated, start_consensus
from timelines.cases.choices import load_choices
from timelines.evaluations.data import known_sources
from timelines.models import Authoring, Consensus, ConsensusDecision, Entry, Timeline
from timelines.transfer.lines import Selection, export_cases

pytestmark = pytest.mark.django_db


class Room:
    """A case that ana and bo submitted, and cleo who reconciles."""

    def __init__(self) -> None:
        self.encounter = make_case()
        self.pages = []
        for name, fell, ct in (("ana", -2, 1), ("bo", -4, 30)):
            page = Page(make_draft(self.encounter, make_author(self.encounter, username=name)))
            page.add("Fell at home", time=fell)
            page.add("CT showed a bleed", time=ct)
            if name == "bo":
                page.add("Fever for three days", time=-72)
            assert page.post("submit", {}).status_code == 200
            self.pages.append(page)
        self.client = Client()
        self.client.force_login(make_author(self.encounter, username="cleo"))

    def start(self) -> Consensus:
        pair = "-".join(page.id for page in self.pages)
        path = reverse("timelines:consensus_start", args=[self.encounter.public_id])
        answer = self.client.post(path, {"pair": pair})
        settle()
        assert answer.status_code == 302, answer.content
        return Consensus.objects.latest("pk")

    def keys(self, made: Consensus) -> list[str]:
        return [line.key for line in self.show(made).context["left"]]

    def show(self, made: Consensus):
        return self.client.get(reverse("timelines:consensus", args=[made.public_id]))

    def post(self, name: str, made: Consensus, **data: str):
        path = reverse(f"timelines:consensus_{name}", args=[made.public_id])
        answer = self.client.post(path, data, follow=True)
        settle()
        return answer


@pytest.fixture
def room():
    return Room()


def test_a_consensus_takes_over_decides_and_becomes_a_reference(room):
    agreement = reverse("timelines:agreement", args=[room.encounter.public_id])
    assert "Make a consensus" in room.client.get(agreement).content.decode()
    made = room.start()
    assert room.start() == made, "it is taken up again"
    fever, ct = room.keys(made)
    assert "1 taken over" in join_markup(room.show(made))

    for wrong in (
        {"item": ct, "choice": "first"},
        {"item": ct, "choice": "agreed", "reason": "x"},
        {"item": ct, "choice": "own", "entered": "sometime", "reason": "x"},
        {"item": fever, "choice": "first", "reason": "ana did not mark it"},
        {"item": "0000-0000", "choice": "dropped", "reason": "x"},
    ):
        assert "message-error" in room.post("decide", made, **wrong).content.decode(), wrong
    assert "left to decide" in room.post("submit", made).content.decode()
    room.post("decide", made, item=fever, choice="dropped", reason="not of this stay")
    room.post("decide", made, item=ct, choice="second", reason="first thought")
    for _ in range(2):
        room.post(
            "decide", made, item=ct, choice="own", entered="+2 h", reason="the report says so"
        )
    log = made.decisions.exclude(choice=Choice.AGREED).order_by("pk")
    assert [(d.choice, d.by.username) for d in log] == [
        ("dropped", "cleo"),
        ("second", "cleo"),
        ("own", "cleo"),
    ], "every change of mind is stored once"
    shown = room.post("submit", made).content.decode()
    assert "the report says so" in shown

    made.refresh_from_db()
    assert made.timeline.source == "consensus:ana+bo"
    entries = Entry.objects.filter(timeline=made.timeline).order_by("occurrence__ordinal")
    assert list(
        entries.values_list("occurrence__mention", "time", "lower", "upper", "decided_by", "reason")
    ) == [
        ("Fell at home", -3.0, -4.0, -2.0, "both authors", ""),
        ("CT showed a bleed", 2.0, None, None, "consensus", "the report says so"),
    ]
    assert [c.consensus for c in load_choices(room.encounter).references][-1] == "ana+bo"
    assert "consensus:ana+bo" in known_sources([room.encounter.dataset])[0]
    lines = export_cases([room.encounter], Selection(sources=("consensus:ana+bo",)))
    assert sum(len(list(case.lines)) for case in lines) == 2
    steps = AuditEvent.objects.filter(action="agreement.consensus").order_by("pk")
    assert [e.detail["step"] for e in steps] == ["start", *["decide"] * 3, "submit"]
    assert (
        "does not change"
        in room.post("decide", made, item=ct, choice="first", reason="late").content.decode()
    )


def test_a_later_submission_needs_a_new_consensus(room):
    made = room.start()
    first = room.pages[0]
    first.post("reopen", {"reason": "r"})
    assert room.show(made).status_code == 403, "an author has an open draft"
    first.post("submit", {})
    assert "has submitted again" in room.show(made).content.decode()
    key = room.keys(made)[0]
    room.post("decide", made, item=key, choice="dropped", reason="r")
    assert not made.decisions.exclude(choice=Choice.AGREED).exists()
    again = room.start()
    assert again != made
    for key in room.keys(again):
        room.post("decide", again, item=key, choice="dropped", reason="r")
    room.post("submit", again)
    assert Timeline.objects.filter(source="consensus:ana+bo").count() == 1


def test_a_consensus_is_of_what_was_submitted_last(room):
    first, second = Authoring.objects.order_by("author__username")
    cleo = User.objects.get(username="cleo")
    room.pages[0].post("reopen", {"reason": "r"})
    room.pages[0].post("submit", {})
    made = start_consensus(first=first, second=second, by=cleo)
    assert not is_outdated(made)


@pytest.mark.django_db(transaction=True)
def test_no_author_reopens_while_a_consensus_is_submitted(room, monkeypatch):
    made = room.start()
    for key in room.keys(made):
        room.post("decide", made, item=key, choice="dropped", reason="r")
    store = consensus._store

    def try_to_reopen() -> list[Authoring]:
        try:
            with transaction.atomic():
                return list(Authoring.objects.select_for_update(skip_locked=True))
        finally:
            connection.close()

    def store_meanwhile(*args):
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(try_to_reopen).result() == []
        return store(*args)

    monkeypatch.setattr(consensus, "_store", store_meanwhile)
    room.post("submit", made)
    made.refresh_from_db()
    assert made.timeline is not None


def test_a_consensus_with_an_assisted_timeline_is_kept_apart(room):
    Authoring.objects.filter(author__username="bo").update(protocol="assisted", assisted_by="rules")
    made = room.start()
    for key in room.keys(made):
        room.post("decide", made, item=key, choice="dropped", reason="r")
    room.post("submit", made)
    assert Timeline.objects.filter(source="consensus:ana+bo/assisted by rules").exists()


def test_the_database_keeps_consensuses(room):
    made = room.start()
    other = Room.__new__(Room)
    other.encounter = make_case()
    foreign = Page(make_draft(other.encounter, make_author(other.encounter, username="di")))
    foreign.add("Fell at home", time=1)
    foreign.post("submit", {})
    theirs = Timeline.objects.get(source="author:di")
    agreed = made.decisions.get()
    changes = (
        "UPDATE timelines_consensusdecision SET reason = 'x'",
        "DELETE FROM timelines_consensusdecision",
        "DELETE FROM timelines_consensus",
        "UPDATE timelines_consensus SET started_by_id = started_by_id + 1",
        f"UPDATE timelines_consensus SET second_id = {theirs.pk}",
    )
    for sql in changes:
        with (
            pytest.raises((IntegrityError, InternalError)),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(f"{sql}; SET CONSTRAINTS ALL IMMEDIATE")
    with pytest.raises((IntegrityError, InternalError)), transaction.atomic():
        ConsensusDecision.objects.create(
            consensus=made,
            first=theirs.inventory.occurrences.get(),
            choice="dropped",
            reason="r",
            by=agreed.by,
        )
