"""The builder at any depth, and windows whose concepts are renamed."""

from __future__ import annotations

import pytest
from django.urls import reverse

from accounts.models import Role
from cohorts.concepts.actions import describe_concept
from cohorts.models import Concept, WindowMember, WindowResult, WindowVersion
from cohorts.values import Source
from cohorts.windows.actions import create_window
from cohorts.windows.evaluating import evaluate_both, store_members
from cohorts.windows.results import launch_result, update_result
from cohorts.windows.summaries import find_changes
from jobs.models import JobState
from tests import factories
from tests.worlds.cohorts import Event, make_concept, make_stay, make_study_run

pytestmark = pytest.mark.django_db
YAML = """name: Drug without transfer
anchor: admission
where:
- event: drug given
  within: 0 h to 6 h after anchor
  as: dose
  where:
  - no: transfer
    before: dose
  - stay: age
    at least: 18
"""


@pytest.fixture
def run():
    made = make_study_run(factories.make_dataset())
    make_stay(made, [Event("drug was given", 4.0, 9.0)])
    make_concept(made.study, "drug given", mentions=["drug was given"])
    make_concept(made.study, "transfer", mentions=["was transferred"])
    return made


@pytest.fixture
def person(run, client):
    made = factories.make_user(run.study, Role.CLINICIAN)
    client.force_login(made)
    return made


@pytest.fixture
def take(person, client):
    """Return a function that takes a step of the form and returns its context."""

    def take(yaml, step, **given):
        page = client.post(reverse("cohorts:window_new"), {"yaml": yaml, "step": step} | given)
        return page.context

    return take


def test_a_nested_criterion_is_opened_changed_and_removed(take):
    fields = take(YAML, "open-0.0")["fields"]
    assert fields["event_place"] == "0.0"
    assert (fields["count"], fields["relation"], fields["reference"]) == ("none", "before", "dose")
    changed = take(YAML, "event", **fields | {"relation": "after"})["yaml"]
    assert changed == YAML.replace("before: dose", "after: dose")
    # What is inside of a changed event stays.
    outer = take(changed, "open-0")["fields"]
    wider = take(changed, "event", **outer | {"until": "12"})["yaml"]
    assert wider == changed.replace("6 h", "12 h")
    age = take(YAML, "open-0.1")["fields"]
    assert take(YAML, "stay", **age | {"stay_value": "65"})["yaml"] == YAML.replace("18", "65")
    removed = take(YAML, "remove-0.0")
    assert removed["yaml"] == YAML.replace("  - no: transfer\n    before: dose\n", "")
    assert [(line.place, line.depth) for line in removed["lines"]] == [("0", 0), ("0.0", 1)]


def test_alternatives_and_their_opposite_are_built(take):
    yaml = "name: w\nanchor: admission\nwhere:\n- event: drug given\n"
    yaml = take(yaml, "any-0")["yaml"]
    yaml = take(yaml, "event", concept="transfer", inside="0")["yaml"]
    yaml = take(yaml, "stay", about="sex", compared="is", stay_value="female", stay_inside="0")[
        "yaml"
    ]
    assert yaml.endswith(
        "- any:\n  - event: drug given\n  - event: transfer\n  - stay: sex\n    is: female\n"
    )
    opposite = take(yaml, "not-0.1")["yaml"]
    assert "  - not:\n      event: transfer\n" in opposite
    assert take(opposite, "not-0.1")["yaml"] == yaml


@pytest.mark.parametrize(
    ("step", "given", "words"),
    [
        ("remove-x", {}, "Choose a criterion"),
        ("event", {"concept": "transfer", "inside": "0.1"}, "inside: choose an event or a group"),
        ("event", {"concept": "transfer", "event_place": "0", "as": "other"}, "called “dose”"),
    ],
)
def test_a_step_that_does_not_fit_keeps_what_was_typed(take, step, given, words):
    page = take(YAML, step, **given)
    assert words in page["error"]
    assert page["yaml"] == YAML
    assert given.items() <= page["fields"].items()


def test_what_the_form_cannot_say_is_left_to_yaml(take):
    yaml = YAML.replace("6 h after", "under 6 h after")
    page = take(yaml, "show")
    assert [line.fits for line in page["lines"]] == [False, True, True]
    assert take(yaml, "open-0")["fields"] == {}


def complete(made):
    """Do what the job does, inside the test's transaction."""
    store_members(made, *evaluate_both(made))
    WindowResult.objects.filter(pk=made.pk).update(state=JobState.SUCCEEDED)
    made.refresh_from_db()
    return made


def rename(name, new, person):
    concept = Concept.objects.get(name=name)
    describe_concept(concept=concept, name=new, description="", by=person)


def test_an_update_follows_renamed_concepts(run, person, client):
    window = create_window(study=run.study, yaml=YAML, by=person)
    launched = {"dataset": run.dataset, "first": Source.NOTE, "second": Source.RECORD, "by": person}
    before = complete(launch_result(version=window.versions.get(), **launched))
    # Each gets the other's name, so that names alone would say the wrong thing.
    for old, new in (("drug given", "x"), ("transfer", "drug given"), ("x", "transfer")):
        rename(old, new, person)
    sentence = "The concept “drug given” is called “transfer” now."
    assert sentence in find_changes(before, ())
    assert (
        sentence in client.get(reverse("cohorts:window", args=[window.public_id])).content.decode()
    )
    start = client.get(reverse("cohorts:window_edit", args=[window.public_id]))
    assert "- event: transfer" in start.context["yaml"]
    after = complete(update_result(result=before, by=person))
    assert after.version.number == 2
    assert "- event: transfer\n" in after.version.yaml
    assert "- no: drug given\n" in after.version.yaml
    (was, now) = WindowMember.objects.order_by("pk")
    assert (was.first, was.second) == (now.first, now.second) == ("uncertain", "no")
    assert now.first_deciding[0]["concept"] == "transfer"
    assert find_changes(after, ()) == []
    # A further update changes nothing.
    assert update_result(result=after, by=person).version == after.version


def test_a_version_without_names_follows_one_renamed_concept(run, person):
    window = create_window(study=run.study, yaml=YAML, by=person)
    stored = window.versions.get()
    concepts = list(stored.concepts.all())
    old = WindowVersion.objects.create(window=window, number=2, yaml=stored.yaml)
    old.concepts.set(concepts)
    rename("transfer", "moved elsewhere", person)
    made = launch_result(
        version=old, dataset=run.dataset, first=Source.NOTE, second=Source.RECORD, by=person
    )
    assert complete(made).members.count() == 1
    assert "- no: moved elsewhere" in update_result(result=made, by=person).version.yaml
