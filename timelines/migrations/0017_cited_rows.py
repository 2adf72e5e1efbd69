"""Rows that revision saw belong to the case run, and any of them may be cited.

A row of the stay's skeleton has no candidate. A start brings its stop, which is a row of another
series.
"""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

FILL = """
UPDATE timelines_evidence v SET case_run_id = q.case_run_id
FROM timelines_candidate c JOIN timelines_query q ON q.id = c.query_id WHERE c.id = v.candidate_id;
SET CONSTRAINTS ALL IMMEDIATE;
"""

ENTRIES = """
CREATE OR REPLACE FUNCTION timelines_entries_refer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM changed e JOIN timelines_timeline t ON t.id = e.timeline_id
        LEFT JOIN timelines_occurrence o ON o.id = e.occurrence_id
        WHERE o.inventory_id IS DISTINCT FROM t.inventory_id
    ) THEN
        PERFORM timelines_refuse('entry_of_own_inventory', 'an entry names an occurrence that is not of its timeline''s inventory');
    END IF;
    IF EXISTS (
        SELECT 1 FROM changed e JOIN timelines_timeline t ON t.id = e.timeline_id CROSS JOIN LATERAL unnest(e.context) AS c(uid4)
        WHERE NOT EXISTS (SELECT 1 FROM timelines_occurrence o WHERE o.inventory_id = t.inventory_id AND o.uid4 = c.uid4)
    ) THEN
        PERFORM timelines_refuse('context_of_own_inventory', 'a context names a UID that is not of its timeline''s inventory');
    END IF;
    IF EXISTS (
        SELECT 1 FROM changed e JOIN timelines_timeline t ON t.id = e.timeline_id JOIN ehr_encounter n ON n.id = t.encounter_id
        CROSS JOIN LATERAL unnest(e.adopted_rows || e.near_rows) AS a(row_index)
        WHERE CASE WHEN t.case_run_id IS NULL THEN NOT EXISTS (
            SELECT 1 FROM ehr_sourcerow r WHERE r.dataset_id = n.dataset_id AND r.encounter_id = n.id AND r.row_index = a.row_index
        ) ELSE e.occurrence_id IS NULL OR NOT EXISTS (
            SELECT 1 FROM timelines_evidence v WHERE v.case_run_id = t.case_run_id AND v.row_index = a.row_index
        ) END
    ) THEN
        PERFORM timelines_refuse('adopted_row_is_evidence', 'a time rests on a row that its revision did not see');
    END IF;
    RETURN NULL;
END $$;
"""

EVIDENCE = """
CREATE OR REPLACE FUNCTION timelines_evidence_refers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM changed v JOIN timelines_caserun r ON r.id = v.case_run_id WHERE r.encounter_id <> v.encounter_id
    ) OR EXISTS (
        SELECT 1 FROM changed v JOIN timelines_candidate c ON c.id = v.candidate_id JOIN timelines_query q ON q.id = c.query_id
        JOIN ehr_eventseries s ON s.id = c.series_id
        WHERE s.encounter_id <> v.encounter_id OR q.case_run_id <> v.case_run_id
        OR NOT (v.row_index = ANY (s.row_indices) OR (
            s.event ~ ':(start|end|stop)$'
            AND regexp_replace(s.event, ':(start|end|stop)$', '') = regexp_replace(v.event, ':(start|end|stop)$', '')
            AND EXISTS (
                SELECT 1 FROM ehr_eventseries p
                WHERE p.encounter_id = v.encounter_id AND p.event = v.event AND v.row_index = ANY (p.row_indices)
            )
        ))
    ) THEN
        PERFORM timelines_refuse('evidence_of_own_series', 'evidence names a row that is not of its candidate''s series');
    END IF;
    RETURN NULL;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("timelines", "0016_occurrence_polarities")]

    operations = [
        migrations.AddField(
            "evidence",
            "case_run",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="evidence",
                to="timelines.caserun",
            ),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.AlterField(
            "evidence",
            "case_run",
            models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="evidence",
                to="timelines.caserun",
            ),
        ),
        migrations.AlterField(
            "evidence",
            "candidate",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="evidence",
                to="timelines.candidate",
            ),
        ),
        migrations.AddConstraint(
            "evidence",
            models.UniqueConstraint(
                condition=Q(candidate__isnull=True),
                fields=("case_run", "row_index"),
                name="row_once_in_skeleton",
            ),
        ),
        migrations.AddField(
            "entry",
            "near_rows",
            django.contrib.postgres.fields.ArrayField(
                base_field=models.IntegerField(), blank=True, default=list, size=None
            ),
        ),
        migrations.AddField(
            "entry",
            "link",
            models.CharField(
                blank=True,
                choices=[
                    ("cited", "cited"),
                    ("inferred", "inferred"),
                    ("matched", "matched"),
                ],
                default="",
                max_length=10,
            ),
        ),
        migrations.AddField("timeline", "reasoning", models.TextField(blank=True, default="")),
        migrations.RunSQL(ENTRIES + EVIDENCE, migrations.RunSQL.noop),
    ]
