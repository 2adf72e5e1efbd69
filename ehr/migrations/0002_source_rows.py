"""The partitioned table of source rows, which COPY fills; see ehr/partitions.py for the partitions of a dataset."""

from django.db import migrations, models

CREATE = """
ALTER TABLE ehr_encounter ADD CONSTRAINT ehr_encounter_in_dataset UNIQUE (dataset_id, id);

CREATE TABLE ehr_sourcerow (
    dataset_id bigint NOT NULL,
    encounter_id bigint NOT NULL,
    row_index integer NOT NULL CHECK (row_index >= 0),
    "time" timestamp,
    result_time timestamp,
    event text NOT NULL CHECK (event <> ''),
    value text NOT NULL DEFAULT '',
    numeric_value double precision,
    unit text NOT NULL DEFAULT '',
    source text NOT NULL DEFAULT '',
    time_kind text NOT NULL CHECK (time_kind IN (
        'collection', 'result', 'order', 'administration', 'performed', 'charted', 'administrative', 'unknown')),
    PRIMARY KEY (dataset_id, encounter_id, row_index),
    CONSTRAINT ehr_sourcerow_of_encounter FOREIGN KEY (dataset_id, encounter_id)
        REFERENCES ehr_encounter (dataset_id, id) ON DELETE CASCADE
) PARTITION BY LIST (dataset_id);
"""

DROP = """
DROP TABLE ehr_sourcerow;
ALTER TABLE ehr_encounter DROP CONSTRAINT ehr_encounter_in_dataset;
"""


class Migration(migrations.Migration):
    dependencies = [("ehr", "0001_initial")]

    operations = [
        migrations.RunSQL(CREATE, DROP),
        # Django has to know that the table is there (the test runner empties it with the others); it never makes or changes it.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterModelOptions(name="sourcerow", options={"ordering": ["row_index"]}),
                migrations.AddField(
                    model_name="sourcerow",
                    name="dataset",
                    field=models.ForeignKey(
                        db_index=False, on_delete=models.deletion.DO_NOTHING, related_name="+", to="ehr.dataset"
                    ),
                ),
                migrations.AddField(
                    model_name="sourcerow",
                    name="encounter",
                    field=models.ForeignKey(
                        db_index=False, on_delete=models.deletion.DO_NOTHING, related_name="rows", to="ehr.encounter"
                    ),
                ),
            ]
        ),
    ]
