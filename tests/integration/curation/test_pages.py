"""Answers through the addresses of the case page, and who is refused."""

from __future__ import annotations

from contextlib import nullcontext
from unittest import mock

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import AuditEvent, Notification
from adjudication.access.exposure import find_exposed_cases
from tests import factories
from tests.support.api import ApiClient
from tests.worlds.corrected import make_corrected_world
from timelines.authoring.actions import start_authoring
from timelines.cases.choices import load_choices
from timelines.cases.items import find_occurrence, spans_and_items
from timelines.curation.curated import find_current
from timelines.curation.reading import Dispute, find_disputes
from timelines.domain import TimelineKind
from timelines.evaluation.values import SourceKey
from timelines.evaluations.data import Chosen, load_cases
from timelines.models import Authoring, Comment, Correction, Flag
from timelines.presentation.status import Status

pytestmark = pytest.mark.django_db


@pytest.fixture
def world():
    return make_corrected_world()


class Browser:
    """A person with the case page open."""

    def __init__(self, world, person):
        self.client, self.world = Client(), world
        self.client.force_login(person)

    def path(self, name, *more):
        return reverse(f"timelines:{name}", args=[self.world.encounter.public_id, *more])

    def post(self, name, *more, **body):
        found = self.client.post(self.path(name, *more), body, content_type="application/json")
        return found.status_code, found.json() if found.status_code != 404 else {}

    def answer(self, name, **body):
        return self.post(name, self.world.vancomycin.uid4, **body)

    def panel(self, timeline="", uid=""):
        query = {"t": timeline} if timeline else {}
        path = self.path("chain", uid or self.world.vancomycin.uid4)
        return self.client.get(path, query).content.decode()


def test_a_row_is_taken_and_the_page_shows_the_correction(world):
    anna = Browser(world, world.anna)
    form = anna.client.get(anna.path("correct_form", world.vancomycin.uid4)).content.decode()
    assert 'data-row="1"' in form
    assert form.index('data-row="0"') < form.index('data-row="1"'), "nearest first"
    assert AuditEvent.objects.filter(action="case.answers", actor=world.anna).exists()

    status, found = anna.answer("correct", rows=[1])
    assert status == 200
    curated = find_current(world.base)
    assert found == {"timeline": curated.public_id}
    choices = load_choices(world.encounter)
    assert choices.default.pk == curated.pk
    _, items = spans_and_items(choices.default, choices)
    assert [i.status for i in items] == [Status.EXPLICIT, Status.CORRECTED, Status.UNPLACED]
    panel = anna.panel()
    assert "Corrected by anna to HD 1 · 20:53, was 16:08." in panel
    assert "The medication record has vancomycin started, 1 g." in panel
    assert "anna says HD 1 · 20:53." in anna.panel(world.base.public_id)

    made = Correction.objects.get()
    status, found = anna.post("correction_undo", made.public_id)
    assert (status, found) == (200, {"timeline": world.base.public_id})


def test_two_differ_and_an_admin_settles_on_the_page(world):
    anna, boris, chief = (Browser(world, person) for person in world.people)
    anna.answer("correct", entered="+6.25", reason="row 1")
    boris.answer("correct", kind="not_happened", reason="never given")
    everything = Correction.objects.all()
    assert find_disputes(everything) == [
        Dispute(world.encounter, world.base.public_id, world.vancomycin.uid4)
    ]
    home = {person: person.client.get("/").content.decode() for person in (anna, chief)}
    assert "1 time with corrections that differ" in home[chief]
    assert "corrections that differ" not in home[anna]
    for person in (anna, boris, chief):
        panel = person.panel()
        assert "The corrections differ." in panel
        assert all(words in panel for words in ("20:53", "did not happen", "never given"))
        assert ("data-settle-form" in panel) is (person is chief)
    first = Correction.objects.first()
    status, refused = anna.answer("settle", correction=first.public_id)
    assert (status, refused["message"]) == (403, "A study admin settles corrections that differ.")
    status, found = chief.answer("settle", correction=first.public_id, reason="row")
    assert (status, found["timeline"]) == (200, find_current(world.base).public_id)
    assert "Settled by chief to HD 1 · 20:53" in boris.panel()
    assert find_disputes(everything) == []


def test_comments_mention_thread_resolve_and_withdraw(world):
    anna, boris = Browser(world, world.anna), Browser(world, world.boris)
    factories.make_user(factories.make_study(), username="stranger")
    body = "Is that right, @Boris? @stranger, a@boris and <b>@chief.</b>"
    assert anna.answer("comment", body=body)[0] == 200
    first = Comment.objects.get()
    assert sorted(m.person.username for m in first.mentions.all()) == ["boris", "chief"]
    assert boris.answer("comment", body="No", parent=first.public_id)[0] == 200
    reply = Comment.objects.latest("pk")
    assert boris.answer("comment", body="again", parent=reply.public_id)[0] == 200
    assert Comment.objects.latest("pk").parent == first, "a reply to a reply joins the thread"
    assert "&lt;b&gt;@chief.&lt;/b&gt;" in boris.panel()
    assert boris.post("comment_step", first.public_id, "withdraw")[0] == 403
    assert boris.post("comment_step", first.public_id, "resolve")[0] == 200
    assert boris.post("comment_step", first.public_id, "resolve")[0] == 422
    assert "Resolved by boris" in anna.panel()
    assert anna.post("comment_step", first.public_id, "reopen")[0] == 200
    assert anna.post("comment_step", first.public_id, "withdraw")[0] == 200
    panel = anna.panel()
    assert "Withdrawn." in panel
    assert "Is that right" not in panel
    assert first.body in Comment.objects.values_list("body", flat=True), "the row stays"
    trail = str(list(AuditEvent.objects.filter(action="case.comment").values_list("detail")))
    assert "right" not in trail


def test_a_flag_has_a_reason_and_is_withdrawn_by_a_further_row(world):
    anna, boris = Browser(world, world.anna), Browser(world, world.boris)
    assert anna.answer("flag", reason="nonsense")[0] == 422
    assert anna.answer("flag", reason="other")[0] == 422
    assert anna.answer("flag", reason="wrong_row", words="an order")[0] == 200
    assert anna.answer("flag", reason="wrong_row", words="an order")[0] == 200
    made = Flag.objects.get()
    assert "Wrong row of the record" in boris.panel()
    assert boris.post("flag_withdraw", made.public_id)[0] == 403
    assert anna.post("flag_withdraw", made.public_id)[0] == 200
    assert 'aria-label="Flags"' not in boris.panel()
    assert Flag.objects.count() == 2


def test_one_page_has_all_answers_of_a_case(world, django_assert_num_queries):
    """What became of each; words as text; nothing that was withdrawn."""
    anna, boris, chief = (Browser(world, person) for person in world.people)
    fever = world.fever.uid4
    anna.answer("correct", rows=[1], reason="<i>row</i> 1")
    anna.answer("correct", entered="+2", reason="read again")
    boris.answer("correct", kind="not_happened", reason="never given")
    boris.post("correct", fever, entered="-3", reason="mother")
    boris.post("correction_undo", Correction.objects.get(occurrence=world.fever).public_id)
    anna.post("correct", world.scan.uid4, rows=[2])
    anna.answer("comment", body="Given?")
    boris.answer("comment", body="<b>No</b>", parent=Comment.objects.get().public_id)
    boris.post("comment", fever, body="a slip of the pen")
    slip = Comment.objects.latest("pk")
    boris.post("comment_step", slip.public_id, "withdraw")
    anna.answer("flag", reason="wrong_row", words="an order")

    with CaptureQueriesContext(connection) as asked:
        page = chief.client.get(chief.path("case_answers"))
    queries = len(asked)
    lines = page.context["corrections"]
    assert [(line.row.occurrence.mention, line.state.value) for line, _ in lines] == [
        ("head CT", "in the curated timeline"),
        ("fever", "undone"),
        ("Vancomycin", "in dispute"),
        ("Vancomycin", "in dispute"),
        ("Vancomycin", "replaced by a later answer or settlement"),
    ]
    text = page.content.decode()
    assert "&lt;i&gt;row&lt;/i&gt; 1" in text
    assert "&lt;b&gt;No&lt;/b&gt;" in text
    assert "slip of the pen" not in text
    assert text.count("Withdrawn.") == 1
    assert "Wrong row of the record" in text
    where = f"{anna.path('case')}?t={world.base.public_id}&amp;o={world.scan.uid4}"
    assert f'href="{where}"' in text
    assert anna.client.get(where.replace("&amp;", "&")).context["selected"] == world.scan.uid4
    event = AuditEvent.objects.filter(action="case.answers").latest("pk")
    assert (event.actor, event.detail["part"]) == (world.admin, "all")
    assert (
        f'href="{anna.path("case_answers")}"' in anna.client.get(anna.path("case")).content.decode()
    )

    for person in (anna, boris):
        person.post("correct", fever, entered="+1", reason="seen")
        person.post("comment", fever, body="and again")
        person.answer("flag", reason="unclear")
    with django_assert_num_queries(queries):
        chief.client.get(chief.path("case_answers"))


def test_an_author_with_an_open_draft_reads_no_answers(world):
    start_authoring(encounter=world.encounter, protocol=Authoring.Protocol.ASSISTED, by=world.boris)
    boris = Browser(world, world.boris)
    assert boris.client.get(boris.path("case_answers")).status_code == 403


def test_bodies_are_checked(world):
    anna = Browser(world, world.anna)
    for body in ({"rows": ["1"]}, {"rows": [-1]}, {"kind": "base"}, {"known": 1}, {"entered": "x"}):
        assert anna.answer("correct", **body)[0] == 422, body
    assert anna.answer("correct", entered=5)[0] == 400
    assert anna.answer("correct", entered="+1", timeline="zzzzzzzzzzzz")[0] == 404
    assert anna.post("answer_time", text="HD 2")[1]["words"].startswith("HD 2 · 12:00")
    assert anna.post("answer_time", text="soon")[0] == 422
    _, found = anna.post("answer_rows", text="vancomycin", near=6)
    assert [row["row_index"] for row in found["rows"]] == [1, 0]
    assert not Correction.objects.exists()


def test_an_answer_exposes_its_author(world):
    """Also if no page of the case was opened, as through the API."""
    Browser(world, world.anna).answer("comment", body="seen")
    assert find_exposed_cases(world.anna, [world.encounter.public_id])
    assert not find_exposed_cases(world.boris, [world.encounter.public_id])


def test_programs_correct_and_comment(world):
    anna, outsider = ApiClient(world.anna), ApiClient(factories.make_user(factories.make_study()))
    case, uid = f"cases/{world.encounter.public_id}", world.vancomycin.uid4
    status, made = anna.post(f"{case}/corrections/", uid=uid, rows=[1])
    assert (status, made["time"], made["applied"], made["by"]) == (201, 6.25, True, "anna")
    assert made["timeline"] == world.base.public_id
    assert anna.post(f"{case}/corrections/", uid=uid, entered="soon")[0] == 422
    assert anna.post(f"{case}/corrections/", uid="ffff", rows=[1])[0] == 404
    assert anna.get(f"{case}/corrections/") == (200, [made])
    status, said = anna.post(f"{case}/comments/", body="Given? @boris", uid=uid)
    assert (status, said["mentions"], said["uid"]) == (201, ["boris"], uid)
    status, reply = anna.post(f"{case}/comments/", body="Yes", reply_to=said["id"])
    assert (status, reply["reply_to"]) == (201, said["id"])
    status, refused = anna.post(f"{case}/comments/", body="Yes", reply_to=said["id"], uid=uid)
    assert (status, "leave out uid" in str(refused)) == (422, True)
    assert anna.get(f"{case}/comments/") == (200, [said, reply])
    for path in ("corrections/", "comments/"):
        assert outsider.get(f"{case}/{path}")[0] == 403


def test_the_curated_timeline_is_evaluated_with_the_base_where_nobody_corrected(world):
    """As a source like any other; a cohort's figures are over all its cases."""
    other = factories.make_encounter(world.dataset)
    inventory = factories.make_inventory(
        factories.make_note(other, "Fever."), world.base.case_run.run
    )
    fever = factories.make_occurrence(inventory, "Fever")
    case_run = factories.make_case_run(world.base.case_run.run, other, inventory)
    factories.make_timeline(inventory, {fever: 1.0}, kind=TimelineKind.REVISED, case_run=case_run)
    for encounter, words, hours in ((world.encounter, "Vancomycin", 6.25), (other, "Fever", 1.0)):
        reference = factories.make_inventory(encounter.notes.get())
        occurrence = factories.make_occurrence(reference, words)
        factories.make_timeline(reference, {occurrence: hours}, kind=TimelineKind.REFERENCE)
        factories.seal(reference)
    Browser(world, world.anna).answer("correct", rows=[1])
    chosen = Chosen([world.dataset], "reference", ["rules", "curated:rules"])
    found = {loaded.encounter.pk: loaded.case.timelines for loaded in load_cases(chosen)}
    key = SourceKey("curated:rules", "revised", 1)
    assert [e.time for e in found[world.encounter.pk][key]] == [-6.0, 6.25, None]
    assert [e.time for e in found[other.pk][key]] == [1.0]
    assert [e.time for e in found[world.encounter.pk][SourceKey("rules", "revised", 1)]][1] == 1.5


def test_a_mention_is_told_to_people_who_may_read_it(world):
    """The notification has ids only; its address opens with the occurrence."""
    anna, uid = Browser(world, world.anna), world.vancomycin.uid4
    body = "@Boris, @anna and @nobody: given at the bedside"
    assert anna.answer("comment", body=body)[0] == 200
    told = Notification.objects.get()
    assert (told.recipient, told.kind, told.name) == (world.boris, "mentioned", "")
    assert told.path.startswith(f"/cases/{world.encounter.public_id}/?t=")
    page = Browser(world, world.boris).client.get(told.path)
    assert page.status_code == 200
    assert page.context["selected"] == uid
    assert find_occurrence(page.context["chosen"], uid) is not None
    # A correction makes another timeline the default; the address still opens.
    anna.answer("correct", kind="disputed", reason="other", words="no")
    assert Browser(world, world.boris).client.get(told.path).status_code == 200


@pytest.mark.parametrize("why", ["packet", "unaided", "writing"])
def test_a_person_to_whom_the_case_is_closed_cannot_be_mentioned(world, why):
    anna = Browser(world, world.anna)
    closed = (
        mock.patch("timelines.access.authoring.veto", refuse_boris)
        if why == "packet"
        else nullcontext()
    )
    if why != "packet":
        protocol = Authoring.Protocol("unaided" if why == "unaided" else "assisted")
        start_authoring(encounter=world.encounter, protocol=protocol, by=world.boris)
    with closed:
        status, found = anna.answer("comment", body="@boris and @chief, look")
    assert status == 422
    assert found["field"] == "body"
    assert "@boris cannot be mentioned in this case now." in str(found)
    assert "packet" not in str(found)
    assert not Notification.objects.exists()
    assert not Comment.objects.exists()


def refuse_boris(user, object_type, object_id):
    return "You review it." if user.username == "boris" else None
