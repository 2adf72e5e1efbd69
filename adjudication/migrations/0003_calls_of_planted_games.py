"""A judge's calls about planted differences are deleted with the dataset whose notes they quote."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION adjudication_forget_planted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM llm_runtime_forget('adjudication.planted', ARRAY(SELECT public_id::text FROM gone));
    RETURN NULL;
END $$;
CREATE TRIGGER adjudication_forget_planted AFTER DELETE ON ehr_dataset
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION adjudication_forget_planted();
"""

BACKWARD = """
DROP TRIGGER adjudication_forget_planted ON ehr_dataset;
DROP FUNCTION adjudication_forget_planted();
"""


class Migration(migrations.Migration):
    dependencies = [("adjudication", "0002_invariants"), ("ehr", "0002_source_rows")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
