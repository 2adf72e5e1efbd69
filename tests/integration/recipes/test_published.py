"""The published recipe from launch to its end, on the CPU."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Role, User
from adjudication.judge_runs import actions as judge_actions
from adjudication.judge_runs import tools as judge_tools
from adjudication.models import JudgeRun, RecipeLaunch
from adjudication.planting.plain import tally_from_plain
from adjudication.recipes.results import StudyResults, load_results
from adjudication.recipes.starters import load_starter
from ehr.models import Dataset
from llm_runtime.base import ModelRequest
from llm_runtime.models import ModelCall
from llm_runtime.roles import ModelRoles
from tests import factories
from tests.paths import DEMO
from tests.unit.timelines.prompted.answers import make_good_answer
from tests.unit.timelines.prompted.baseline_answers import baseline_answer
from tests.worlds.prompted import make_server
from tests.worlds.published import check_failing_model
from tests.worlds.reconstructed import LIGHT_ROLES, import_folder
from timelines.evaluation.plain import report_from_plain
from timelines.models import Evaluation
from timelines.runs import tools

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.deep,
    pytest.mark.slow,
    pytest.mark.timeout(3600),
]
#: Words of the baselines' prompts.
OF_BASELINES = (
    "event | time | confidence",
    "Choose its central events",
    "For each pair of them",
    "Place every central event",
    "List every other clinical event",
    "Correct the timeline:",
)
#: Of the rules.
VARIANTS = ("/unimodal", "/no_query", "/no_rows", "/no_reranker")
OF_JUDGES = "Compare two timelines of one hospital stay"


def launch(dataset: Dataset, tmp_path: Path) -> StudyResults:
    """Launch the recipe by the command and do its work here."""
    admin: User = factories.make_user(dataset.study, Role.ADMIN)
    file = tmp_path / "published.yaml"
    file.write_text(load_starter([dataset.name]), encoding="utf-8")
    out = StringIO()
    asked = ["study", "run", str(file), "--by", admin.username, "--inline"]
    try:
        call_command(*asked, stdout=out, stderr=StringIO())
    except CommandError:
        pytest.fail(out.getvalue())
    made = RecipeLaunch.objects.get()
    assert "steps ended" in out.getvalue()
    unfinished = dict(made.steps.exclude(state="done").values_list("key", "reason"))
    assert (made.state, unfinished) == (RecipeLaunch.State.DONE, {})
    return load_results(made)


def test_without_a_language_model_the_demo_cohort_runs_to_the_end(monkeypatch, tmp_path):
    roles = ModelRoles(LIGHT_ROLES)
    monkeypatch.setattr(tools, "roles", lambda: roles)
    dataset = import_folder(DEMO / "cohort", name="demo")
    results = launch(dataset, tmp_path)
    assert set(results.runs) == {f"rules{variant}@demo" for variant in ("", *VARIANTS)}
    evaluation = results.evaluations["evaluation main"]
    assert evaluation.report is not None
    report = report_from_plain(evaluation.report)
    assert {result.key.source for result in report.results} >= {
        run.source for run in results.runs.values()
    }
    assert set(results.judge_runs) == {"judge league", "judge league-fixed-tolerance"}
    cases = dataset.encounters.count()
    league = results.judge_runs["judge league"].games.filter(outcome="judged")
    assert league.filter(swapped=False).count() == league.filter(swapped=True).count() == 3 * cases
    assert results.judge_runs["judge league-fixed-tolerance"].games.count() == 3 * cases
    counts = tally_from_plain(results.planted["planted planted-rules"].report["counts"])
    assert sum(counts.planted.values()) > 0
    packet = results.packets["packet validation"]
    assert dict(packet.items.values_list("pairing", "quota").distinct()) == {
        "reference | rules · revised": 2,
        "reference | rules · text-only": 1,
        "rules · revised | rules · text-only": 1,
    }


def test_with_a_scripted_model_every_step_is_done_and_names_it(monkeypatch, tmp_path):
    def answer(request: ModelRequest, number: int) -> str:
        text = "\n".join(message.content for message in request.messages)
        if any(words in text for words in OF_BASELINES):
            return baseline_answer(request)
        return '{"findings": []}' if OF_JUDGES in text else make_good_answer(request)

    dataset = import_folder(DEMO / "intro", name="demo")
    with make_server(monkeypatch, answer):
        for module in (judge_actions, judge_tools):
            monkeypatch.setattr(module, "roles", tools.roles)
        results = launch(dataset, tmp_path)
    assert len(results.runs) == 5 + 12 + 3
    asked = [key for key, run in results.runs.items() if run.language_models]
    assert asked == [key for key in results.runs if ":fake" in key]
    assert all(":fake" in results.runs[key].source for key in asked)
    second = results.judge_runs["judge second-judge:fake"]
    assert second.judge_name.startswith("prompted")
    assert second.language_models
    assert not second.games.exclude(outcome="judged").exists()
    assert results.planted["planted planted-prompted:fake"].report["unjudged"] == 0


def test_a_model_that_fails_at_everything_is_counted_and_the_rest_is_complete(monkeypatch):
    with make_server(monkeypatch, lambda request, number: "{}"):
        for module in (judge_actions, judge_tools):
            monkeypatch.setattr(module, "roles", tools.roles)
        check_failing_model("fake")
    assert set(ModelCall.objects.values_list("outcome", flat=True)) == {"rejected"}
    evaluated = Evaluation.objects.get()
    assert evaluated.sources == [f"rules{v}" for v in ("", *VARIANTS)]
    assert JudgeRun.objects.filter(games__outcome="judged").distinct().count() == 2
