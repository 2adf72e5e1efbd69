"""Times without an occurrence may cite rows that their revision saw (variant `no_uid`)."""

from django.db import migrations

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
        ) ELSE NOT EXISTS (
            SELECT 1 FROM timelines_evidence v WHERE v.case_run_id = t.case_run_id AND v.row_index = a.row_index
        ) END
    ) THEN
        PERFORM timelines_refuse('adopted_row_is_evidence', 'a time rests on a row that its revision did not see');
    END IF;
    RETURN NULL;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("timelines", "0017_cited_rows")]

    operations = [migrations.RunSQL(ENTRIES, migrations.RunSQL.noop)]
