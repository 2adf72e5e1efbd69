"""The evidence funnel of a demo case, by evaluation and by command.

Its counts are compared with those that SQL finds in the stored rows.
"""

from __future__ import annotations

import json
from collections import Counter
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ehr.models import Dataset, Encounter
from timelines.evaluation.plain import case_from_plain, report_from_plain
from timelines.evaluation.tables import LOST_WORDS, STEP_WORDS
from timelines.evaluation.values import Basis, EvaluationSettings, Lost, SourceKey, Step
from timelines.evaluations.actions import execute_evaluation, start_evaluation
from timelines.evaluations.data import Chosen, load_cases
from timelines.models import Evaluation, EvaluationCase, StageBatch, Timeline

pytestmark = pytest.mark.django_db(transaction=True)

REVISED = SourceKey("rules", "revised")
#: One line for each occurrence of the revised timeline (%s) and of the reference (%s): what the
#: database has stored about it.
FACTS = """
    SELECT right_rows.uid4, right_rows.lane, mine.uid4,
        EXISTS (
            SELECT FROM timelines_candidate c
            JOIN timelines_query q ON q.id = c.query_id
            JOIN ehr_eventseries s ON s.id = c.series_id
            WHERE q.case_run_id = mine.case_run_id AND q.occurrence_id = mine.occurrence_id
                AND s.row_indices && right_rows.adopted_rows
        ),
        EXISTS (
            SELECT FROM timelines_candidate c
            JOIN timelines_query q ON q.id = c.query_id
            JOIN ehr_eventseries s ON s.id = c.series_id
            WHERE q.case_run_id = mine.case_run_id AND q.occurrence_id = mine.occurrence_id
                AND s.row_indices && right_rows.adopted_rows AND c.kept
        ),
        EXISTS (
            SELECT FROM timelines_candidate c
            JOIN timelines_query q ON q.id = c.query_id
            JOIN ehr_eventseries s ON s.id = c.series_id
            WHERE q.case_run_id = mine.case_run_id AND q.occurrence_id = mine.occurrence_id
                AND s.row_indices && right_rows.adopted_rows
                AND c.fate = 'outside the top summaries'
        ),
        EXISTS (
            SELECT FROM timelines_evidence e
            WHERE e.case_run_id = mine.case_run_id AND e.row_index = ANY (right_rows.adopted_rows)
        ),
        mine.adopted_rows && right_rows.adopted_rows,
        cardinality(mine.adopted_rows) > 0,
        CASE
            WHEN right_rows.time IS NULL OR mine.time IS NULL
                THEN right_rows.time IS NULL AND mine.time IS NULL
            ELSE abs(right_rows.time - mine.time)
                < greatest(3, 0.1 * greatest(abs(right_rows.time), abs(mine.time)))
        END
    FROM (
        SELECT o.uid4, o.lane, e.adopted_rows, e.time
        FROM timelines_entry e JOIN timelines_occurrence o ON o.id = e.occurrence_id
        WHERE e.timeline_id = %s AND cardinality(e.adopted_rows) > 0
    ) right_rows
    CROSS JOIN (
        SELECT o.uid4, o.lane, e.occurrence_id, t.case_run_id, e.adopted_rows, e.time
        FROM timelines_entry e
        JOIN timelines_occurrence o ON o.id = e.occurrence_id
        JOIN timelines_timeline t ON t.id = e.timeline_id
        WHERE e.timeline_id = %s
    ) mine
    JOIN unnest(%s::text[], %s::text[]) pair (reference, predicted)
        ON pair.reference = right_rows.uid4 AND pair.predicted = mine.uid4
"""


def evaluate(dataset: Dataset) -> Evaluation:
    started = start_evaluation(
        study=dataset.study,
        datasets=[dataset],
        reference="reference",
        settings=EvaluationSettings(bases=(Basis.SPAN,), resamples=5),
        by=None,
        tell_workers=False,
    )
    execute_evaluation(started.pk)
    started.refresh_from_db()
    return started


def read_facts(encounter: Encounter, pairs: set[tuple[str, str]]) -> list[tuple]:
    """Return the facts of the matched pairs whose reference has rows."""
    own = encounter.timelines.get(kind="revised", alternative=1)
    reference = encounter.timelines.get(kind="reference")
    with connection.cursor() as cursor:
        cursor.execute(FACTS, [reference.pk, own.pk, [r for r, _ in pairs], [p for _, p in pairs]])
        return cursor.fetchall()


def find_lost(fact: tuple) -> Lost | None:
    """Return why it was lost in a run without a budget."""
    _, _, _, candidate, kept, outside, printed, right, any_row, in_time = fact
    if not candidate:
        return Lost.NOT_FOUND
    if not kept:
        return Lost.OUTSIDE_TOP if outside else Lost.BELOW_THRESHOLD
    if not printed:
        return Lost.NOT_SELECTED
    if not right:
        return Lost.OTHER_ROW if any_row else Lost.NOT_CITED
    return None if in_time else Lost.TIME_DIFFERS


def test_the_counts_are_those_of_the_stored_rows(dataset: Dataset) -> None:
    evaluation = evaluate(dataset)
    stored = case_from_plain(EvaluationCase.objects.get(evaluation=evaluation).result)
    (source,) = (s for s in stored.sources if s.key == REVISED)
    encounter = dataset.encounters.get()
    facts = read_facts(encounter, {(p.reference, p.predicted) for p in source.pairs})
    lost = Counter(reason for fact in facts if (reason := find_lost(fact)) is not None)
    report = report_from_plain(evaluation.report)
    results = {r.kind: r for r in report.funnel if r.key == REVISED}
    every = results[""]
    assert every.occurrences == len(facts) > 20
    assert [every.reached[step] for step in Step] == [
        sum(fact[at] for fact in facts) for at in (3, 4, 6, 7, 9)
    ]
    assert {reason: n for reason, n in every.lost.items() if n} == lost
    assert sum(lost.values()) < len(facts)
    kinds = Counter(fact[1] for fact in facts)
    assert {kind: r.occurrences for kind, r in results.items() if kind} == kinds
    assert len(kinds) > 2
    (case,) = stored.funnel
    assert case.timeline == encounter.timelines.get(kind="revised", alternative=1).public_id
    assert {(line.reference, line.predicted) for line in case.lines} == {
        (fact[0], fact[2]) for fact in facts
    }


def test_rows_over_budget_are_those_that_the_expansion_stored(dataset: Dataset) -> None:
    chosen = Chosen([dataset], "reference", ("rules",))
    batch = StageBatch.objects.get(stage_run__stage="expand", ordinal=0)
    assert batch.payload["over_budget"] == {}, "the rules have no budget"
    batch.payload["over_budget"] = {"0a1b": [3, 7]}
    batch.save()
    (loaded,) = load_cases(chosen)
    assert loaded.case.trails[REVISED].over_budget == {"0a1b": [3, 7]}


def test_trails_take_few_queries_however_many_occurrences(dataset: Dataset) -> None:
    chosen = Chosen([dataset], "reference", ("rules",))
    with CaptureQueriesContext(connection) as asked:
        (loaded,) = load_cases(chosen)
    assert set(loaded.case.trails) == {REVISED}
    of_rows = [
        q["sql"]
        for q in asked.captured_queries
        if any(
            f'FROM "{table}"' in q["sql"]
            for table in (
                "ehr_sourcerow",
                "timelines_candidate",
                "timelines_evidence",
                "timelines_stagebatch",
            )
        )
    ]
    assert len(of_rows) == 4


def run_command(**options) -> str:
    out = StringIO()
    call_command(
        "evidence_funnel", dataset=["cohort"], reference="reference", stdout=out, **options
    )
    return out.getvalue()


def test_the_command_prints_the_same_table_and_stores_nothing(dataset: Dataset) -> None:
    lines = run_command(format="csv").splitlines()
    words = run_command(source=["rules"])
    plain = json.loads(run_command(format="json"))
    assert not Evaluation.objects.exists()
    report = report_from_plain(evaluate(dataset).report)
    assert len(lines) == len(report.funnel) + 1
    first = report.funnel[0]
    assert lines[1].startswith(f"rules,revised,all,{first.occurrences},")
    assert lines[1].endswith(",".join(str(first.lost[reason]) for reason in Lost))
    assert plain["heads"][4:] == [*STEP_WORDS.values(), *LOST_WORDS.values()]
    assert plain["rows"][0][4]["value"] == first.reached[Step.CANDIDATE] / first.occurrences
    assert words.startswith("Evidence funnel against reference, paired by span overlap")
    assert "Right row printed" in words


def test_the_command_says_what_is_wrong(dataset: Dataset) -> None:
    with pytest.raises(CommandError, match="no timeline has the source nobody"):
        run_command(source=["nobody"])
    with pytest.raises(CommandError, match="there is no dataset"):
        call_command("evidence_funnel", dataset=["nothing"], reference="reference")
    Timeline.objects.filter(kind="revised").delete()
    with pytest.raises(CommandError, match="so there is no funnel"):
        run_command()
