"""Concepts by meaning: vectors are rebuilt, typed words are searched.

The vectors are in the real database; the embedder is the one that hashes words.
"""

from __future__ import annotations

import pytest
from django.urls import reverse

from accounts.models import AuditEvent, Role
from accounts.permissions import NotAllowed
from cohorts.concepts.actions import create_concept
from cohorts.concepts.embedding import rebuild_vectors
from cohorts.concepts.matching import count_missing_vectors
from jobs.models import JobState
from llm_runtime.roles import ModelRoles
from tests import factories
from tests.worlds.cohorts import Event, make_stay, make_study_run
from tests.worlds.reconstructed import LIGHT_ROLES
from timelines.domain import Polarity
from timelines.models import MeaningSearch, MentionIndexing, MentionVector
from timelines.search import indexing, meaning

pytestmark = pytest.mark.django_db(transaction=True)
GIVEN, LATER = "Andexanet alfa bolus started", "Andexanet alfa bolus"


@pytest.fixture(autouse=True)
def roles(monkeypatch):
    made = ModelRoles(LIGHT_ROLES)
    for module in (indexing, meaning):
        monkeypatch.setattr(module, "roles", lambda: made)


@pytest.fixture
def run():
    run = make_study_run(factories.make_dataset())
    make_stay(run, [Event(GIVEN, 1.0, 1.0), Event("Fell at home", 1.0, 1.0)])
    make_stay(run, [Event(LATER, 1.0, 1.0, polarity=Polarity.PLANNED)])
    return run


@pytest.fixture
def admin(run):
    return factories.make_user(run.study, Role.ADMIN)


def embed(run):
    """Do the embedding that waits, as a worker does."""
    job = MentionIndexing.objects.get(run=run)
    return indexing.execute_indexing(job.pk)


def test_rebuilding_embeds_only_what_is_missing(run, admin):
    with pytest.raises(NotAllowed):
        rebuild_vectors(study=run.study, by=factories.make_user(run.study, Role.CLINICIAN))
    assert count_missing_vectors(run.study) == 3
    assert rebuild_vectors(study=run.study, by=admin) == 1
    # The job waits already.
    assert rebuild_vectors(study=run.study, by=admin) == 0
    assert embed(run) == JobState.SUCCEEDED
    assert count_missing_vectors(run.study) == 0
    first = dict(MentionVector.objects.values_list("key", "pk"))
    assert len(first) == 3
    make_stay(run, [Event("Coughed", 1.0, 1.0), Event(GIVEN.upper(), 1.0, 1.0)])
    assert count_missing_vectors(run.study) == 1
    assert rebuild_vectors(study=run.study, by=admin) == 1
    assert embed(run) == JobState.SUCCEEDED
    again = dict(MentionVector.objects.values_list("key", "pk"))
    assert len(again) == 4
    assert first.items() <= again.items()
    made = AuditEvent.objects.filter(action="concept.vectors", actor=admin)
    assert [event.detail for event in made] == [{"runs": 1}] * 2


def test_a_study_without_a_study_timeline_has_nothing_to_embed():
    study = factories.make_study()
    assert rebuild_vectors(study=study, by=factories.make_user(study, Role.ADMIN)) == 0
    assert not AuditEvent.objects.filter(action="concept.vectors").exists()


def test_typed_words_propose_the_nearest_mentions_of_what_happened(run, admin, client):
    concept = create_concept(study=run.study, name="reversal agent given", by=admin)
    page = reverse("cohorts:concept", args=[concept.public_id])
    address = reverse("cohorts:concept_meaning", args=[concept.public_id])
    client.force_login(admin)
    client.post(reverse("cohorts:concept_vectors"))
    embed(run)
    asked = client.post(address, {"text": "bolus: ANDEXANET alfa"})
    search = MeaningSearch.objects.get(person=admin)
    assert asked.url == f"{page}?asked={search.public_id}"
    # The worker has not embedded the words yet.
    assert client.post(address, {"asked": search.public_id}).status_code == 404
    assert not client.get(asked.url).context["asked"]["ready"]
    assert meaning.execute_meaning_search(search.pk) == JobState.SUCCEEDED
    assert client.get(asked.url).context["asked"]["ready"]
    client.post(address, {"asked": search.public_id})
    # Three of four words are typed: the cosine is 3 / (2 · √3). The planned one is left out.
    (member,) = concept.members.all()
    assert (member.words, member.state) == (GIVEN.lower(), "proposed")
    assert member.found_by == "meaning, 0.87"
    again = client.post(address, {"asked": search.public_id}, follow=True)
    assert "Nothing new was found." in again.content.decode()


def test_a_search_of_another_person_is_not_used(run, admin, client):
    concept = create_concept(study=run.study, name="reversal agent given", by=admin)
    other = factories.make_user(run.study, Role.ADMIN)
    search = meaning.start_meaning_search(study=run.study, text="andexanet", by=other)
    assert meaning.execute_meaning_search(search.pk) == JobState.SUCCEEDED
    client.force_login(admin)
    address = reverse("cohorts:concept_meaning", args=[concept.public_id])
    assert client.post(address, {"asked": search.public_id}).status_code == 404
    assert not concept.members.exists()
