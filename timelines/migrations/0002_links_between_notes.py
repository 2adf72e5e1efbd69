"""Add links between the notes of a chart, and times before their groups had one."""

from pathlib import Path

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models
from django.db.models import CASCADE, PROTECT, Q

from accounts.ids import new_public_id

SQL = Path(__file__).with_name("sql")
DECISION = [
    ("id", models.BigAutoField(
        verbose_name="ID", primary_key=True, serialize=False, auto_created=True
    )),
    ("public_id", models.CharField(
        max_length=12, unique=True, default=new_public_id, editable=False
    )),
    ("reason", models.TextField(blank=True)),
    ("at", models.DateTimeField(auto_now_add=True)),
]  # fmt: skip


class Migration(migrations.Migration):
    dependencies = [
        ("timelines", "0001_schema"),
        ("ehr", "0002_notes_of_a_chart"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.CreateModel(
            name="OccurrenceLink",
            fields=[
                *DECISION,
                ("decided_by", models.CharField(
                    max_length=10, default="rules",
                    choices=[("rules", "rules"), ("model", "model"), ("person", "person")],
                )),
                ("inventory", models.ForeignKey(
                    "timelines.inventory", CASCADE, related_name="links"
                )),
                ("first", models.ForeignKey("timelines.occurrence", CASCADE, related_name="+")),
                ("second", models.ForeignKey("timelines.occurrence", CASCADE, related_name="+")),
                ("author", models.ForeignKey(
                    settings.AUTH_USER_MODEL, PROTECT, null=True, blank=True, related_name="links"
                )),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(decided_by="person", author__isnull=False)
                        | (~Q(decided_by="person") & Q(author__isnull=True)),
                        name="link_of_a_person_names_one",
                    ),
                    models.CheckConstraint(condition=~Q(reason=""), name="link_has_a_reason"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Unlinking",
            fields=[
                *DECISION,
                ("link", models.OneToOneField(
                    "timelines.occurrencelink", CASCADE, related_name="undone_by"
                )),
                ("author", models.ForeignKey(
                    settings.AUTH_USER_MODEL, PROTECT, related_name="unlinkings"
                )),
            ],
            options={"ordering": ["pk"]},
        ),
        migrations.CreateModel(
            name="OwnTime",
            fields=[
                ("time", models.FloatField(null=True)),
                ("lower", models.FloatField(null=True)),
                ("upper", models.FloatField(null=True)),
                ("known", models.BooleanField(null=True, default=False)),
                ("context", ArrayField(models.CharField(max_length=4), default=list, blank=True)),
                ("decided_by", models.TextField(blank=True)),
                ("reason", models.TextField(blank=True)),
                ("adopted_rows", ArrayField(models.IntegerField(), default=list, blank=True)),
                ("near_rows", ArrayField(models.IntegerField(), default=list, blank=True)),
                ("link", models.CharField(
                    max_length=10, blank=True, default="",
                    choices=[
                        ("cited", "cited"), ("inferred", "inferred"), ("matched", "matched"),
                    ],
                )),
                ("confidence", models.FloatField(null=True)),
                ("entry", models.OneToOneField(
                    "timelines.entry", CASCADE,
                    primary_key=True, serialize=False, related_name="own",
                )),
            ],
        ),
        migrations.RunSQL((SQL / "links.sql").read_text(encoding="utf-8")),
    ]
