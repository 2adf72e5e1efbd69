"""Create the tables of imported records, and with `sql/` what only SQL can say.

A database with all of the replaced migrations counts as migrated. The dependencies name replaced
ones, so that Django refuses a database that has only some of them.
"""

from pathlib import Path

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models
from django.db.models import CASCADE, DO_NOTHING, PROTECT, SET_NULL, F, Q
from pgvector.django import VectorExtension, VectorField

from accounts.ids import new_public_id
from ehr.fields import NaiveDateTimeField

SQL = Path(__file__).with_name("sql")
TOPICS = ("source_rows", "deleted_stays", "search")
ID = (
    "id",
    models.BigAutoField(verbose_name="ID", primary_key=True, serialize=False, auto_created=True),
)
PUBLIC_ID = (
    "public_id",
    models.CharField(max_length=12, unique=True, default=new_public_id, editable=False),
)


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("ehr", "0001_initial"),
        ("ehr", "0002_source_rows"),
        ("ehr", "0003_partitions_by_function"),
        ("ehr", "0004_rejections_by_part"),
        ("ehr", "0005_same_stay"),
        ("ehr", "0006_deleted_stays"),
        ("ehr", "0007_headlines"),
        ("ehr", "0008_note_words"),
    ]
    dependencies = [
        ("accounts", "0005_notifications"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        VectorExtension(),
        migrations.CreateModel(
            name="Dataset",
            fields=[
                ID,
                PUBLIC_ID,
                ("study", models.ForeignKey("accounts.study", PROTECT, related_name="datasets")),
                ("name", models.CharField(max_length=200)),
                ("format", models.CharField(max_length=20)),
                ("licence", models.TextField(blank=True)),
                ("state", models.CharField(
                    max_length=20, default="importing",
                    choices=[
                        ("importing", "Importing"), ("ready", "Ready"),
                        ("incomplete", "Imported with errors"),
                    ],
                )),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("study", "name"), name="dataset_name_once_per_study"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Encounter",
            fields=[
                ID,
                PUBLIC_ID,
                ("dataset", models.ForeignKey("ehr.dataset", CASCADE, related_name="encounters")),
                ("case_id", models.CharField(max_length=100)),
                ("subject_key", models.CharField(max_length=100, blank=True)),
                ("title", models.CharField(max_length=500, blank=True)),
                ("admitted_at", NaiveDateTimeField()),
                ("discharged_at", NaiveDateTimeField(blank=True, null=True)),
                ("anchor_kind", models.CharField(
                    max_length=20, default="admission",
                    choices=[
                        ("admission", "Hospital admission"),
                        ("presentation", "Earliest documented presentation"),
                    ],
                )),
                ("headline", models.CharField(max_length=300, blank=True)),
                ("unit", models.CharField(max_length=100, blank=True)),
                ("source_sha256", models.CharField(max_length=64, blank=True)),
                ("row_count", models.PositiveIntegerField(default=0)),
                ("invalid_time_count", models.PositiveIntegerField(default=0)),
            ],
            options={
                "ordering": ["case_id"],
                "indexes": [
                    models.Index(fields=["case_id"], name="encounter_by_case_id"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("dataset", "case_id"), name="case_once_per_dataset"
                    ),
                    models.CheckConstraint(
                        condition=Q(discharged_at__isnull=True)
                        | Q(discharged_at__gte=F("admitted_at")),
                        name="discharge_not_before_admission",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DeletedStay",
            fields=[
                ID,
                ("case", models.CharField(max_length=12)),
                ("mark_sha256", models.CharField(max_length=64)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("mark_sha256", "case"), name="deleted_stay_once"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Note",
            fields=[
                ID,
                ("encounter", models.ForeignKey("ehr.encounter", CASCADE, related_name="notes")),
                ("kind", models.CharField(max_length=40, default="discharge summary")),
                ("text", models.TextField()),
                ("sha256", models.CharField(max_length=64)),
                ("charted_at", NaiveDateTimeField(blank=True, null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("encounter", "sha256"), name="note_once_per_encounter"
                    ),
                ],
            },
        ),
        # `source_rows.sql` creates the table. Django only has to know it.
        migrations.SeparateDatabaseAndState(state_operations=[
            migrations.CreateModel(
                name="SourceRow",
                fields=[
                    ("pk", models.CompositePrimaryKey(
                        "dataset_id", "encounter_id", "row_index", primary_key=True, blank=True,
                        editable=False, serialize=False,
                    )),
                    ("dataset", models.ForeignKey(
                        "ehr.dataset", DO_NOTHING, related_name="+", db_index=False
                    )),
                    ("encounter", models.ForeignKey(
                        "ehr.encounter", DO_NOTHING, related_name="rows", db_index=False
                    )),
                    ("row_index", models.IntegerField()),
                    ("time", NaiveDateTimeField(null=True)),
                    ("result_time", NaiveDateTimeField(null=True)),
                    ("event", models.TextField()),
                    ("value", models.TextField(blank=True)),
                    ("numeric_value", models.FloatField(null=True)),
                    ("unit", models.TextField(blank=True)),
                    ("source", models.TextField(blank=True)),
                    ("time_kind", models.TextField()),
                ],
                options={
                    "db_table": "ehr_sourcerow",
                    "ordering": ["row_index"],
                },
            ),
        ]),
        migrations.CreateModel(
            name="EventSeries",
            fields=[
                ID,
                ("encounter", models.ForeignKey("ehr.encounter", CASCADE, related_name="series")),
                ("event", models.TextField()),
                ("summary", models.TextField()),
                ("row_indices", ArrayField(models.IntegerField())),
                ("count", models.PositiveIntegerField()),
                ("first", NaiveDateTimeField(null=True)),
                ("last", NaiveDateTimeField(null=True)),
                ("priority", models.PositiveSmallIntegerField()),
            ],
            options={
                "ordering": ["priority", "-count", "event"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("encounter", "event"), name="series_once_per_encounter"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SeriesEmbedding",
            fields=[
                ID,
                ("series", models.ForeignKey(
                    "ehr.eventseries", CASCADE, related_name="embeddings"
                )),
                ("encounter", models.ForeignKey(
                    "ehr.encounter", CASCADE, related_name="+", db_index=False
                )),
                ("model", models.CharField(max_length=200)),
                ("vector", VectorField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["encounter", "model"], name="embedding_by_encounter"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("series", "model"), name="one_vector_per_series_and_model"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RejectedRow",
            fields=[
                ID,
                ("dataset", models.ForeignKey("ehr.dataset", CASCADE, related_name="rejected")),
                ("case_id", models.CharField(max_length=100, blank=True)),
                ("file", models.TextField()),
                ("line", models.BigIntegerField(null=True)),
                ("field", models.TextField(blank=True)),
                ("reason", models.TextField()),
                ("raw", models.TextField(blank=True)),
                ("part", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["dataset", "part"], name="rejected_by_part"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ImportedPart",
            fields=[
                ID,
                ("dataset", models.ForeignKey("ehr.dataset", CASCADE, related_name="parts")),
                ("key", models.TextField()),
                ("sha256", models.CharField(max_length=64)),
                ("rows", models.BigIntegerField(default=0)),
                ("rejected", models.BigIntegerField(default=0)),
                ("lines", models.BigIntegerField(default=0)),
                ("left_out", models.BigIntegerField(default=0)),
                ("finished_at", models.DateTimeField(auto_now=True)),
                ("imported_by", models.ForeignKey(
                    settings.AUTH_USER_MODEL, SET_NULL, null=True, related_name="+"
                )),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("dataset", "key"), name="import_part_once_per_dataset"
                    ),
                ],
            },
        ),
        *(
            migrations.RunSQL((SQL / f"{topic}.sql").read_text(encoding="utf-8"))
            for topic in TOPICS
        ),
    ]
