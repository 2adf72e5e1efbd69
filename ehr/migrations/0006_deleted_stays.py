"""Stays of deleted cases, append-only: the database refuses UPDATE, DELETE and TRUNCATE."""

from django.db import migrations, models

FORWARD = """
CREATE FUNCTION ehr_deleted_stay_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'deleted stays are append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER ehr_deleted_stay_no_change BEFORE UPDATE OR DELETE ON ehr_deletedstay
    FOR EACH STATEMENT EXECUTE FUNCTION ehr_deleted_stay_refuse();
CREATE TRIGGER ehr_deleted_stay_no_truncate BEFORE TRUNCATE ON ehr_deletedstay
    FOR EACH STATEMENT EXECUTE FUNCTION ehr_deleted_stay_refuse();
"""

BACKWARD = """
DROP TRIGGER ehr_deleted_stay_no_truncate ON ehr_deletedstay;
DROP TRIGGER ehr_deleted_stay_no_change ON ehr_deletedstay;
DROP FUNCTION ehr_deleted_stay_refuse();
"""


class Migration(migrations.Migration):
    dependencies = [("ehr", "0005_same_stay")]

    operations = [
        migrations.CreateModel(
            name="DeletedStay",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("case", models.CharField(max_length=12)),
                ("mark_sha256", models.CharField(max_length=64)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("mark_sha256", "case"), name="deleted_stay_once")],
            },
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
