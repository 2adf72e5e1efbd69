"""Let reviewers search, write notes and practise all steps."""

from django.db import migrations, models
from django.db.models import CASCADE, RESTRICT, Q

from accounts.ids import new_public_id

ANSWERS = [
    ("A", "A"),
    ("B", "B"),
    ("BOTH", "Both"),
    ("NEITHER", "Neither"),
    ("UNCLEAR", "Unclear"),
    ("NOT_A_FINDING", "Should not have been raised"),
]
KINDS = [
    ("answer", "Answer"),
    ("amendment", "Amendment"),
    ("withdrawal", "Withdrawal"),
    ("late", "Late answer"),
    ("sign", "Signature"),
    ("unsign", "Signature withdrawn"),
    ("guess", "Blinding check"),
    ("search", "Search for differences"),
]


def public_id() -> models.CharField:
    return models.CharField(
        default=new_public_id, editable=False, max_length=12, unique=True
    )


def key() -> models.BigAutoField:
    return models.BigAutoField(
        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
    )


class Migration(migrations.Migration):
    dependencies = [("adjudication", "0006_study_reports")]

    operations = [
        migrations.AddField("assignment", "due_on", models.DateField(blank=True, null=True)),
        migrations.AddField("practiceanswer", "undone", models.BooleanField(default=False)),
        migrations.AddField(
            "practiceanswer", "skipped_at", models.DateTimeField(blank=True, null=True)
        ),
        migrations.AddField("practiceanswer", "flagged", models.BooleanField(default=False)),
        migrations.AlterField(
            "practiceanswer",
            "answer",
            models.CharField(blank=True, choices=ANSWERS, max_length=15),
        ),
        migrations.AlterField(
            "decision", "kind", models.CharField(choices=KINDS, max_length=12)
        ),
        migrations.RemoveConstraint("decision", "decision_is_about_an_item"),
        migrations.AddConstraint(
            "decision",
            models.CheckConstraint(
                condition=Q(kind__in=["sign", "unsign", "guess", "search"])
                | Q(item__isnull=False),
                name="decision_is_about_an_item",
            ),
        ),
        migrations.CreateModel(
            name="PairSearch",
            fields=[
                ("id", key()),
                ("public_id", public_id()),
                ("draft", models.JSONField(blank=True, default=list)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("assignment", models.ForeignKey(
                    "adjudication.assignment", CASCADE, related_name="searches"
                )),
                ("game", models.ForeignKey(
                    "adjudication.game", RESTRICT, related_name="searches"
                )),
                ("submission", models.OneToOneField(
                    "adjudication.decision", CASCADE, blank=True, null=True,
                    related_name="search",
                )),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("assignment", "game"), name="search_once_per_pair"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ItemNote",
            fields=[
                ("id", key()),
                ("public_id", public_id()),
                ("text", models.TextField()),
                ("token", models.CharField(max_length=64)),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("assignment", models.ForeignKey(
                    "adjudication.assignment", CASCADE, related_name="notes"
                )),
                ("item", models.ForeignKey(
                    "adjudication.packetitem", CASCADE, related_name="notes"
                )),
            ],
            options={
                "ordering": ["at", "pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("assignment", "token"), name="note_token_once"
                    )
                ],
            },
        ),
    ]
