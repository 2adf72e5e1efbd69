"""The published recipe over two small cases, by a model that mostly fails."""

from __future__ import annotations

from django.db import transaction

from accounts.models import Role
from adjudication.models import RecipeLaunch, RecipeStep
from adjudication.recipes.actions import launch_recipe, save_recipe
from adjudication.recipes.inline import work_launch
from adjudication.recipes.report.writing import execute_report, start_report
from adjudication.recipes.results import load_results
from adjudication.recipes.starters import load_starter
from adjudication.study_report.values import StudyReport, from_plain, name_section
from ehr.models import Dataset
from jobs.models import JobState
from tests import factories
from tests.worlds.prompted import small_dataset
from timelines.transfer.references import ReferenceLine, save_reference

#: Words of the note → hours in the reference.
PLACED = {"Cough": -48.0, "Fever": -24.0, "Lactate": 0.0, "Vancomycin": 6.5, "Pressors": 24.0}


def add_references(dataset: Dataset) -> None:
    for encounter in dataset.encounters.all():
        note = encounter.notes.get()
        lines = [
            ReferenceLine(
                start=(start := note.text.index(word)),
                end=start + len(word),
                mention=word,
                time=hour,
                lower=hour,
                upper=hour,
                known=1,
            )
            for word, hour in PLACED.items()
        ]
        with transaction.atomic():
            save_reference(note=note, lines=lines)


def launch_published(dataset: Dataset) -> RecipeLaunch:
    admin = factories.make_user(dataset.study, Role.ADMIN)
    text = load_starter([dataset.name])
    version = save_recipe(study=dataset.study, text=text, by=admin)
    launch = launch_recipe(version=version, by=admin)
    work_launch(launch, print)
    launch.refresh_from_db()
    return launch


def write_report(launch: RecipeLaunch) -> StudyReport:
    report = start_report(launch=launch, by=None)
    assert execute_report(report.pk) == JobState.SUCCEEDED
    report.refresh_from_db()
    assert report.pdf is not None
    assert bytes(report.pdf).startswith(b"%PDF-")
    assert report.content is not None
    return from_plain(report.content)


def check_failing_model(name: str) -> None:
    """Run the recipe; check that the report counts what failed.

    `name` is the model's among the endpoints. What needs no model is done.
    """
    dataset = small_dataset(cases=2)
    add_references(dataset)
    launch = launch_published(dataset)
    steps = list(launch.steps.all())
    for step in steps:
        print(f"{step.key}: {step.state} {step.reason}")
    assert launch.state in (RecipeLaunch.State.DONE, RecipeLaunch.State.FAILED)
    assert not [s.key for s in steps if s.state in ("waiting", "running")]
    without_model = [s for s in steps if s.kind == RecipeStep.Kind.RUN and f":{name}" not in s.key]
    assert {s.state for s in without_model} == {"done"}

    made = write_report(launch)
    sections = {section.name: section for section in made.sections}
    incomplete = [s for s in steps if s.state != RecipeStep.State.DONE or s.reason]
    assert incomplete
    (listed,) = sections["incomplete"].tables
    assert [row[0] for row in listed.rows] == [s.key for s in incomplete]
    assert all(row[2] for row in listed.rows)
    assert f"{len(incomplete)} of {len(steps)} steps failed or are incomplete" in made.found[-1]
    done = [s for s in steps if s.state == RecipeStep.State.DONE]
    for step in done:
        if step.kind in (RecipeStep.Kind.JUDGE, RecipeStep.Kind.PLANTED, RecipeStep.Kind.PACKET):
            assert name_section(step.key) in sections
    results = load_results(launch)
    assert set(sections) >= {f"{name_section(key)}-span" for key in results.evaluations}
    assert {f"Run {key}" for key in results.runs} <= set(made.settings)
