"""Games judged in part or with a smaller record, stored and shown."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.urls import reverse

from accounts.models import Role
from adjudication.judge_runs.actions import find_equal_run
from adjudication.judge_runs.progress import count_games
from adjudication.judging.config import PUBLISHED, JudgeConfig
from adjudication.judging.input import Judged, JudgeInput, Unjudged
from adjudication.judging.prompted.judge import PromptedJudge
from adjudication.judging.validation import Tolerance
from adjudication.models import Game, JudgeRun
from adjudication.ratings.data import compute_report
from llm_runtime.base import Limits
from llm_runtime.calls.calling import Asker, MemoryLedger
from llm_runtime.providers.scripted import ScriptedModel
from tests import factories
from tests.support.api import ApiClient
from tests.support.pages import extract_text
from tests.worlds.judged import KEYS, FixedJudge, make_case, make_judged_run, use_judge

pytestmark = pytest.mark.django_db(transaction=True)
FAULT = "TIMING: note_evidence is not copied word for word from the note"


@dataclass(frozen=True)
class SpoiledJudge(FixedJudge):
    """The prompted judge, whose model never repairs its first finding."""

    context: int = 128_000

    def judge(self, given: JudgeInput) -> Judged | Unjudged:
        first, *others = self._told(given)
        wrong = {**first, "note_evidence": "never written"}
        answers: list[list[dict[str, Any]]] = [[wrong, *others], [wrong], [wrong]]
        replies = [json.dumps({"findings": answer}) for answer in answers]
        model = ScriptedModel(replies, limits=Limits(context=self.context, schema=True))
        return PromptedJudge(Asker("judge", model, MemoryLedger())).judge(given)


def page_url(name: str, *ids: str) -> str:
    return reverse(f"adjudication:{name}", args=ids)


@pytest.fixture
def run():
    dataset = factories.make_dataset(name="cohort")
    make_case(dataset, "one")
    return make_judged_run(dataset, SpoiledJudge())


def test_a_game_judged_in_part_counts_and_says_what_was_dropped(run):
    games = run.games.all()
    assert {(g.state, g.outcome, g.dropped_findings) for g in games} == {("succeeded", "judged", 1)}
    assert all(g.dropped_reasons == [FAULT] for g in games)
    assert all(g.findings.count() > 0 for g in games)
    totals = count_games([run])[run.pk]
    assert (totals.judged, totals.in_part, totals.unjudged) == (3, 3, 0)
    report = compute_report(run)
    assert (report.games, report.in_part, report.unjudged) == (3, 3, 0)
    assert [m.in_part for m in report.matchups] == [1, 1, 1]
    assert [r.in_part for r in report.rated.ratings] == [2, 2, 2]


def test_pages_show_it_wherever_they_show_unjudged_games(run, client):
    client.force_login(factories.make_user(run.study, Role.ADMIN))

    def page(name: str, *ids: str) -> str:
        return extract_text(client.get(page_url(name, *ids)))

    game = run.games.first()
    assert "3 in part" in page("judge_runs")
    assert "3 of 3 games judged (3 in part)" in page("judge_run", run.public_id)
    assert "in part: 1 invalid finding dropped" in page("judge_run", run.public_id)
    shown = page("judge_game", run.public_id, game.public_id)
    assert "Judged in part: 1 finding of the judge stayed invalid and is not counted" in shown
    assert FAULT in shown
    assert "3 games judged in part" in page("dashboard", run.public_id)
    assert "preset default" in page("judge_run", run.public_id)


def test_the_api_the_files_and_the_command_show_it(run, client):
    admin = factories.make_user(run.study, Role.ADMIN)
    api = ApiClient(admin)
    status, detail = api.get(f"judge-runs/{run.public_id}/")
    assert (status, detail["games"]["in_part"], detail["preset"]) == (200, 3, "default")
    status, page = api.get(f"judge-runs/{run.public_id}/games/")
    assert {(g["dropped_findings"], *g["dropped_reasons"]) for g in page["results"]} == {(1, FAULT)}
    client.force_login(admin)
    file = client.get(page_url("games_download", run.public_id, "csv")).getvalue().decode()
    lines = list(csv.DictReader(io.StringIO(file.removeprefix("\ufeff"))))
    assert [line["dropped_findings"] for line in lines] == ["1", "1", "1"]
    out = StringIO()
    call_command("judge_report", run.public_id, stdout=out)
    assert "3 in part" in out.getvalue()


def test_the_database_keeps_what_was_dropped(run):
    game = run.games.first()
    for change in ({"dropped_findings": 0}, {"dropped_reasons": []}):
        with pytest.raises(IntegrityError, match="keeps its sides"), transaction.atomic():
            Game.objects.filter(pk=game.pk).update(**change)
    other = make_judged_run(run.datasets.get(), FixedJudge(refuse=frozenset({6, 7})))
    with (
        pytest.raises(IntegrityError, match="only_judged_game_drops_findings"),
        transaction.atomic(),
    ):
        other.games.update(dropped_findings=1)


def test_a_smaller_record_is_stored_with_the_game():
    dataset = factories.make_dataset(name="cohort")
    encounter = make_case(dataset, "one")
    for number in range(200):
        factories.make_row(encounter, f"lab:assay {number:03d}:blood:serum", 1.0, value="7.25")
    whole = make_judged_run(dataset, SpoiledJudge())
    (shown,) = set(whole.games.values_list("series_supplied", flat=True))
    assert shown > 200
    smaller = make_judged_run(dataset, SpoiledJudge(context=10_500))
    for game in smaller.games.all():
        assert game.outcome == "judged"
        assert game.series_supplied in (150, 80, 40)
        assert game.series_supplied + game.series_omitted == shown
    nothing = make_judged_run(dataset, SpoiledJudge(context=4_000))
    assert set(nothing.games.values_list("outcome", flat=True)) == {"unjudged"}


def test_the_published_preset_and_departures_are_set_at_launch_and_stored(client):
    dataset = factories.make_dataset(name="cohort")
    make_case(dataset, "one")
    asked = {"dataset": ["cohort"], "sources": "author:vega,rules-orion", "stdout": StringIO()}

    def latest() -> JudgeConfig:
        return JudgeConfig.from_dict(JudgeRun.objects.latest("pk").config)

    with use_judge(FixedJudge()):
        call_command("judge", **asked)
        assert latest() == JudgeConfig()
        call_command("judge", preset="published", series=100, **asked)
        assert latest() == JudgeConfig(**PUBLISHED, series_limit=100)
        call_command("judge", preset="published", repair=True, **asked)
        assert latest().preset == "published, except repair"
        api = ApiClient(factories.make_user(dataset.study, Role.ADMIN))
        status, made = api.post(
            "judge-runs/",
            datasets=[dataset.public_id],
            sources=[key.written for key in KEYS],
            preset="published",
            series_limit=40,
            uid_table=False,
        )
    assert (status, made.get("preset")) == (201, "published, except uid_table, series_limit"), made
    assert latest() == JudgeConfig(record_times="iso", repair=False, series_limit=40)


def test_every_number_of_the_judge_is_set_in_the_browser_and_by_the_command(client):
    dataset = factories.make_dataset(name="cohort")
    make_case(dataset, "one")
    client.force_login(factories.make_user(dataset.study, Role.ADMIN))
    asked = {
        "datasets": [dataset.public_id],
        "sources": [key.written for key in KEYS],
        "judge": "rules",
        "tolerance": "scaled",
        "seed": 7,
        "preset": "published",
        "repair": "findings",
        "attempts": 2,
        "tolerance_hours": 6,
        "tolerance_share": 0.2,
    }
    with use_judge(FixedJudge()):
        page = client.post(reverse("adjudication:judge_run_new"), asked, follow=True)
        run = JudgeRun.objects.latest("pk")
        call_command(
            "judge",
            *("--dataset", "cohort", "--sources", "author:vega,rules-orion", "--seed", "7"),
            *("--preset", "published", "--repair", "--attempts", "2"),
            *("--tolerance-hours", "6", "--tolerance-share", "0.2"),
            stdout=StringIO(),
        )
    config = JudgeConfig.from_dict(run.config)
    assert (config.attempts, config.tolerance) == (2, Tolerance(6, 0.2))
    assert run.config["preset_name"] == "published"
    assert config.preset == "published, except tolerance, repair, attempts"
    assert config.preset in extract_text(page)
    assert JudgeRun.objects.latest("pk").config == run.config


def test_a_run_from_before_the_preset_was_recorded_counts_as_equal(monkeypatch):
    dataset = factories.make_dataset(name="cohort")
    make_case(dataset, "one")
    older = JudgeConfig().to_dict()
    del older["preset_name"], older["attempts"]
    with monkeypatch.context() as patch:
        patch.setattr(JudgeConfig, "to_dict", lambda self: older)
        run = make_judged_run(dataset, FixedJudge())
    assert run.config == older
    with use_judge(FixedJudge()):
        equal = {"study": dataset.study, "datasets": [dataset], "sources": KEYS, "judge": run.judge}
        assert find_equal_run(**equal) == run
        assert find_equal_run(**equal, config=JudgeConfig(attempts=2)) is None
