"""Results of a few stays, stored for all others with the same note.

The tables then are as large as after a run over all stays, without the hours that it takes. Triggers
and foreign keys check every row as they check those of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from django.db import connection, transaction

if TYPE_CHECKING:
    from timelines.models import Run

#: Stays of one transaction.
BATCH = 200
#: Larger studies get only the candidates that were kept. A stay has about 8,600, most of all its
#: rows; what they cost follows from smaller studies.
WHOLE = 50
#: Returns a new public id.
_ID = "translate(substr(md5(random()::text || clock_timestamp()), 1, 12), '01', 'gh')"

_CHOOSE = """
CREATE TEMPORARY TABLE stay AS
SELECT c.id AS case_run, c.encounter_id AS encounter, n.id AS note, n.number, 0::bigint AS inventory
FROM timelines_caserun c JOIN (
    SELECT id, encounter_id, substr(text, 16, 7)::int AS number FROM ehr_note
) n ON n.encounter_id = c.encounter_id WHERE c.run_id = %(run)s AND c.state <> 'done';
CREATE TEMPORARY TABLE made AS
SELECT n.number %% %(kinds)s AS kind, c.id AS case_run, c.inventory_id AS inventory, c.encounter_id AS encounter
FROM timelines_caserun c JOIN (
    SELECT encounter_id, substr(text, 16, 7)::int AS number FROM ehr_note
) n ON n.encounter_id = c.encounter_id
WHERE c.run_id = %(run)s AND c.state = 'done' AND n.number < %(kinds)s;
ANALYZE stay; ANALYZE made
"""

#: Each statement stores one table for the stays of a batch.
_STEPS = (
    """CREATE TEMPORARY TABLE pair ON COMMIT DROP AS
    SELECT s.*, m.case_run AS from_case_run, m.inventory AS from_inventory, m.encounter AS from_encounter
    FROM stay s JOIN made m ON m.kind = s.number %% %(kinds)s
    WHERE s.number BETWEEN %(first)s AND %(last)s""",
    "UPDATE pair SET inventory = nextval(pg_get_serial_sequence('timelines_inventory', 'id'))",
    """INSERT INTO timelines_inventory (id, encounter_id, note_id, origin, run_id, created_at)
    SELECT inventory, encounter, note, 'run', %(run)s, now() FROM pair""",
    """UPDATE timelines_caserun c SET inventory_id = p.inventory FROM pair p WHERE c.id = p.case_run""",
    """INSERT INTO timelines_occurrence (inventory_id, ordinal, uid4, mention, "start", "end", polarity, lane)
    SELECT p.inventory, o.ordinal, o.uid4, o.mention, o.start, o.end, o.polarity, o.lane
    FROM pair p JOIN timelines_occurrence o ON o.inventory_id = p.from_inventory""",
    """INSERT INTO ehr_seriesembedding (series_id, encounter_id, model, vector)
    SELECT s.id, p.encounter, e.model, e.vector FROM pair p
    JOIN ehr_seriesembedding e ON e.encounter_id = p.from_encounter
    JOIN ehr_eventseries f ON f.id = e.series_id
    JOIN ehr_eventseries s ON s.encounter_id = p.encounter AND s.event = f.event""",
    """INSERT INTO timelines_query (case_run_id, occurrence_id, ordinal, text)
    SELECT p.case_run, o.id, q.ordinal, q.text FROM pair p
    JOIN timelines_query q ON q.case_run_id = p.from_case_run JOIN timelines_occurrence f ON f.id = q.occurrence_id
    JOIN timelines_occurrence o ON o.inventory_id = p.inventory AND o.ordinal = f.ordinal""",
    """CREATE TEMPORARY TABLE asked ON COMMIT DROP AS
    SELECT p.case_run, p.encounter, p.from_case_run, n.id AS query, q.id AS from_query FROM pair p
    JOIN timelines_query n ON n.case_run_id = p.case_run JOIN timelines_occurrence o ON o.id = n.occurrence_id
    JOIN timelines_occurrence f ON f.inventory_id = p.from_inventory AND f.ordinal = o.ordinal
    JOIN timelines_query q ON q.case_run_id = p.from_case_run AND q.occurrence_id = f.id AND q.ordinal = n.ordinal""",
    """INSERT INTO timelines_candidate (query_id, series_id, dense_rank, dense_score, rerank_score, kept, fate)
    SELECT a.query, s.id, c.dense_rank, c.dense_score, c.rerank_score, c.kept, c.fate FROM asked a
    JOIN timelines_candidate c ON c.query_id = a.from_query JOIN ehr_eventseries f ON f.id = c.series_id
    JOIN ehr_eventseries s ON s.encounter_id = a.encounter AND s.event = f.event WHERE c.kept OR %(whole)s""",
    """INSERT INTO timelines_evidence (case_run_id, candidate_id, dataset_id, encounter_id, row_index, "time", hours, event, value,
        numeric_value, unit, source, time_kind)
    SELECT a.case_run, n.id, v.dataset_id, a.encounter, v.row_index, v.time, v.hours, v.event, v.value, v.numeric_value, v.unit,
        v.source, v.time_kind
    FROM asked a JOIN timelines_candidate c ON c.query_id = a.from_query JOIN timelines_evidence v ON v.candidate_id = c.id
    JOIN timelines_candidate n ON n.query_id = a.query AND n.dense_rank = c.dense_rank""",
    """INSERT INTO timelines_evidence (case_run_id, dataset_id, encounter_id, row_index, "time", hours, event, value, numeric_value,
        unit, source, time_kind)
    SELECT p.case_run, v.dataset_id, p.encounter, v.row_index, v.time, v.hours, v.event, v.value, v.numeric_value, v.unit, v.source,
        v.time_kind
    FROM pair p JOIN timelines_evidence v ON v.case_run_id = p.from_case_run AND v.candidate_id IS NULL""",
    f"""INSERT INTO timelines_timeline (public_id, encounter_id, inventory_id, case_run_id, source, kind, alternative, reasoning,
        protocol, created_at)
    SELECT {_ID}, p.encounter, p.inventory, p.case_run, t.source, t.kind, t.alternative, t.reasoning, t.protocol, now()
    FROM pair p JOIN timelines_timeline t ON t.case_run_id = p.from_case_run""",
    """INSERT INTO timelines_entry (timeline_id, occurrence_id, event, "time", lower, upper, known, context, decided_by, reason,
        adopted_rows, near_rows, link, confidence)
    SELECT n.id, o.id, e.event, e.time, e.lower, e.upper, e.known, e.context, e.decided_by, e.reason, e.adopted_rows, e.near_rows,
        e.link, e.confidence
    FROM pair p JOIN timelines_timeline t ON t.case_run_id = p.from_case_run
    JOIN timelines_timeline n ON n.case_run_id = p.case_run AND n.kind = t.kind AND n.alternative = t.alternative
    JOIN timelines_entry e ON e.timeline_id = t.id JOIN timelines_occurrence f ON f.id = e.occurrence_id
    JOIN timelines_occurrence o ON o.inventory_id = p.inventory AND o.ordinal = f.ordinal""",
    """INSERT INTO timelines_unexplainedchange (case_run_id, run_id, occurrence_id, hours, weight)
    SELECT p.case_run, u.run_id, o.id, u.hours, u.weight FROM pair p
    JOIN timelines_unexplainedchange u ON u.case_run_id = p.from_case_run
    JOIN timelines_occurrence f ON f.id = u.occurrence_id
    JOIN timelines_occurrence o ON o.inventory_id = p.inventory AND o.ordinal = f.ordinal""",
    """INSERT INTO timelines_stagebatch (stage_run_id, ordinal, payload, created_at)
    SELECT s.id, b.ordinal, b.payload, now() FROM pair p JOIN timelines_stagerun f ON f.case_run_id = p.from_case_run
    JOIN timelines_stagebatch b ON b.stage_run_id = f.id
    JOIN timelines_stagerun s ON s.case_run_id = p.case_run AND s.stage = f.stage""",
    "UPDATE timelines_inventory i SET sealed_at = now() FROM pair p WHERE i.id = p.inventory",
    """UPDATE timelines_stagerun s SET state = 'succeeded', attempt = 1, started_at = now(), finished_at = now()
    FROM pair p WHERE s.case_run_id = p.case_run""",
)  # fmt: skip

_REFERENCE = (
    f"""INSERT INTO timelines_timeline (public_id, encounter_id, inventory_id, source, kind, alternative, reasoning, protocol, created_at)
    SELECT {_ID}, t.encounter_id, t.inventory_id, 'reference', 'reference', 1, '', 'benchmark', now()
    FROM timelines_timeline t JOIN timelines_caserun c ON c.id = t.case_run_id
    WHERE c.run_id = %(run)s AND t.kind = 'revised' AND t.alternative = 1 AND c.id BETWEEN %(first)s AND %(last)s""",
    """INSERT INTO timelines_entry (timeline_id, occurrence_id, event, "time", lower, upper, known, context, decided_by, reason,
        adopted_rows, near_rows, link)
    SELECT r.id, e.occurrence_id, '', e.time + o.ordinal %% 3, NULL, NULL, e.known, e.context, '', '', e.adopted_rows, '{}', ''
    FROM timelines_timeline t JOIN timelines_caserun c ON c.id = t.case_run_id
    JOIN timelines_timeline r ON r.encounter_id = t.encounter_id AND r.kind = 'reference'
    JOIN timelines_entry e ON e.timeline_id = t.id JOIN timelines_occurrence o ON o.id = e.occurrence_id
    WHERE c.run_id = %(run)s AND t.kind = 'revised' AND t.alternative = 1 AND c.id BETWEEN %(first)s AND %(last)s""",
)  # fmt: skip


def store_for_all(run: Run, stays: int, kinds: int) -> None:
    """Store the results of the first stays for all others of the run.

    The run has done the first `kinds` stays, one with each note.
    """
    from config.database_roles import connect_as_owner  # reads the settings

    values = {"run": run.pk, "kinds": kinds, "whole": stays <= WHOLE}
    with connect_as_owner():
        execute(_CHOOSE, values)
        for first in range(0, stays, BATCH):
            with transaction.atomic():
                for step in _STEPS:
                    execute(step, {**values, "first": first, "last": first + BATCH - 1})


def add_references(run: Run) -> None:
    """Add a reference of each stay: the revised times, some moved by hours."""
    keys = list(run.cases.order_by("pk").values_list("pk", flat=True))
    for at in range(0, len(keys), BATCH):
        part = keys[at : at + BATCH]
        with transaction.atomic():
            for step in _REFERENCE:
                execute(step, {"run": run.pk, "first": part[0], "last": part[-1]})


def execute(statement: str, values: Mapping[str, int]) -> None:
    """Execute one statement."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
