"""Create the tables of model calls, and with `sql/` what only SQL can say.

A database with all of the replaced migrations counts as migrated.
"""

from pathlib import Path

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models
from django.db.models import PROTECT, Q

from accounts.ids import new_public_id

SQL = Path(__file__).with_name("sql")
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
        ("llm_runtime", "0001_initial"),
        ("llm_runtime", "0002_calls_are_append_only"),
        ("llm_runtime", "0003_post_of_the_exchange"),
        ("llm_runtime", "0004_endpoint_shares"),
        ("llm_runtime", "0005_served_tokens"),
        ("llm_runtime", "0006_remove_endpoint_shares"),
    ]
    dependencies = []

    operations = [
        migrations.CreateModel(
            name="ModelRequestText",
            fields=[
                ("sha256", models.CharField(primary_key=True, max_length=64, serialize=False)),
                ("body", models.TextField()),
            ],
        ),
        migrations.CreateModel(
            name="ModelCall",
            fields=[
                ID,
                PUBLIC_ID,
                ("owner_type", models.CharField(max_length=60)),
                ("owner_id", models.CharField(max_length=40)),
                ("role", models.CharField(max_length=30)),
                ("model", models.CharField(max_length=200)),
                ("endpoint", models.CharField(max_length=200, blank=True)),
                ("prompt", models.CharField(max_length=100)),
                ("prompt_sha256", models.CharField(max_length=64)),
                ("request", models.ForeignKey(
                    "llm_runtime.modelrequesttext", PROTECT, db_column="request_sha256",
                    related_name="calls",
                )),
                ("part", models.CharField(max_length=300)),
                ("covers", ArrayField(models.CharField(max_length=40), blank=True, default=list)),
                ("parameters", models.JSONField(default=dict)),
                ("seed", models.BigIntegerField(null=True)),
                ("attempt", models.PositiveSmallIntegerField()),
                ("reused", models.BooleanField(default=False)),
                ("tokens_in", models.PositiveIntegerField(null=True)),
                ("tokens_cached", models.PositiveIntegerField(null=True)),
                ("tokens_out", models.PositiveIntegerField(null=True)),
                ("seconds", models.FloatField()),
                ("finish_reason", models.CharField(max_length=40, blank=True)),
                ("response", models.TextField(null=True)),
                ("outcome", models.CharField(
                    max_length=20,
                    choices=[
                        ("accepted", "accepted"), ("rejected", "refused by the check"),
                        ("cut", "cut off at its token limit"), ("too_long", "prompt too long"),
                        ("schema_refused", "schema refused by the server"),
                        ("refused", "request refused by the server"), ("unavailable", "no reply"),
                        ("pending", "waits for an answer from outside"),
                        ("answered", "answered from outside, not checked yet"),
                        ("failed", "failed"),
                    ],
                )),
                ("reasons", ArrayField(models.TextField(), blank=True, default=list)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["pk"],
                "indexes": [
                    models.Index(fields=["owner_type", "owner_id"], name="model_call_by_owner"),
                    models.Index(fields=["model", "-created_at"], name="model_call_latest"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(
                            outcome__in=[
                                "accepted", "rejected", "cut", "too_long", "schema_refused",
                                "refused", "unavailable", "pending", "answered", "failed",
                            ]
                        ),
                        name="model_call_outcome_valid",
                    ),
                    models.CheckConstraint(
                        condition=~Q(outcome="accepted")
                        | Q(reasons__len=0, response__isnull=False),
                        name="model_call_accepted_has_reply",
                    ),
                    models.CheckConstraint(
                        condition=Q(attempt__gte=1), name="model_call_attempts_count_from_one"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ServedTokens",
            fields=[
                ID,
                ("model", models.CharField(max_length=200)),
                ("of", models.CharField(max_length=64)),
                ("tokens", models.PositiveIntegerField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("model", "of"), name="served_tokens_once"),
                ],
            },
        ),
        migrations.RunSQL((SQL / "calls.sql").read_text(encoding="utf-8")),
    ]
