"""The steps of a study over many stays, each measured.

Each function returns costs by the name of the step. Costs of one stay are measured over a few stays
that pass every stage; the results of the others are copies of theirs.
"""

from __future__ import annotations

import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.support.growth.meter import Cost, measure

if TYPE_CHECKING:
    from django.test import Client

    from adjudication.models import JudgeRun
    from ehr.models import Dataset
    from timelines.models import Run

#: Times that a page is asked; the cheapest counts.
ASKED = 5
JUDGED = 6


def import_cohort(path: Path, study_name: str) -> tuple[Dataset, Cost]:
    """Import the directory as a dataset of a new study."""
    from accounts.actions import create_study
    from ehr.actions import import_dataset
    from ehr.models import Dataset

    study = create_study(name=study_name, by=None)
    cost = measure(
        lambda: import_dataset(path=path, format="mimic_iv", name="cohort", study=study, by=None)
    )
    return Dataset.objects.get(study=study), cost


def prepare_run(dataset: Dataset) -> tuple[Run, dict[str, Cost]]:
    """Start a run over all stays, and add its cases."""
    from timelines.runs.actions import start_run
    from timelines.runs.preparing import execute_preparation

    made: list[Run] = []
    costs = {
        "start of a run": measure(
            lambda: made.append(start_run(dataset=dataset, backbone="rules", by=None))
        )
    }
    preparation = made[0].preparation.pk
    costs["preparation of a run"] = measure(lambda: execute_preparation(preparation))
    assert made[0].cases.count() == dataset.encounters.count()
    return made[0], costs


def run_stages(run: Run, count: int) -> dict[str, Cost]:
    """Execute all stages of the first stays; return the costs of each stage.

    One more stay comes first: it loads what a worker loads once.
    """
    from timelines.models import STAGE_ORDER, StageRun
    from timelines.runs.stages.execution import execute_stage

    keys = list(run.cases.order_by("pk").values_list("pk", flat=True)[: count + 1])
    spent: dict[str, list[Cost]] = defaultdict(list)
    for case_run in (keys[-1], *keys[:-1]):
        stages = dict(StageRun.objects.filter(case_run=case_run).values_list("stage", "pk"))
        for stage in STAGE_ORDER:
            cost = measure(partial(execute_stage, stages[stage]))
            if case_run != keys[-1]:
                spent[stage].append(cost)
    assert run.cases.filter(state="done").count() == len(keys)
    return {stage: add(costs) for stage, costs in spent.items()}


def embed(run: Run) -> Cost:
    """Embed the summaries of one stay with the default embedder.

    In the other steps a hashing embedder with vectors of the same size takes its place: it costs
    nothing.
    """
    from ehr.index import embed_encounter
    from llm_runtime.calls.blocking import run_blocking
    from llm_runtime.roles import ModelRoles

    embedder = ModelRoles().embedder()
    run_blocking(embedder.embed_documents(["what a worker loads once"]))
    stay = run.cases.order_by("pk")[0].encounter
    return measure(lambda: embed_encounter(stay, embedder))


def add(costs: list[Cost]) -> Cost:
    """Return the sum."""
    return Cost(
        sum(c.wall for c in costs), sum(c.client for c in costs), sum(c.server for c in costs)
    )


def evaluate(dataset: Dataset) -> dict[str, Cost]:
    """Compare the run with the reference of every stay."""
    from timelines.evaluations.actions import execute_evaluation, start_evaluation

    evaluation = start_evaluation(
        study=dataset.study, datasets=[dataset], reference="reference", sources=["rules"], by=None
    )
    cost = measure(lambda: execute_evaluation(evaluation.pk))
    evaluation.refresh_from_db()
    assert evaluation.state == "succeeded", evaluation.reasons
    return {"evaluation": cost}


def judge(dataset: Dataset) -> tuple[JudgeRun, dict[str, Cost]]:
    """Prepare a judge run over all stays, judge a few, and make its report.

    The findings of the others are made up.
    """
    from adjudication.judge_runs.actions import execute_game, start_judging
    from adjudication.judge_runs.preparing import execute_preparation
    from adjudication.models import Game
    from benchmarks.judging import add_findings
    from timelines.evaluation.values import SourceKey

    sources = [SourceKey("rules", "revised"), SourceKey("rules", "text_only")]
    run = start_judging(study=dataset.study, datasets=[dataset], sources=sources, by=None)
    costs = {
        "preparation of a judge run": measure(partial(execute_preparation, run.preparation.pk))
    }
    games = list(run.games.order_by("pk").values_list("pk", flat=True))
    execute_game(games[0])
    costs["judging"] = add([measure(partial(execute_game, pk)) for pk in games[1 : JUDGED + 1]])
    for at in range(JUDGED + 1, len(games), 2000):
        part = Game.objects.filter(pk__in=games[at : at + 2000])
        part.update(state="succeeded", outcome="judged", a_is_first=True)
    add_findings(games[JUDGED + 1 :])
    costs["report of a judge run"] = measure(lambda: make_report(run))
    return run, costs


def make_report(run: JudgeRun) -> None:
    """Compute the figures, as a worker or the first reader does."""
    from adjudication.models import RunFigures
    from adjudication.ratings.figures import execute_figures, follow_game, load_figures

    follow_game(run.games.order_by("pk").values_list("pk", flat=True)[0])
    waiting = RunFigures.objects.filter(run=run).order_by("-pk").first()
    if waiting is not None:
        execute_figures(waiting.pk)
    load_figures(run)


def ask_pages(client: Client, dataset: Dataset, run: Run, judged: JudgeRun) -> dict[str, Cost]:
    """Ask pages that people open often; the cheapest of several tries counts."""
    return {name: ask_often(ask) for name, ask in find_pages(client, dataset, run, judged)}


def find_pages(
    client: Client, dataset: Dataset, run: Run, judged: JudgeRun
) -> Iterator[tuple[str, Callable[[], int]]]:
    """Yield (name, function that asks and returns the status)."""
    from django.urls import reverse

    case = dataset.encounters.order_by("case_id")[dataset.encounters.count() // 2]
    uid = case.inventories.get().occurrences.order_by("ordinal")[5].uid4
    evaluation = dataset.evaluations.get()
    addresses: Mapping[str, str] = {
        "home": "/",
        "list of cases": "/cases/",
        "list of cases, last page": "/cases/?sort=-stay&page=999999",
        "case": f"/cases/{case.public_id}/",
        "chain": f"/cases/{case.public_id}/o/{uid}/chain/",
        "run": reverse("timelines:run", args=[run.public_id]),
        "evaluation": reverse("timelines:evaluation", args=[evaluation.public_id]),
        "dashboard of a judge run": reverse("adjudication:dashboard", args=[judged.public_id]),
        "findings": reverse("adjudication:findings", args=[judged.public_id]),
    }
    for name, address in addresses.items():
        yield name, lambda address=address: client.get(address).status_code  # type: ignore[misc]
    for text in ("atrial fibrillation", "summary"):
        yield (
            f"search {text}",
            lambda text=text: (  # type: ignore[misc]
                client.post(
                    "/cases/search/", {"text": text}, headers={"hx-request": "true"}
                ).status_code
            ),
        )


def ask_often(ask: Callable[[], int]) -> Cost:
    """Return the cost of the cheapest of several requests."""
    status = ask()
    assert status == 200, status
    return min((measure(ask) for _ in range(ASKED)), key=lambda cost: cost.cpu)


def dump(folder: Path) -> tuple[int, Cost]:
    """Dump the database, compressed; return its bytes and the cost."""
    from config.services.paths import DATABASE, SUPERUSER_ROLE, default_paths
    from config.services.postgres import binaries

    paths, file = default_paths(), folder / "dump"
    command = [
        str(binaries(paths) / "pg_dump"),
        "--format=custom",
        "--compress=gzip:1",
        f"--file={file}",
        paths.build_database_url(SUPERUSER_ROLE, DATABASE),
    ]
    cost = measure(lambda: subprocess.run(command, check=True))
    size = file.stat().st_size
    file.unlink()
    return size, cost


def maintain() -> Cost:
    """Do at once what autovacuum does in the course of time."""
    from django.conf import settings
    from psycopg import connect

    def vacuum() -> None:
        with connect(settings.DATABASE_OWNER_URL, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")

    return measure(vacuum)


def say(began: float, words: str) -> None:
    """Print progress."""
    print(f"{time.monotonic() - began:7.0f} s  {words}", flush=True)
