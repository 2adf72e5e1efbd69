"""A study by the API: save, launch, wait, take the report."""

from __future__ import annotations

import pytest

from accounts.models import AuditEvent, Role
from adjudication.models import RecipeLaunch, StudyReport
from adjudication.recipes.actions import save_recipe
from adjudication.recipes.advancing import advance
from adjudication.recipes.report.writing import execute_report
from tests import factories
from tests.paths import DEMO
from tests.support.api import ApiClient
from tests.worlds.reconstructed import import_folder
from timelines.models import Run
from timelines.runs.following import work_inline

pytestmark = pytest.mark.django_db(transaction=True)
TEXT = "name: small\ncohorts: [cohort]\nruns:\n- {name: rules, backbone: rules}\n"


@pytest.fixture
def study():
    return factories.make_dataset(name="cohort").study


@pytest.fixture
def api(study):
    return ApiClient(factories.make_user(study, Role.ADMIN))


def test_a_text_becomes_versions_and_its_faults_have_lines(api, study):
    status, faulty = api.post("recipes/", text="name: small\ncohorts: []\n")
    assert status == 400
    assert faulty["fields"]["text"][0].startswith("line 2, cohorts:")
    status, first = api.post("recipes/", text=TEXT)
    assert (status, first["version"], first["text"]) == (201, 1, TEXT)
    assert api.post("recipes/", text=TEXT)[1]["version"] == 1
    assert (
        api.post("recipes/", text=TEXT + "about: again\n", study=study.public_id)[1]["version"] == 2
    )
    (listed,) = api.get("recipes/")[1]["results"]
    assert (listed["name"], listed["version"]) == ("small", 2)
    path = f"recipes/{first['recipe']}/"
    assert api.get(path)[1]["version"] == 2
    assert api.get(path, version=1)[1]["text"] == TEXT
    assert api.get(path, version=3)[0] == 404
    assert list(api.get(path, version="x")[1]["fields"]) == ["version"]


def test_what_cannot_be_launched_says_why(api, study):
    recipe = save_recipe(study=study, text=TEXT.replace("[cohort]", "[gone]"), by=None).recipe
    status, refused = api.post(f"recipes/{recipe.public_id}/launch/")
    assert status == 422
    assert "no dataset named gone" in refused["detail"]
    assert not RecipeLaunch.objects.exists()


@pytest.mark.slow
def test_a_launch_is_followed_to_its_report():
    dataset = import_folder(DEMO / "intro")
    api = ApiClient(factories.make_user(dataset.study, Role.ADMIN))
    recipe = save_recipe(study=dataset.study, text=TEXT, by=None).recipe
    status, launch = api.post(f"recipes/{recipe.public_id}/launch/", version=1)
    assert status == 201
    assert [(s["key"], s["state"], s["made"]) for s in launch["steps"]] == [
        ("rules@cohort", "waiting", "")
    ]
    made, path = RecipeLaunch.objects.get(), f"launches/{launch['id']}/"
    advance(made.pk)
    work_inline(Run.objects.get(), lambda words: None)
    advance(made.pk)
    launch = api.get(path)[1]
    assert (launch["state"], launch["ended"], launch["calls"]) == ("done", 1, 0)
    assert launch["steps"][0]["made"] == Run.objects.get().public_id
    assert api.get("launches/")[1]["results"][0]["id"] == launch["id"]
    assert api.post(f"{path}actions/retry/")[0] == 422

    assert api.get(f"{path}report/")[1]["report"] is None
    assert api.get(f"{path}report/pdf/")[0] == 404
    assert api.post(f"{path}report/")[1]["state"] == "queued"
    execute_report(StudyReport.objects.get().pk)
    status, written = api.get(f"{path}report/")
    assert (status, written["state"]) == (200, "succeeded")
    assert written["report"]["title"] == "small"
    sent = api.ask("get", f"{path}report/pdf/")
    assert sent.getvalue().startswith(b"%PDF-")
    assert AuditEvent.objects.filter(action="recipe.export").count() == 1
