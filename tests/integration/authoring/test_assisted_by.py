"""Drafts begun from a timeline: what is copied, and their source."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEvent
from adjudication.access.exposure import find_exposed_cases
from tests import factories
from tests.support.pages import join_markup
from tests.worlds.authored import Page, make_author, make_case, settle, span
from timelines.access.authoring import hidden_timelines, make_source
from timelines.authoring.storage import load_document
from timelines.cases.choices import load_choices
from timelines.domain import TimelineKind
from timelines.evaluations.data import known_sources
from timelines.models import Authoring, Entry, Timeline
from timelines.runs.storage import uids_in_use

pytestmark = pytest.mark.django_db


@pytest.fixture
def encounter():
    return make_case()


@pytest.fixture
def machine(encounter):
    """A run that placed the fall at -2 h and could not place the fever."""
    run = factories.make_run(encounter.dataset)
    inventory = factories.make_inventory(encounter.notes.get(), run)
    fever = factories.make_occurrence(inventory, "Fever for three days")
    fell = factories.make_occurrence(inventory, "Fell at home")
    case_run = factories.make_case_run(run, encounter, inventory)
    made = factories.make_timeline(
        inventory, {fever: None, fell: -2.0}, kind=TimelineKind.TEXT_ONLY, case_run=case_run
    )
    Entry.objects.filter(timeline=made, occurrence=fell).update(
        lower=-4.0, upper=-1.0, context=[fever.uid4]
    )
    factories.seal(inventory)
    return made


def begin(encounter, author, **data):
    client = Client()
    client.force_login(author)
    address = reverse("timelines:author_start", args=[encounter.public_id])
    answer = client.post(address, data)
    settle()
    return client, answer


def test_a_draft_begins_with_the_occurrences_and_times_of_a_timeline(encounter, machine):
    ana = make_author(encounter, username="ana")
    client, answer = begin(encounter, ana, protocol="assisted", base=machine.public_id)
    made = Authoring.objects.get()
    assert answer.status_code == 302
    assert (made.protocol, made.assisted_by, made.base) == ("assisted", machine.source, machine)

    fever, fell = load_document(made.inventory).ordered
    theirs = dict(machine.inventory.occurrences.values_list("mention", "uid4"))
    assert {o.mention: o.uid for o in (fever, fell)} == theirs
    assert (fell.placed, fell.time, fell.lower, fell.upper) == (True, -2.0, -4.0, -1.0)
    assert fell.context == (fever.uid,)
    assert not fever.placed, "what it did not place is left to the author"
    shown = join_markup(client.get(reverse("timelines:authoring", args=[made.public_id])))
    assert f'assisted by <span class="source">{machine.source}' in shown
    history = client.get(reverse("timelines:authoring_history", args=[made.public_id]))
    assert "2 occurrences copied" in history.content.decode()
    started = AuditEvent.objects.get(action="authoring.start")
    assert started.detail["assisted_by"] == machine.source
    assert find_exposed_cases(ana, {encounter.public_id}), "they have its times now"
    for uid, identity in uids_in_use(machine.inventory.note_id).items():
        assert identity is not None, f"a later run may share {uid} with the first one still"


def test_it_is_a_source_of_its_own(encounter, machine):
    ana, bo = (make_author(encounter, username=name) for name in ("ana", "bo"))
    begin(encounter, ana, protocol="assisted", base=machine.public_id)
    page = Page(Authoring.objects.get())
    assert page.edit("undo", expect=422), "the copy is no edit of its author"
    fever = load_document(Authoring.objects.get().inventory).ordered[0]
    page.edit("change", uid=fever.uid, values={"time": -72})
    page.add("CT showed a bleed", time=1)
    assert page.post("submit", {"revision": page.revision}).status_code == 200
    other = Page(Authoring.objects.get(pk=_unaided(encounter, bo).pk))
    assert other.post("submit", {}).status_code == 200

    source = f"author:ana/assisted by {machine.source}"
    assert set(known_sources([encounter.dataset])[0]) == {source, "author:bo"}
    assert [c.author for c in load_choices(encounter).references] == [
        f"ana, assisted by {machine.source}",
        "bo",
    ]
    row = page.client.get(reverse("timelines:authoring_download", args=[page.id, "csv"]))
    assert source in row.content.decode()
    agreement = page.client.get(reverse("timelines:agreement", args=[encounter.public_id]))
    assert f"Assisted by {machine.source} and Unaided" in join_markup(agreement)

    page.post("reopen", {"reason": "r"})
    page.post("submit", {})
    assert Timeline.objects.filter(source=f"{source}#1").count() == 1
    page.post("reopen", {"reason": "r"})
    hidden = hidden_timelines(ana, encounter)
    assert hidden == {Timeline.objects.get(source="author:bo").pk}, "not their own one"


def _unaided(encounter, author):
    begin(encounter, author, protocol="unaided")
    made = Authoring.objects.get(author=author)
    Page(made).edit("add", values={**span("Fell at home"), "time": -3})
    return made


def test_who_may_begin_from_what(encounter, machine):
    ana = make_author(encounter)
    for data in (
        {"protocol": "unaided", "base": machine.public_id},
        {"protocol": "assisted", "base": "nothing"},
    ):
        assert begin(encounter, ana, **data)[1].status_code == 400
    assert not Authoring.objects.exists()
    bo = make_author(encounter)
    page = Page(_unaided(encounter, bo))
    page.post("submit", {})
    reference = Timeline.objects.get(source__startswith="author:")
    client, answer = begin(encounter, ana, protocol="assisted", base=reference.public_id)
    assert answer.status_code == 400, "another author's timeline is no base"
    offered = client.get(reverse("timelines:author_start", args=[encounter.public_id]))
    assert [o.timeline.pk for o in offered.context["bases"]] == [machine.pk]
    foreign = make_case()
    assert (
        begin(foreign, make_author(foreign), protocol="assisted", base=machine.public_id)[
            1
        ].status_code
        == 400
    ), "nor is one of another case"


def test_the_database_keeps_unaided_timelines_without_a_base(encounter, machine):
    made = _unaided(encounter, make_author(encounter))
    for change in ({"assisted_by": "rules"}, {"base": machine}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Authoring.objects.filter(pk=made.pk).update(**change)


def test_a_long_source_stays_within_its_column(encounter):
    ana = make_author(encounter, username="a" * 80)
    made = {make_source(ana, f"{'s' * 95}{end}") for end in ("one", "two")}
    assert len(made) == 2
    assert all(len(source) < 97 for source in made), "with room for the number of a submission"
