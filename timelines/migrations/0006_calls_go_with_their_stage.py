"""What a stage asked of language models, and what they answered, goes when the stage goes (its run, case or dataset is deleted)."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION timelines_forget_calls() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM llm_runtime_forget('timelines.stagerun', (SELECT array_agg(id::text) FROM gone));
    RETURN NULL;
END
$$;
CREATE TRIGGER timelines_stage_calls_go AFTER DELETE ON timelines_stagerun
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION timelines_forget_calls();
"""

BACKWARD = """
DROP TRIGGER timelines_stage_calls_go ON timelines_stagerun;
DROP FUNCTION timelines_forget_calls();
"""


class Migration(migrations.Migration):
    dependencies = [("timelines", "0005_rounds_and_outages"), ("llm_runtime", "0002_calls_are_append_only")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
