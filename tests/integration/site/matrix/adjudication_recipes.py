"""Access to recipes, launches and planted differences: study admins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from adjudication.models import PlantedRecall, Recipe, RecipeLaunch, RecipeVersion
from adjudication.recipes.actions import save_recipe
from adjudication.study_report.values import Dot, Figure, Section, StudyReport, to_plain
from jobs.models import JobState
from tests.integration.site.matrix.adjudication_api import _admins
from tests.integration.site.matrix.adjudication_packets import LIST, PAGE, STEER
from tests.integration.site.matrix.world import SIGN_IN, Row, World, answers

TEXT = "name: matrix\ncohorts: [matrix]\nruns: [{name: rules, backbone: rules}]\n"


def _make_version(world: World) -> RecipeVersion:
    return save_recipe(study=world.study, text=TEXT, by=None)


def _make_launch(world: World) -> RecipeLaunch:
    """A launch that is under way, with one step that waits."""
    version = _make_version(world)
    launch, made = RecipeLaunch.objects.get_or_create(study=world.study, version=version)
    if made:
        launch.steps.create(position=0, key="rules@matrix", part="rules", kind="run")
    return launch


def _make_recall(world: World) -> PlantedRecall:
    recall, _ = PlantedRecall.objects.get_or_create(
        study=world.study, source="reference", judge="rules", judge_name="rules", judge_version="1"
    )
    return recall


def _recipe(world: World) -> dict[str, str]:
    recipe: Recipe = _make_version(world).recipe
    return {"public_id": recipe.public_id}


def _launch(**further: str) -> Callable[[World], Mapping[str, str]]:
    return lambda world: {"public_id": _make_launch(world).public_id, **further}


def _report(**further: Any) -> Callable[[World], Mapping[str, Any]]:
    """A launch with a written report that has one figure."""

    def path(world: World) -> Mapping[str, Any]:
        launch = _make_launch(world)
        figure = Figure("ratings", "Ratings", "Rating", (Dot("rules", 1500.0),))
        made = to_plain(StudyReport("matrix", "", (), (Section("s", "S", figures=(figure,)),)))
        written = {"content": made, "pdf": b"%PDF-", "archive": b"PK"}
        launch.reports.get_or_create(state=JobState.SUCCEEDED, defaults=written)
        return {"public_id": launch.public_id, **further}

    return path


def _version(world: World) -> dict[str, Any]:
    return {**_recipe(world), "number": 1}


def _save(text: str) -> Callable[[World], Mapping[str, str]]:
    return lambda world: {"shown": "yaml", "step": "save", "yaml": text}


#: An admin of another study saves such a recipe in that study.
SAVED = answers(
    anonymous=SIGN_IN,
    clinician=403,
    reviewer=403,
    admin=302,
    outsider=302,
    nobody=403,
    superuser=403,
)

ROWS = [
    Row("adjudication:recipes", LIST),
    Row("adjudication:recipe_new", LIST),
    Row("adjudication:recipe_new", SAVED, method="post", data=_save(TEXT)),
    Row("adjudication:recipe", PAGE, path=_recipe),
    Row("adjudication:recipe_edit", PAGE, path=_recipe),
    # A text that is no recipe comes back with its faults.
    Row("adjudication:recipe_edit", PAGE, method="post", path=_recipe, data=_save("name: x\n")),
    Row(
        "adjudication:recipe_download",
        PAGE,
        path=_version,
    ),
    # The study has no dataset of that name: the refusal is shown on the recipe's page.
    Row(
        "adjudication:recipe_launch",
        STEER,
        method="post",
        path=_recipe,
        data=lambda world: {"version": "1"},
    ),
    Row("adjudication:launch", PAGE, path=_launch()),
    *(
        Row("adjudication:launch_action", STEER, method="post", path=_launch(action=action))
        for action in ("cancel", "retry")
    ),
    Row(
        "adjudication:planted_recall",
        PAGE,
        path=lambda world: {"public_id": _make_recall(world).public_id},
    ),
    Row("adjudication:study_report", PAGE, path=_report()),
    Row("adjudication:study_report_new", STEER, method="post", path=_report()),
    Row("adjudication:study_report_figure", PAGE, path=_report(number=1)),
    Row("adjudication:study_report_file", PAGE, path=_report(format="pdf")),
    Row("adjudication_api:recipes", _admins(200, outsider=200)),
    Row("adjudication_api:recipes", _admins(415, outsider=415), method="post"),
    Row("adjudication_api:recipe", _admins(200), path=_recipe),
    Row("adjudication_api:recipe_launch", _admins(415), method="post", path=_recipe),
    Row("adjudication_api:launches", _admins(200, outsider=200)),
    Row("adjudication_api:launch", _admins(200), path=_launch()),
    Row("adjudication_api:launch_step", _admins(200), method="post", path=_launch(action="cancel")),
    # Nothing has failed.
    Row("adjudication_api:launch_step", _admins(422), method="post", path=_launch(action="retry")),
    Row("adjudication_api:launch_step", _admins(404), method="post", path=_launch(action="other")),
    Row("adjudication_api:launch_report", _admins(200), path=_report()),
    Row("adjudication_api:launch_report", _admins(202), method="post", path=_report()),
    *(
        Row("adjudication_api:launch_report_file", _admins(200), path=_report(form=form))
        for form in ("pdf", "zip")
    ),
    Row("adjudication_api:launch_report_file", _admins(404), path=_report(form="docx")),
    Row(
        "adjudication_api:planted_recall",
        _admins(200),
        path=lambda world: {"public_id": _make_recall(world).public_id},
    ),
]
