"""The words of each mention, for search, as for notes (migration 0008 of ehr).

`mention_key` is the same for mentions that differ in case alone: they share a vector.
"""

from django.db import migrations

FORWARD = """
ALTER TABLE timelines_occurrence
    ADD COLUMN words tsvector GENERATED ALWAYS AS (
        to_tsvector('pg_catalog.simple', left(mention, 30000)) || to_tsvector('pg_catalog.english', left(mention, 30000))
    ) STORED,
    ADD COLUMN mention_key text GENERATED ALWAYS AS (md5(lower(mention))) STORED;
CREATE INDEX occurrence_by_words ON timelines_occurrence USING gin (words);
CREATE INDEX occurrence_by_mention ON timelines_occurrence (mention_key);
"""
BACK = "ALTER TABLE timelines_occurrence DROP COLUMN words, DROP COLUMN mention_key;"


class Migration(migrations.Migration):
    dependencies = [("timelines", "0021_story_pins"), ("ehr", "0008_note_words")]
    operations = [migrations.RunSQL(FORWARD, BACK)]
