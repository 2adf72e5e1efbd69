"""Entries of a run's timeline that has no inventory (baselines, revisions without identifiers) stay as they were stored, like sealed ones.

They go only with their timeline; that is judged at the end of the transaction.
"""

from django.db import migrations

BODY = """
CREATE OR REPLACE FUNCTION timelines_timeline_is_sealed(timeline bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT 1 FROM timelines_timeline t LEFT JOIN timelines_inventory i ON i.id = t.inventory_id
        WHERE t.id = timeline AND (i.sealed_at IS NOT NULL{more})
    )
$$;
"""


class Migration(migrations.Migration):
    dependencies = [("timelines", "0008_run_models")]

    operations = [
        migrations.RunSQL(
            BODY.replace("{more}", " OR (t.inventory_id IS NULL AND t.case_run_id IS NOT NULL)"),
            BODY.replace("{more}", ""),
        )
    ]
