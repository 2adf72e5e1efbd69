"""The pages of recipes: write as a form and as YAML, launch, follow."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Role
from adjudication.models import PlantedRecall, Recipe, RecipeLaunch
from adjudication.recipes.actions import save_recipe
from adjudication.recipes.inline import work_launch
from tests import factories
from tests.paths import DEMO
from tests.support.pages import extract_text
from tests.worlds.reconstructed import import_folder
from timelines.models import Run

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = "name: small\ncohorts: [cohort]\nruns:\n- name: rules\n  backbone: rules\n"


@pytest.fixture
def dataset():
    return import_folder(DEMO / "intro")


@pytest.fixture
def client(dataset) -> Client:
    client = Client()
    client.force_login(factories.make_user(dataset.study, Role.ADMIN))
    return client


def url(name: str, *ids: object) -> str:
    return reverse(f"adjudication:{name}", args=ids)


def test_a_new_recipe_begins_with_the_published_design_over_a_cohort_of_the_study(client):
    page = client.get(url("recipe_new"))
    assert page.context["faults"] == ()
    assert page.context["head"][2].value == "cohort"
    assert "league-fixed-tolerance" in page.content.decode()


def test_the_form_adds_parts_shows_faults_and_saves_versions(client):
    form = {"shown": "form", "name": "mine", "cohorts": "cohort"}
    added = client.post(url("recipe_new"), {**form, "step": "add-runs"})
    assert [part.title for part in added.context["parts"]] == ["Run run"]
    assert added.context["faults"] == ()
    form |= {"runs.0.name": "A run", "runs.0.backbone": "rules"}
    wrong = client.post(url("recipe_new"), {**form, "step": "save"})
    assert "runs[0].name" in wrong.context["faults"][0]
    assert not Recipe.objects.exists()
    saved = client.post(url("recipe_new"), {**form, "runs.0.name": "first", "step": "save"})
    recipe = Recipe.objects.get()
    assert saved.url == url("recipe", recipe.public_id)
    again = {"shown": "yaml", "step": "save", "yaml": TEXT.replace("small", "mine")}
    client.post(url("recipe_edit", recipe.public_id), again)
    assert [v.number for v in recipe.versions.all()] == [2, 1]
    assert "Version 2" in extract_text(client.get(saved.url))
    assert "name: first" in client.get(f"{saved.url}?version=1").content.decode()


def test_hostile_words_are_escaped_and_come_back_as_they_are(client):
    text = TEXT.replace("name: small", "name: <script>alert(1)</script>")
    client.post(url("recipe_new"), {"shown": "yaml", "step": "save", "yaml": text})
    recipe = Recipe.objects.get()
    for page in (url("recipes"), url("recipe", recipe.public_id)):
        assert "<script>alert" not in client.get(page).content.decode()
    download = client.get(url("recipe_download", recipe.public_id, 1))
    assert download.content.decode() == text
    assert download["Content-Disposition"].startswith("attachment")


def test_a_launch_is_followed_to_its_end_cancelled_and_done_again(client, dataset):
    version = save_recipe(study=dataset.study, text=TEXT, by=None)
    started = client.post(url("recipe_launch", version.recipe.public_id), {"version": "1"})
    launch = RecipeLaunch.objects.get()
    assert started.url == url("launch", launch.public_id)
    page = client.get(started.url).content.decode()
    assert 'hx-trigger="every' in page
    assert "Waiting" in page
    client.post(url("launch_action", launch.public_id, "cancel"))
    page = client.get(started.url).content.decode()
    assert 'hx-trigger="every' not in page
    assert "Cancelled" in page
    client.post(url("launch_action", launch.public_id, "retry"))
    work_launch(launch, lambda words: None)
    text = extract_text(client.get(started.url))
    assert "1 of 1 steps" in text
    assert "Done" in text
    made = url("launch", launch.public_id).replace(
        f"launches/{launch.public_id}", f"runs/{Run.objects.get().public_id}"
    )
    assert made in client.get(started.url).content.decode()


def test_planted_differences_are_measured_and_read_in_the_browser(client, dataset):
    text = TEXT + "planted:\n- name: recall\n  each: 1\n"
    version = save_recipe(study=dataset.study, text=text, by=None)
    client.post(url("recipe_launch", version.recipe.public_id), {"version": "1"})
    work_launch(RecipeLaunch.objects.get(), lambda words: None)
    page = extract_text(client.get(url("planted_recall", PlantedRecall.objects.get().public_id)))
    assert "1 case judged." in page
    assert "recall" in page


def test_a_launch_over_an_unknown_dataset_is_refused_on_the_page(client, dataset):
    text = TEXT.replace("[cohort]", "[other]")
    version = save_recipe(study=dataset.study, text=text, by=None)
    sent = client.post(
        url("recipe_launch", version.recipe.public_id), {"version": "1"}, follow=True
    )
    assert "The study has no dataset named other. It has: cohort." in extract_text(sent)
    assert not RecipeLaunch.objects.exists()
