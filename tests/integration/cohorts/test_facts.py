"""Facts of concepts, read from each source of times."""

from __future__ import annotations

import math

import pytest

from cohorts.facts.loading import load_facts
from cohorts.values import Source
from tests import factories
from tests.worlds.cohorts import Event, Row, make_concept, make_stay, make_study_run
from timelines.domain import Polarity, TimelineKind

pytestmark = pytest.mark.django_db
GIVEN = Event(
    "Andexanet was given", 4.0, 7.5, note_bounds=(2.0, 6.0), record_bounds=(7.0, None), rows=(0,)
)
DENIED = Event("andexanet was given", 1.0, 1.0, polarity=Polarity.ABSENT)
OTHER = Event("Fell at home", None, -2.0)


@pytest.fixture
def stay():
    run = make_study_run(factories.make_dataset())
    return make_stay(run, [GIVEN, DENIED, OTHER], [Row("med:andexanet:administration", 7.5, "400")])


@pytest.fixture
def concepts(stay):
    study = stay.dataset.study
    return {
        "given": make_concept(
            study,
            "given",
            mentions=["andexanet was given"],
            series=["med:andexanet:administration"],
        ),
        "fell": make_concept(study, "fell", mentions=["Fell at home"]),
    }


def lines(stay, source, concepts):
    loaded = load_facts(stay.dataset, source, concepts)
    assert loaded.stays == {stay.pk}
    columns = ["concept", "point", "lower", "upper"]
    return loaded.facts.select(columns).rows()


def test_the_note_alone_has_its_own_times_and_bounds(stay, concepts):
    # The denied occurrence has the same words and is no member; without a time everything is open.
    assert lines(stay, Source.NOTE, concepts) == [
        ("given", 4.0, 2.0, 6.0),
        ("fell", None, -math.inf, math.inf),
    ]


def test_a_missing_bound_is_open_and_a_time_without_bounds_is_exact(stay, concepts):
    assert lines(stay, Source.RECORD, concepts) == [
        ("given", 7.5, 7.0, math.inf),
        ("fell", -2.0, -2.0, -2.0),
    ]


def test_corrections_replace_times_only_where_there_are_some(stay, concepts):
    assert lines(stay, Source.CURATED, concepts) == lines(stay, Source.RECORD, concepts)


def test_rows_of_the_record_are_exact(stay, concepts):
    assert lines(stay, Source.ROWS, concepts) == [("given", 7.5, 7.5, 7.5)]


def test_a_reference_is_read_by_itself(stay, concepts):
    inventory = factories.make_inventory(stay.notes.get())
    occurrence = factories.make_occurrence(inventory, "Andexanet was given")
    factories.make_timeline(inventory, {occurrence: 8.0}, kind=TimelineKind.REFERENCE)
    factories.seal(inventory)
    assert lines(stay, Source.REFERENCE, concepts) == [("given", 8.0, 8.0, 8.0)]


def test_a_stay_without_the_concepts_is_still_a_stay(stay):
    nothing = {"none": make_concept(stay.dataset.study, "none")}
    for source in (Source.NOTE, Source.RECORD, Source.CURATED, Source.ROWS):
        assert lines(stay, source, nothing) == []
