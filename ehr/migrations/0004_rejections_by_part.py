from django.db import migrations, models

#: Rejections from before are assigned to their case (folder "x" is part "case:x") or to their file without its ending.
ASSIGN = """
UPDATE ehr_rejectedrow r SET part = CASE d.format
    WHEN 'cases' THEN 'case:' || split_part(r.file, '/', 1)
    WHEN 'mimic_iv' THEN regexp_replace(r.file, '\\.csv(\\.gz)?$', '')
    ELSE r.file END
FROM ehr_dataset d WHERE d.id = r.dataset_id;
"""


class Migration(migrations.Migration):
    dependencies = [("ehr", "0003_partitions_by_function")]

    operations = [
        migrations.AddField(model_name="importedpart", name="left_out", field=models.BigIntegerField(default=0)),
        migrations.AddField(model_name="importedpart", name="lines", field=models.BigIntegerField(default=0)),
        migrations.AddField(model_name="rejectedrow", name="part", field=models.TextField(blank=True)),
        migrations.AddIndex(model_name="rejectedrow", index=models.Index(fields=["dataset", "part"], name="rejected_by_part")),
        migrations.RunSQL(ASSIGN, migrations.RunSQL.noop),
    ]
