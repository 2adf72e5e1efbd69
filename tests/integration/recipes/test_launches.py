"""A recipe from its text to its packet, with the real pipeline."""

from __future__ import annotations

import io
import zipfile
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from pypdf import PdfReader

from accounts.models import Role
from accounts.permissions import NotAllowed
from adjudication.judge_runs.actions import execute_game
from adjudication.judge_runs.planted import execute_recall
from adjudication.models import Game, JudgeRun, Packet, PlantedRecall, RecipeLaunch, RecipeStep
from adjudication.planting.plain import tally_from_plain
from adjudication.recipes import advancing
from adjudication.recipes.actions import (
    RecipeRefused,
    cancel_launch,
    launch_recipe,
    retry_launch,
    save_recipe,
)
from adjudication.recipes.advancing import advance
from adjudication.recipes.report.gathering import gather_report
from adjudication.recipes.report.writing import execute_report, start_report
from adjudication.recipes.results import load_results
from adjudication.study_report.values import from_plain, to_plain
from jobs.models import JobState
from tests import factories
from tests.paths import DEMO
from tests.worlds.reconstructed import import_folder
from timelines.evaluation.plain import report_from_plain
from timelines.evaluation.tables import Cell
from timelines.evaluation.values import Basis, SourceKey
from timelines.evaluations.actions import execute_evaluation
from timelines.models import Evaluation, Run
from timelines.runs.following import work_inline

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

RECIPE = """\
name: small
cohorts: [cohort]
runs:
  - {name: rules, backbone: rules, variants: [full, unimodal]}
evaluations:
  - {name: main, resamples: 20}
judges:
  - {name: gavel, runs: [rules], sources: [reference]}
planted:
  - {name: recall, each: 1}
packets:
  - {name: packet, judge: gavel, label: First packet, cases: 1}
"""


def work_until_idle() -> None:
    """Do what waits, as workers would."""
    for run in Run.objects.order_by("pk"):
        work_inline(run, lambda words: None)
    for pk in Evaluation.objects.filter(state=JobState.QUEUED).values_list("pk", flat=True):
        execute_evaluation(pk)
    for pk in PlantedRecall.objects.filter(state=JobState.QUEUED).values_list("pk", flat=True):
        execute_recall(pk)
    for pk in Game.objects.filter(state=JobState.QUEUED).values_list("pk", flat=True):
        execute_game(pk)


def finish(launch: RecipeLaunch) -> RecipeLaunch:
    for _ in range(10):
        if advance(launch.pk):
            break
        work_until_idle()
    launch.refresh_from_db()
    return launch


def states(launch: RecipeLaunch) -> dict[str, str]:
    return dict(launch.steps.values_list("key", "state"))


def test_a_recipe_makes_everything_once_and_reuses_it_afterwards():
    dataset = import_folder(DEMO / "intro")
    admin = factories.make_user(dataset.study, Role.ADMIN)
    version = save_recipe(study=dataset.study, text=RECIPE, by=admin)
    assert save_recipe(study=dataset.study, text=RECIPE, by=admin) == version
    first = finish(launch_recipe(version=version, by=admin))
    assert states(first) == dict.fromkeys(
        [
            "rules@cohort",
            "rules/unimodal@cohort",
            "evaluation main",
            "judge gavel",
            "planted recall",
            "packet packet",
        ],
        "done",
    )
    assert first.state == RecipeLaunch.State.DONE
    results = load_results(first)
    assert results.runs["rules/unimodal@cohort"].based_on == results.runs["rules@cohort"]
    evaluated = results.evaluations["evaluation main"]
    assert evaluated.sources == ["rules", "rules/unimodal"]
    assert results.judge_runs["judge gavel"].sources == [
        ["reference", "reference", 1],
        ["rules", "revised", 1],
    ]
    report = results.planted["planted recall"].report
    assert report["cases"] == dataset.encounters.count()
    assert sum(tally_from_plain(report["counts"]).planted.values()) > 0
    assert results.packets["packet packet"].items.exists()

    counts = [m.objects.count() for m in (Run, Evaluation, JudgeRun, PlantedRecall, Packet)]
    second = finish(launch_recipe(version=version, by=admin))
    assert second.state == RecipeLaunch.State.DONE
    assert set(second.steps.values_list("reused", flat=True)) == {True}
    assert dict(second.steps.values_list("key", "made")) == dict(
        first.steps.values_list("key", "made")
    )
    assert counts == [m.objects.count() for m in (Run, Evaluation, JudgeRun, PlantedRecall, Packet)]


def test_a_worker_killed_while_it_starts_a_step_leaves_nothing_and_another_goes_on(monkeypatch):
    dataset = import_folder(DEMO / "intro")
    admin = factories.make_user(dataset.study, Role.ADMIN)
    text = "name: one\ncohorts: [cohort]\nruns: [{name: rules, backbone: rules}]\n"
    launch = launch_recipe(version=save_recipe(study=dataset.study, text=text, by=admin), by=admin)

    class Killed(BaseException):
        pass

    def die(step: RecipeStep) -> None:
        raise Killed

    with monkeypatch.context() as broken:
        broken.setattr(advancing, "find_outcome", die)
        with pytest.raises(Killed):
            advance(launch.pk)
    assert not Run.objects.exists()
    assert states(launch) == {"rules@cohort": "waiting"}
    assert finish(launch).state == RecipeLaunch.State.DONE
    assert Run.objects.count() == 1


def test_what_cannot_be_done_says_why_and_is_done_again_on_request():
    dataset = import_folder(DEMO / "intro")
    admin = factories.make_user(dataset.study, Role.ADMIN)
    text = (
        "name: two\ncohorts: [cohort]\n"
        "judges: [{name: gavel, sources: [reference, rules]}]\n"
        "packets: [{name: packet, judge: gavel, label: P}]\n"
    )
    launch = launch_recipe(version=save_recipe(study=dataset.study, text=text, by=admin), by=admin)
    assert finish(launch).state == RecipeLaunch.State.FAILED
    reasons = dict(launch.steps.values_list("key", "reason"))
    assert "no timeline has the source 'rules'" in reasons["judge gavel"]
    assert reasons["packet packet"] == "It needs judge gavel, which did not end well."
    made = gather_report(load_results(launch))
    assert made.found[-1].startswith("2 of 2 steps failed or are incomplete")
    (missing,) = [section for section in made.sections if section.name == "incomplete"]
    assert missing.tables[0].rows == tuple(
        (key, "Failed", reasons[key]) for key in ("judge gavel", "packet packet")
    )
    assert retry_launch(launch=launch, by=admin) == 2
    assert cancel_launch(launch=launch, by=admin) == 2
    with pytest.raises(RecipeRefused, match="has ended"):
        cancel_launch(launch=launch, by=admin)
    unknown = save_recipe(study=dataset.study, text=text.replace("[cohort]", "[other]"), by=admin)
    with pytest.raises(RecipeRefused, match=r"no dataset named other\. It has: cohort"):
        launch_recipe(version=unknown, by=admin)


def test_only_admins_of_the_study_save_and_launch():
    study = factories.make_study()
    person = factories.make_user(study, Role.CLINICIAN)
    with pytest.raises(NotAllowed):
        save_recipe(study=study, text=RECIPE, by=person)
    version = save_recipe(study=study, text=RECIPE, by=None)
    with pytest.raises(NotAllowed):
        launch_recipe(version=version, by=person)


def test_the_command_names_line_and_field(tmp_path):
    factories.make_study()
    bad = tmp_path / "bad.yaml"
    bad.write_text(RECIPE.replace("[full, unimodal]", "[bogus]"), encoding="utf-8")
    with pytest.raises(CommandError, match=r"line 4, runs\[0\]\.variants\[0\]: is none of"):
        call_command("study", "run", str(bad), stdout=StringIO())


def test_the_report_of_a_launch_has_its_figures_tables_and_settings(client):
    dataset = import_folder(DEMO / "intro")
    admin = factories.make_user(dataset.study, Role.ADMIN)
    launch = finish(
        launch_recipe(version=save_recipe(study=dataset.study, text=RECIPE, by=admin), by=admin)
    )
    report = start_report(launch=launch, by=admin)
    assert start_report(launch=launch, by=admin) == report
    assert execute_report(report.pk) == JobState.SUCCEEDED
    report.refresh_from_db()
    made = from_plain(report.content)
    assert to_plain(made) == report.content
    names = [section.name for section in made.sections]
    assert names[:2] == ["evaluation-main-span", "evaluation-main-embedding"]
    assert {"judge-gavel", "planted-recall", "packet-packet", "cost"} <= set(names)
    # The pairs of the published figures lead; others speak in their own sections.
    assert made.found[0].startswith("Event match rate (embedding pairs)")
    by_span, by_embedding = made.sections[:2]
    assert (by_span.leads, by_embedding.leads) == (False, True)
    # Text-only and revised timelines have one inventory, so that neither is best.
    assert by_span.found[0].startswith("Span recall: no clear best source. rules")
    main = next(t for _, t in made.tables if t.name == "main" and "embedding" in t.title)
    assert any("(published)" in str(row[0]) for row in main.rows)
    evaluated = report_from_plain(Evaluation.objects.get().report)
    ours = evaluated.find(SourceKey("rules", "revised"), Basis.EMBEDDING)
    assert ours is not None
    cell = next(row for row in main.rows if row[:2] == ("rules", "revised"))[3]
    assert isinstance(cell, Cell)
    assert cell.value == ours.available["match_rate"].value
    assert dict(made.settings["Launch"])["SHA-256 of the recipe"] == launch.version.sha256
    assert "No language model was connected: timelines are by rules alone." in made.differences

    client.force_login(admin)
    page = client.get(reverse("adjudication:study_report", args=[launch.public_id]))
    shown = page.content.decode()
    assert made.found[0] in shown
    assert by_span.found[0] in shown
    figure = client.get(reverse("adjudication:study_report_figure", args=[launch.public_id, 1]))
    assert b"<svg" in figure.content
    sent = client.get(reverse("adjudication:study_report_file", args=[launch.public_id, "zip"]))
    with zipfile.ZipFile(io.BytesIO(sent.getvalue())) as archive:
        files = archive.namelist()
        assert archive.read("recipe.yaml").decode() == RECIPE
    assert len([f for f in files if f.endswith(".csv")]) == len(made.tables)
    assert len([f for f in files if f.endswith(".tex")]) == 1 + len(made.tables)
    assert len([f for f in files if f.endswith(".svg")]) == sum(
        len(section.figures) for section in made.sections
    )
    pdf = client.get(reverse("adjudication:study_report_file", args=[launch.public_id, "pdf"]))
    pages = len(PdfReader(io.BytesIO(pdf.getvalue())).pages)
    print(f"{pages} pages")
    assert pages < 20
    other = factories.make_user(dataset.study, Role.CLINICIAN)
    client.force_login(other)
    refused = client.get(reverse("adjudication:study_report", args=[launch.public_id]))
    assert refused.status_code == 403
