"""Measure a judge run of 100,000 games with a million findings.

Run `python -m benchmarks.judging`, in a PostgreSQL of its own.

* Lists: every filter in every order, on its first page and in the middle; goal: 200 ms a request.
* Figures: the report that a job computes from all games with 2,000 resamples, and the dashboard
  that reads the stored one (goal: 200 ms). The yardstick is drawing the cases of all resamples
  once; the report has 14 ratings and 15 pairs, each with intervals. Goal: a fiftieth of its speed.
  Peers of the ratings themselves are in `benchmarks.ratings`.
* Files: the findings with all texts as Parquet. The yardstick is COPY of the same rows to this
  process and polars writing the same table from memory; goal: a fifth of their speed together.
"""

from __future__ import annotations

import argparse
import gc
import io
import resource
import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from benchmarks.support.database import private_database

if TYPE_CHECKING:
    from django.test import Client

    from adjudication.models import JudgeRun
    from adjudication.reports.league.values import Games

GOAL_PAGE, GOAL_RATIO, GOAL_FILE = 0.2, 0.02, 0.2
SOURCES = 6
PAIRS = SOURCES * (SOURCES - 1) // 2
FINDINGS = 10
REPEAT = 3
FILTERS: tuple[dict[str, str], ...] = (
    {}, {"type": "TIMING"}, {"type": "one-sided"}, {"type": "DUPLICATE"}, {"verdict": "decisive"}, {"verdict": "NEITHER"},
    {"grounding": "NONE"}, {"grounding": "TABLE"}, {"category": "wrong_time"}, {"category": "missed_recurrence"},
    {"size": "same"}, {"size": "days"}, {"size": "weeks"}, {"size": "none"}, {"size": "single"}, {"source": "0"}, {"charged": "5"},
    {"flagged": "1"}, {"type": "TIMING", "verdict": "decisive", "size": "weeks", "charged": "3"},
    {"category": "missed_recurrence", "grounding": "NONE", "charged": "2", "source": "2"},
    {"verdict": "NEITHER", "type": "VALUE"}, {"case": "middle"}, {"case": "middle", "verdict": "decisive"},
)  # fmt: skip
SORTS = ("case", "type", "verdict", "size", "grounding", "weight")


def main() -> int:
    """Print the figures; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=100_000)
    games = parser.parse_args().games
    with private_database():
        client, run = make_world(games)
        missed = measure_lists(client, run) + measure_figures(client, run) + measure_file(run)
    return 1 if missed else 0


def make_world(games: int) -> tuple[Client, JudgeRun]:
    """A signed-in admin, and a judged run with ten findings a game."""
    from django.test import Client

    from accounts.actions import add_role, create_study
    from accounts.models import Role, User
    from adjudication.models import Comparison, Game, JudgeRun
    from ehr.models import Dataset, Encounter
    from timelines.models import Timeline

    study, admin = create_study(name="benchmark", by=None), User.objects.create_user("admin")
    add_role(study=study, user=admin, role=Role.ADMIN, by=None)
    dataset = Dataset.objects.create(
        study=study, name="cohort", format="cases", state=Dataset.State.READY
    )
    cases = Encounter.objects.bulk_create(
        (
            Encounter(dataset=dataset, case_id=f"c{n:07}", admitted_at=datetime(2150, 1, 1))
            for n in range(games // PAIRS)
        ),
        batch_size=5000,
    )
    names = [f"source{n}" for n in range(SOURCES)]
    made = Timeline.objects.bulk_create(
        (Timeline(encounter=case, source=name, kind="revised") for case in cases for name in names),
        batch_size=5000,
    )
    compared = Comparison.objects.bulk_create(
        (
            Comparison(encounter_id=made[at].encounter_id, first=made[at + i], second=made[at + j])
            for at in range(0, len(made), SOURCES)
            for i in range(SOURCES)
            for j in range(i + 1, SOURCES)
        ),
        batch_size=5000,
    )
    run = JudgeRun.objects.create(
        study=study,
        sources=[[name, "revised", 1] for name in names],
        judge="prompted",
        judge_name="benchmark",
        judge_version="1",
        created_by=admin,
    )
    run.datasets.set([dataset])
    Game.objects.bulk_create(
        (
            Game(run=run, comparison=c, seed=0, state="succeeded", outcome="judged", a_is_first=c.pk % 2 == 0)
            for c in compared
        ),
        batch_size=5000,
    )  # fmt: skip
    add_findings(list(run.games.order_by("pk").values_list("pk", flat=True)))
    client = Client(SERVER_NAME="localhost")
    client.force_login(admin)
    return client, run


def add_findings(games: list[int]) -> None:
    """Store ten findings of each of these games, in batches as workers would.

    Their primary keys are in order, without another game between them.
    """
    analyze()
    begun = time.perf_counter()
    for at in range(0, len(games), 5000):
        execute(_FINDINGS, [games[at], games[min(at + 5000, len(games)) - 1]])
    print(f"{len(games) * FINDINGS:,} findings stored in {time.perf_counter() - begun:.0f} s")
    analyze()


#: Shares of types, verdicts and hours are those of a language model's findings, roughly.
_FINDINGS = """
INSERT INTO adjudication_finding (
    public_id, game_id, ordinal, type, verdict, polarity, a_event, a_time, b_event, b_time, note_evidence, note_start, note_end,
    grounding, relation, reason, flagged, category, charged_first, subject_sha256)
SELECT translate(substr(md5(game || '-' || n), 1, 12), '01', 'gh'), game, n, type, verdict,
    CASE WHEN k %% 7 = 0 THEN 'absent' ELSE 'present' END,
    CASE WHEN type <> 'B_ONLY' THEN 'chest pain ' || n END, CASE WHEN type <> 'B_ONLY' AND k %% 11 <> 0 THEN (k * 7) %% 300 END,
    CASE WHEN type NOT IN ('A_ONLY', 'DUPLICATE') THEN 'chest pain at rest' END,
    CASE WHEN type NOT IN ('A_ONLY', 'DUPLICATE') THEN (k * 7) %% 300 + (ARRAY[1, 3, 12, 30, 50, 100, 200, 400])[1 + h %% 8] END,
    'complained of chest pain ' || n, n, n + 30, (ARRAY['NOTE', 'NOTE', 'NOTE', 'TABLE', 'BOTH', 'NONE'])[1 + h %% 6],
    CASE WHEN type IN ('A_ONLY', 'B_ONLY') THEN 'novel_event' END, 'the note gives the hour of admission', type = 'TIMING' AND h %% 5 = 0,
    CASE WHEN verdict NOT IN ('A', 'B') THEN '' WHEN type = 'TIMING' THEN 'wrong_time' WHEN type = 'VALUE' THEN 'wrong_value'
         WHEN type = 'DUPLICATE' THEN CASE WHEN h %% 10 = 0 THEN 'missed_recurrence' ELSE 'false_duplicate' END
         WHEN (type = 'A_ONLY') = (verdict = 'A') THEN CASE WHEN k %% 7 = 0 THEN 'missed_negative' ELSE 'missed_positive' END
         ELSE 'over_annotation' END,
    CASE WHEN verdict IN ('A', 'B') THEN h %% 9 < 4 END, md5(game || '-' || n) || md5(n || '-' || game)
FROM (
    SELECT *, CASE WHEN type = 'SHARED_UNSUPPORTED' THEN 'NEITHER' WHEN h %% 100 < 60 THEN (ARRAY['A', 'B'])[1 + h %% 2]
                   WHEN type IN ('A_ONLY', 'B_ONLY') OR h %% 100 < 90 THEN 'UNCLEAR'
                   WHEN h %% 100 < 99 THEN 'BOTH' ELSE 'NEITHER' END AS verdict
    FROM (
        SELECT game, n, k, h, CASE WHEN k < 40 THEN 'TIMING' WHEN k < 50 THEN 'VALUE' WHEN k < 70 THEN 'A_ONLY'
            WHEN k < 90 THEN 'B_ONLY' WHEN k < 97 THEN 'DUPLICATE' ELSE 'SHARED_UNSUPPORTED' END AS type
        FROM (SELECT g.id AS game, n, abs(hashtext(g.id || 'k' || n)) %% 100 AS k, abs(hashtext(g.id || 'h' || n)) %% 10000 AS h
              FROM adjudication_game g, generate_series(1, 10) n WHERE g.id BETWEEN %s AND %s) a
    ) b
) c ORDER BY game, n
"""


def measure_lists(client: Client, run: JudgeRun) -> int:
    """Time every filter in every order; return how many requests are too slow."""
    from django.urls import reverse

    from ehr.models import Encounter

    address = reverse("adjudication:findings", args=[run.public_id])
    cases = Encounter.objects.order_by("case_id")
    case = cases[cases.count() // 2].public_id
    times: list[tuple[float, str]] = []
    ask(client, address)
    gc.collect()
    gc.freeze()  # as the web process does (`config.gunicorn`)
    for asked in FILTERS:
        query = {**asked} | ({"case": case} if "case" in asked else {})
        for sort in (*SORTS, *(f"-{name}" for name in SORTS)):
            for place in (None, *find_deep(run, query)):
                full = query | {"sort": sort} | ({"after": place} if place else {})
                seconds = time_best(lambda: ask(client, address, full))  # noqa: B023
                times.append((seconds, f"{asked} by {sort}{', deep' if place else ''}"))
    times.sort(reverse=True)
    slow = [line for line in times if line[0] > GOAL_PAGE]
    print(f"lists: {len(times)} requests, median {times[len(times) // 2][0] * 1000:.0f} ms, ")
    for seconds, words in times[:12]:
        print(f"  {seconds * 1000:.0f} ms: {words}")
    print(f"  {len(slow)} above {GOAL_PAGE * 1000:.0f} ms")
    return len(slow)


def find_deep(run: JudgeRun, query: dict[str, str]) -> list[str]:
    """Return a finding in the middle of a list, if it is long."""
    from adjudication.access.closed import OPEN
    from adjudication.findings.listing import FindingFilter
    from adjudication.findings.pages import FindingPages

    pages = FindingPages(run, FindingFilter.from_query(query, SOURCES), OPEN)
    if (count := pages.count()) <= 200:
        return []
    middle = pages.rows().order_by("pk").values_list("public_id", flat=True)
    return [middle[count // 2]]


def measure_figures(client: Client, run: JudgeRun) -> int:
    """Print the times of the job and of its readers; return the goals missed."""
    from django.urls import reverse

    from adjudication.models import RunFigures
    from adjudication.ratings.data import load_games
    from adjudication.ratings.figures import execute_figures, follow_game
    from adjudication.reports.league.compute import judge_report

    loaded = measure_seconds(lambda: load_games(run))
    games = load_games(run)
    computed = measure_seconds(lambda: judge_report(games))
    follow_game(run.games.latest("pk").pk)
    job = measure_seconds(lambda: execute_figures(RunFigures.objects.latest("pk").pk))
    assert RunFigures.objects.latest("pk").state == "succeeded"
    read = time_best(lambda: ask(client, reverse("adjudication:dashboard", args=[run.public_id])))
    print(
        f"figures of {len(games):,} games: loaded in {loaded:.1f} s, computed in {computed:.1f} s"
    )
    limit = measure_seconds(lambda: draw_cases(games))
    ratio = limit / computed
    print(f"  the whole job {job:.1f} s")
    print(f"  drawing cases once {limit:.2f} s; ratio {ratio:.2f} (goal {GOAL_RATIO})")
    print(f"  dashboard from the store {read * 1000:.0f} ms (goal {GOAL_PAGE * 1000:.0f} ms)")
    return (read > GOAL_PAGE) + (ratio < GOAL_RATIO)


def draw_cases(games: Games) -> None:
    """Draw the cases of every resample once, which any bootstrap has to do."""
    import numpy as np

    from adjudication.scoring.bradley_terry import RESAMPLES

    cases = len(np.unique(games.case))
    rng = np.random.default_rng(1)
    for _ in range(RESAMPLES):
        np.bincount(rng.integers(0, cases, size=cases), minlength=cases)


def measure_file(run: JudgeRun) -> int:
    """Print the times of a Parquet file; return the goals missed."""
    import polars as pl

    from adjudication.access.closed import OPEN
    from adjudication.export_files import write_blocks
    from adjudication.findings import export

    begun, first, content = time.perf_counter(), 0.0, io.BytesIO()
    found = export.find_exportable_findings(run, OPEN)
    for part in write_blocks(export.blocks(run, found), export.columns(with_text=True)):
        first = first or time.perf_counter() - begun
        content.write(part)
    seconds = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    copied = measure_seconds(lambda: copy_rows(run))
    table = pl.read_parquet(content)
    written = measure_seconds(lambda: table.write_parquet(io.BytesIO()))
    ratio = (copied + written) / seconds
    print(
        f"Parquet of {len(table):,} findings: {seconds:.1f} s, its first part after {first:.1f} s"
    )
    print(f"  at most {peak:.0f} MB of memory in this process")
    print(f"  COPY {copied:.1f} s, polars {written:.1f} s; ratio {ratio:.2f} (goal {GOAL_FILE})")
    return int(ratio < GOAL_FILE)


def copy_rows(run: JudgeRun) -> None:
    """Send the same values to this process, as fast as the database can."""
    import psycopg
    from django.conf import settings

    query = """
        COPY (SELECT f.public_id, r.public_id, r.judge_name, d.name, e.case_id, g.public_id, g.swapped, f.ordinal,
                     one.source, two.source, f.type, f.verdict, f.category, f.charged_first, f.flagged, f.a_time, f.b_time,
                     f.grounding, f.polarity, f.relation, f.note_start, f.note_end, f.subject_sha256, f.a_event, f.b_event,
                     f.note_evidence, f.table_evidence, f.reason
              FROM adjudication_finding f JOIN adjudication_game g ON g.id = f.game_id
              JOIN adjudication_judgerun r ON r.id = g.run_id JOIN adjudication_comparison c ON c.id = g.comparison_id
              JOIN ehr_encounter e ON e.id = c.encounter_id JOIN ehr_dataset d ON d.id = e.dataset_id
              JOIN timelines_timeline one ON one.id = c.first_id JOIN timelines_timeline two ON two.id = c.second_id
              WHERE g.run_id = {} ORDER BY f.game_id, f.ordinal) TO STDOUT
    """
    with psycopg.connect(settings.DATABASE_OWNER_URL) as connection:
        command = psycopg.sql.SQL(query).format(run.pk)
        with connection.cursor().copy(command) as copy:
            for _ in copy:
                pass


def ask(client: Client, address: str, query: dict[str, str] | None = None) -> None:
    answer = client.get(address, query or {})
    assert answer.status_code == 200


def time_best(work: Callable[[], object]) -> float:
    """The shortest of several runs, in seconds."""
    return min(measure_seconds(work) for _ in range(REPEAT))


def measure_seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def execute(query: str, values: list[int]) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(query, values)


def analyze() -> None:
    """Update the planner's statistics, as autovacuum does."""
    import psycopg
    from django.conf import settings

    with psycopg.connect(settings.DATABASE_OWNER_URL, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")


if __name__ == "__main__":
    raise SystemExit(main())
