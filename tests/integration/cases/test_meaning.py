"""Search by meaning: vectors of mentions, waiting, closed cases."""

import pytest
from django.urls import reverse

from accounts.models import AuditEvent, Role
from jobs.models import JobState
from llm_runtime.roles import ModelRoles
from tests import factories
from tests.integration.cases.test_search import make_case
from tests.support.pages import extract_text
from tests.worlds.authored import make_draft
from tests.worlds.reconstructed import LIGHT_ROLES
from timelines.domain import TimelineKind
from timelines.models import MeaningSearch, MentionIndexing, MentionVector, StudyTimeline
from timelines.runs.study_timeline.actions import choose_study_timeline
from timelines.search import indexing, meaning

pytestmark = pytest.mark.django_db(transaction=True)

NOTE = "Sepsis from the lung. Chest pain at rest. Severe chest pain. Given apixaban."


@pytest.fixture(autouse=True)
def roles(monkeypatch):
    made = ModelRoles(LIGHT_ROLES)
    monkeypatch.setattr(indexing, "roles", lambda: made)
    monkeypatch.setattr(meaning, "roles", lambda: made)


@pytest.fixture
def study():
    return factories.make_study()


@pytest.fixture
def reader(study):
    return factories.make_user(study, Role.CLINICIAN, username="reader")


@pytest.fixture
def web(client, reader):
    """Asks for an address as a clinician of the study."""
    client.force_login(reader)
    return client


def index(study) -> None:
    for chosen in StudyTimeline.objects.filter(dataset__study=study):
        job = indexing.index_mentions(chosen.run)
        indexing.execute_indexing(job.pk)


def ask(web, text, **more):
    return web.post(reverse("timelines:search"), {"text": text, "mode": "meaning", **more})


def search(web, text):
    """Ask, let a worker embed the words, and look again."""
    waiting = ask(web, text)
    asked = waiting.context["asked"]
    assert "hits" not in waiting.context
    meaning.execute_meaning_search(asked.pk)
    return ask(web, text, asked=asked.public_id)


def found(answer):
    return [
        (case.encounter.case_id, ["".join(p for p, m in hit.pieces if m) for hit in case.hits])
        for case in answer.context["hits"]
    ]


def test_mentions_most_alike_are_found_with_sentence_time_and_model(web, study, reader):
    case = make_case(study, NOTE, "Sepsis", "Chest pain", "chest pain", case_id="a")
    make_case(study, NOTE, "Severe chest pain", case_id="b")
    make_case(study, NOTE, "apixaban", case_id="c")
    make_case(factories.make_study(), NOTE, "Chest pain", case_id="elsewhere")
    index(study)
    answer = search(web, "Chest PAIN")
    assert found(answer) == [("a", ["Chest pain", "chest pain"]), ("b", ["Severe chest pain"])]
    assert "HD 1 · 16:38" in extract_text(answer)
    assert "most alike first, by hashing-64" in extract_text(answer)
    assert {
        (e.action, e.object_id)
        for e in AuditEvent.objects.filter(actor=reader, action="case.search")
    } >= {("case.search", case.public_id)}
    (stored,) = MeaningSearch.objects.filter(person=reader)
    assert (stored.text, stored.model) == ("", "hashing-64")
    assert "hest" not in str(dict(web.session))


def test_each_distinct_mention_has_one_vector_however_often_it_is_embedded(study):
    case = make_case(study, NOTE, "Sepsis", "Chest pain", "chest pain")
    index(study)
    assert MentionVector.objects.count() == 2
    run = StudyTimeline.objects.get(dataset=case.dataset).run
    MentionVector.objects.first().delete()
    embedder = indexing.roles().embedder()
    assert indexing.embed_mentions(run, embedder) == 1
    assert indexing.embed_mentions(run, embedder) == 0
    assert MentionVector.objects.count() == 2
    assert MentionIndexing.objects.get().state == JobState.SUCCEEDED


def test_closed_cases_change_nothing_of_what_is_found(web, study, reader, monkeypatch):
    monkeypatch.setattr(meaning, "_CHUNK", 2)
    make_case(study, NOTE, "Chest pain", case_id="a")
    make_case(study, NOTE, "Severe chest pain", case_id="b")
    index(study)
    before = found(search(web, "chest pain"))
    for number in range(5):
        closed = make_case(study, NOTE, mention=f"chest pain {number}", case_id=f"z{number}")
        make_draft(closed, reader)
    index(study)
    assert MentionVector.objects.count() == 7
    assert found(search(web, "chest pain")) == before


def test_without_vectors_the_page_says_what_to_do_and_others_searches_are_not_shown(web, study):
    make_case(study, NOTE, "Chest pain")
    assert "have no vectors of hashing-64 yet" in extract_text(search(web, "pain"))
    index(study)
    other = factories.make_user(study, Role.CLINICIAN)
    theirs = meaning.start_meaning_search(study=study, text="sepsis", by=other)
    meaning.execute_meaning_search(theirs.pk)
    answer = ask(web, "pain", asked=theirs.public_id)
    assert answer.context["asked"] != theirs
    assert "hits" not in answer.context


def test_choosing_a_study_timeline_queues_its_mentions(study):
    case = make_case(study, NOTE, "Chest pain")
    admin = factories.make_user(study, Role.ADMIN)
    run = factories.make_run(case.dataset)
    inventory = factories.make_inventory(case.notes.get(), run)
    fell = factories.make_occurrence(inventory, "Sepsis")
    case_run = factories.make_case_run(run, case, inventory)
    factories.make_timeline(inventory, {fell: 1.0}, kind=TimelineKind.REVISED, case_run=case_run)
    choose_study_timeline(run=run, reason="Better", by=admin)
    assert MentionIndexing.objects.get(run=run).state == JobState.QUEUED
