"""Create the tables of judging and review, and with `sql/` what only SQL can say.

A database with all of the replaced migrations counts as migrated. The dependencies name replaced
ones, so that Django refuses a database that has only some of them.
"""

from pathlib import Path

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models
from django.db.models import CASCADE, DO_NOTHING, PROTECT, RESTRICT, SET_NULL, F, Q
from django.utils.timezone import now

from accounts.ids import new_public_id

SQL = Path(__file__).with_name("sql")
TOPICS = ("refuse", "judging", "packets", "decisions", "counts")
ID = (
    "id",
    models.BigAutoField(verbose_name="ID", primary_key=True, serialize=False, auto_created=True),
)
PUBLIC_ID = (
    "public_id",
    models.CharField(max_length=12, unique=True, default=new_public_id, editable=False),
)
#: The columns of every queue (`jobs.models.ClaimableJob`).
JOB = [
    ("state", models.CharField(
        max_length=20, default="queued",
        choices=[
            ("blocked", "Waits for an earlier step"), ("queued", "Queued"), ("running", "Running"),
            ("succeeded", "Done"), ("failed", "Failed"), ("cancelled", "Cancelled"),
        ],
    )),
    ("attempt", models.PositiveSmallIntegerField(default=0)),
    ("max_attempts", models.PositiveSmallIntegerField(default=3)),
    ("outages", models.PositiveSmallIntegerField(default=0)),
    ("fence", models.BigIntegerField(default=0)),
    ("worker", models.CharField(max_length=200, blank=True)),
    ("queued_at", models.DateTimeField(default=now)),
    ("not_before", models.DateTimeField(blank=True, null=True)),
    ("hinted_at", models.DateTimeField(blank=True, null=True)),
    ("started_at", models.DateTimeField(blank=True, null=True)),
    ("heartbeat_at", models.DateTimeField(blank=True, null=True)),
    ("lease_expires_at", models.DateTimeField(blank=True, null=True)),
    ("finished_at", models.DateTimeField(blank=True, null=True)),
    ("cancel_requested", models.BooleanField(default=False)),
    ("reasons", ArrayField(models.TextField(), blank=True, default=list)),
    ("progress", models.JSONField(blank=True, default=dict)),
]


def job_rules(table):
    """Return the rules of every queue."""
    return [
        models.CheckConstraint(
            condition=Q(
                state__in=["blocked", "queued", "running", "succeeded", "failed", "cancelled"]
            ),
            name=f"{table}_state_valid",
        ),
        models.CheckConstraint(
            condition=~Q(state="running") | Q(lease_expires_at__isnull=False),
            name=f"{table}_running_has_lease",
        ),
        models.CheckConstraint(
            condition=~Q(cancel_requested=True, state__in=["blocked", "queued"]),
            name=f"{table}_cancelled_does_not_wait",
        ),
    ]


class Migration(migrations.Migration):
    initial = True
    replaces = [
        ("adjudication", "0001_judging_and_review"),
        ("adjudication", "0002_invariants"),
        ("adjudication", "0003_calls_of_planted_games"),
        ("adjudication", "0004_end_of_chain"),
        ("adjudication", "0005_cancelled_jobs_do_not_wait"),
        ("adjudication", "0006_outcome_belongs_to_its_end"),
        ("adjudication", "0007_hint_index"),
        ("adjudication", "0008_sides_are_kept"),
        ("adjudication", "0009_judge_preparation"),
        ("adjudication", "0010_kept_counts"),
        ("adjudication", "0011_judged_in_part"),
    ]
    dependencies = [
        ("accounts", "0005_notifications"),
        ("llm_runtime", "0006_remove_endpoint_shares"),
        ("ehr", "0008_note_words"),
        ("timelines", "0028_further_references"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="JudgeRun",
            fields=[
                ID,
                PUBLIC_ID,
                ("study", models.ForeignKey("accounts.study", PROTECT, related_name="judge_runs")),
                ("label", models.CharField(max_length=200, blank=True)),
                ("sources", models.JSONField()),
                ("judge", models.CharField(max_length=30)),
                ("judge_name", models.CharField(max_length=200)),
                ("judge_version", models.CharField(max_length=64)),
                ("config", models.JSONField(default=dict)),
                ("language_models", models.JSONField(default=dict)),
                ("prompt_hashes", models.JSONField(default=dict)),
                ("code_revision", models.CharField(max_length=64, blank=True)),
                ("created_by", models.ForeignKey(
                    settings.AUTH_USER_MODEL, PROTECT, null=True, related_name="+"
                )),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("paused_at", models.DateTimeField(blank=True, null=True)),
                ("datasets", models.ManyToManyField("ehr.dataset", related_name="judge_runs")),
            ],
            options={"ordering": ["-created_at"]},
        ),
        migrations.CreateModel(
            name="Comparison",
            fields=[
                ID,
                PUBLIC_ID,
                ("encounter", models.ForeignKey(
                    "ehr.encounter", CASCADE, related_name="comparisons"
                )),
                ("first", models.ForeignKey(
                    "timelines.timeline", CASCADE, related_name="comparisons_as_first"
                )),
                ("second", models.ForeignKey(
                    "timelines.timeline", CASCADE, related_name="comparisons_as_second"
                )),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("first", "second"), name="comparison_once"),
                    models.CheckConstraint(
                        condition=~Q(first=F("second")), name="comparison_of_two"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Game",
            fields=[
                ID,
                *JOB,
                PUBLIC_ID,
                ("run", models.ForeignKey("adjudication.judgerun", CASCADE, related_name="games")),
                ("comparison", models.ForeignKey(
                    "adjudication.comparison", CASCADE, related_name="games"
                )),
                ("swapped", models.BooleanField(default=False)),
                ("seed", models.BigIntegerField()),
                ("a_is_first", models.BooleanField(null=True)),
                ("outcome", models.CharField(
                    max_length=10, blank=True,
                    choices=[("judged", "judged"), ("unjudged", "unjudged")],
                )),
                ("unjudged_reasons", ArrayField(models.TextField(), blank=True, default=list)),
                ("dropped_findings", models.PositiveIntegerField(default=0)),
                ("dropped_reasons", ArrayField(models.TextField(), blank=True, default=list)),
                ("input_sha256", models.CharField(max_length=64, blank=True)),
                ("series_supplied", models.PositiveIntegerField(null=True)),
                ("series_omitted", models.PositiveIntegerField(null=True)),
                ("rounds", models.PositiveSmallIntegerField(default=0)),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["state", "lease_expires_at"], name="adjudication_game_claim"
                    ),
                    models.Index(
                        fields=["hinted_at", "id"], condition=Q(state="queued"),
                        name="adjudication_game_hint",
                    ),
                    models.Index(fields=["run", "id"], name="game_in_order"),
                    models.Index(fields=["run", "state", "outcome", "id"], name="game_by_state"),
                    models.Index(
                        fields=["run"], condition=Q(dropped_findings__gt=0),
                        name="game_judged_in_part",
                    ),
                ],
                "constraints": [
                    *job_rules("adjudication_game"),
                    models.UniqueConstraint(
                        fields=("run", "comparison", "swapped"), name="game_once_per_run"
                    ),
                    models.CheckConstraint(
                        condition=~Q(state="succeeded") | ~Q(outcome=""),
                        name="done_game_has_outcome",
                    ),
                    models.CheckConstraint(
                        condition=Q(outcome="") | Q(a_is_first__isnull=False),
                        name="judged_game_has_sides",
                    ),
                    models.CheckConstraint(
                        condition=Q(outcome="")
                        | Q(outcome="judged", state__in=["running", "succeeded"])
                        | Q(outcome="unjudged", state__in=["running", "failed"]),
                        name="outcome_belongs_to_its_end",
                    ),
                    models.CheckConstraint(
                        condition=Q(dropped_findings=0) | Q(outcome="judged"),
                        name="only_judged_game_drops_findings",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="JudgePreparation",
            fields=[
                ID,
                *JOB,
                ("wanted", ArrayField(models.TextField(), blank=True, null=True)),
                ("total", models.PositiveIntegerField()),
                ("prepared", models.PositiveIntegerField(default=0)),
                ("cursor", models.TextField(blank=True)),
                ("run", models.OneToOneField(
                    "adjudication.judgerun", CASCADE, related_name="preparation"
                )),
                ("dataset_at", models.BigIntegerField(default=0)),
            ],
            options={"constraints": job_rules("adjudication_judgepreparation")},
        ),
        migrations.CreateModel(
            name="JudgeCount",
            fields=[
                ID,
                ("run", models.ForeignKey(
                    "adjudication.judgerun", DO_NOTHING, related_name="counts", db_constraint=False
                )),
                ("state", models.CharField(max_length=20, blank=True)),
                ("outcome", models.CharField(max_length=10, blank=True)),
                ("n", models.IntegerField()),
                ("moved_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Finding",
            fields=[
                ID,
                PUBLIC_ID,
                ("game", models.ForeignKey("adjudication.game", CASCADE, related_name="findings")),
                ("ordinal", models.PositiveIntegerField()),
                ("type", models.CharField(
                    max_length=20,
                    choices=[
                        ("VALUE", "VALUE"), ("TIMING", "TIMING"), ("A_ONLY", "A_ONLY"),
                        ("B_ONLY", "B_ONLY"), ("SHARED_UNSUPPORTED", "SHARED_UNSUPPORTED"),
                        ("DUPLICATE", "DUPLICATE"),
                    ],
                )),
                ("verdict", models.CharField(
                    max_length=10,
                    choices=[
                        ("A", "A"), ("B", "B"), ("BOTH", "BOTH"), ("NEITHER", "NEITHER"),
                        ("UNCLEAR", "UNCLEAR"),
                    ],
                )),
                ("polarity", models.CharField(
                    max_length=10, choices=[("present", "present"), ("absent", "absent")]
                )),
                ("a_event", models.TextField(null=True)),
                ("a_time", models.IntegerField(null=True)),
                ("b_event", models.TextField(null=True)),
                ("b_time", models.IntegerField(null=True)),
                ("a_row", models.PositiveIntegerField(null=True)),
                ("b_row", models.PositiveIntegerField(null=True)),
                ("a_entry", models.ForeignKey(
                    "timelines.entry", CASCADE, null=True, related_name="+"
                )),
                ("b_entry", models.ForeignKey(
                    "timelines.entry", CASCADE, null=True, related_name="+"
                )),
                ("note_evidence", models.TextField(null=True)),
                ("note_start", models.PositiveIntegerField(null=True)),
                ("note_end", models.PositiveIntegerField(null=True)),
                ("table_evidence", models.TextField(null=True)),
                ("series", models.ForeignKey(
                    "ehr.eventseries", SET_NULL, null=True, related_name="+"
                )),
                ("grounding", models.CharField(
                    max_length=10,
                    choices=[
                        ("NOTE", "NOTE"), ("TABLE", "TABLE"), ("BOTH", "BOTH"), ("NONE", "NONE"),
                    ],
                )),
                ("relation", models.CharField(
                    max_length=20, null=True,
                    choices=[("novel_event", "novel_event"), ("added_detail", "added_detail")],
                )),
                ("reason", models.TextField(blank=True)),
                ("flagged", models.BooleanField(default=False)),
                ("category", models.CharField(
                    max_length=20, blank=True,
                    choices=[
                        ("over_annotation", "over_annotation"),
                        ("false_duplicate", "false_duplicate"), ("wrong_time", "wrong_time"),
                        ("wrong_value", "wrong_value"), ("missed_positive", "missed_positive"),
                        ("missed_negative", "missed_negative"),
                        ("missed_recurrence", "missed_recurrence"),
                    ],
                )),
                ("charged_first", models.BooleanField(null=True)),
                ("subject_sha256", models.CharField(max_length=64, db_index=True)),
            ],
            options={
                "ordering": ["game_id", "ordinal"],
                "indexes": [
                    models.Index(fields=["type", "verdict"], name="finding_by_type"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("game", "ordinal"), name="finding_ordinal_once"
                    ),
                    models.CheckConstraint(
                        condition=~Q(type="SHARED_UNSUPPORTED") | Q(verdict="NEITHER"),
                        name="shared_unsupported_is_neither",
                    ),
                    models.CheckConstraint(
                        condition=~Q(type__in=["A_ONLY", "B_ONLY"])
                        | ~Q(verdict__in=["BOTH", "NEITHER"]),
                        name="one_sided_not_both_or_neither",
                    ),
                    models.CheckConstraint(
                        condition=Q(a_event__isnull=False, b_event__isnull=True, type="A_ONLY")
                        | Q(a_event__isnull=True, b_event__isnull=False, type="B_ONLY")
                        | (
                            Q(type="DUPLICATE")
                            & (
                                Q(a_event__isnull=True, b_event__isnull=False)
                                | Q(a_event__isnull=False, b_event__isnull=True)
                            )
                        )
                        | Q(
                            a_event__isnull=False, b_event__isnull=False,
                            type__in=["VALUE", "TIMING", "SHARED_UNSUPPORTED"],
                        ),
                        name="finding_sides_fit_type",
                    ),
                    models.CheckConstraint(
                        condition=Q(relation__isnull=False, type__in=["A_ONLY", "B_ONLY"])
                        | (~Q(type__in=["A_ONLY", "B_ONLY"]) & Q(relation__isnull=True)),
                        name="relation_iff_one_sided",
                    ),
                    models.CheckConstraint(
                        condition=(
                            Q(verdict__in=["A", "B"])
                            & ~Q(category="")
                            & Q(charged_first__isnull=False)
                        )
                        | (~Q(verdict__in=["A", "B"]) & Q(category="", charged_first__isnull=True)),
                        name="decisive_iff_charged",
                    ),
                    models.CheckConstraint(
                        condition=Q(note_end__isnull=True, note_start__isnull=True)
                        | Q(note_start__lt=F("note_end")),
                        name="quote_span_is_ordered",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Packet",
            fields=[
                ID,
                PUBLIC_ID,
                ("study", models.ForeignKey("accounts.study", PROTECT, related_name="packets")),
                ("label", models.CharField(max_length=200)),
                ("judge_run", models.ForeignKey(
                    "adjudication.judgerun", RESTRICT, related_name="packets"
                )),
                ("state", models.CharField(
                    max_length=10, default="draft",
                    choices=[("draft", "Draft"), ("open", "Open"), ("closed", "Closed")],
                )),
                ("reveal", models.CharField(
                    max_length=15, default="after_close",
                    choices=[("never", "Never"), ("after_close", "After the packet closes")],
                )),
                ("seed", models.BigIntegerField()),
                ("design", models.JSONField(default=dict)),
                ("drawn", models.JSONField(default=dict)),
                ("follows", models.ForeignKey(
                    "adjudication.packet", RESTRICT, blank=True, null=True,
                    related_name="followed_by",
                )),
                ("lease_minutes", models.PositiveIntegerField(default=30)),
                ("created_by", models.ForeignKey(
                    settings.AUTH_USER_MODEL, PROTECT, null=True, related_name="+"
                )),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("opened_at", models.DateTimeField(blank=True, null=True)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                ("chain_length", models.PositiveIntegerField(default=0)),
                ("chain_head", models.CharField(max_length=64, blank=True, default="")),
            ],
            options={
                "ordering": ["-created_at"],
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(state__in=["draft", "open", "closed"]),
                        name="packet_state_valid",
                    ),
                    models.CheckConstraint(
                        condition=Q(state="draft") | Q(opened_at__isnull=False),
                        name="opened_packet_has_time",
                    ),
                    models.CheckConstraint(
                        condition=Q(lease_minutes__gte=1), name="packet_lease_is_positive"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PacketItem",
            fields=[
                ID,
                PUBLIC_ID,
                ("packet", models.ForeignKey("adjudication.packet", CASCADE, related_name="items")),
                ("finding", models.ForeignKey(
                    "adjudication.finding", RESTRICT, related_name="items"
                )),
                ("ordinal", models.PositiveIntegerField()),
                ("stratum", models.CharField(max_length=30)),
                ("pairing", models.CharField(max_length=300)),
                ("quota", models.PositiveSmallIntegerField(default=1)),
                ("versions", models.JSONField(default=dict)),
            ],
            options={
                "ordering": ["packet_id", "ordinal"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("packet", "finding"), name="finding_once_per_packet"
                    ),
                    models.UniqueConstraint(fields=("packet", "ordinal"), name="item_ordinal_once"),
                    models.CheckConstraint(
                        condition=Q(quota__gte=1), name="item_quota_is_positive"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Assignment",
            fields=[
                ID,
                PUBLIC_ID,
                ("packet", models.ForeignKey(
                    "adjudication.packet", CASCADE, related_name="assignments"
                )),
                ("person", models.ForeignKey(
                    settings.AUTH_USER_MODEL, PROTECT, related_name="review_assignments"
                )),
                ("role", models.CharField(
                    max_length=15, default="reviewer",
                    choices=[("reviewer", "Reviewer"), ("adjudicator", "Adjudicator")],
                )),
                ("seed", models.BigIntegerField()),
                ("pairings", ArrayField(
                    models.CharField(max_length=300), blank=True, default=list
                )),
                ("practised_at", models.DateTimeField(blank=True, null=True)),
                ("signed_at", models.DateTimeField(blank=True, null=True)),
                ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("packet", "person"), name="person_once_per_packet"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ItemMark",
            fields=[
                ID,
                ("assignment", models.ForeignKey(
                    "adjudication.assignment", CASCADE, related_name="marks"
                )),
                ("item", models.ForeignKey(
                    "adjudication.packetitem", CASCADE, related_name="marks"
                )),
                ("skipped_at", models.DateTimeField(blank=True, null=True)),
                ("flagged", models.BooleanField(default=False)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("assignment", "item"), name="mark_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Decision",
            fields=[
                ID,
                PUBLIC_ID,
                ("packet", models.ForeignKey(
                    "adjudication.packet", CASCADE, related_name="decisions"
                )),
                ("sequence", models.PositiveIntegerField()),
                ("assignment", models.ForeignKey(
                    "adjudication.assignment", CASCADE, related_name="decisions"
                )),
                ("item", models.ForeignKey(
                    "adjudication.packetitem", CASCADE, blank=True, null=True,
                    related_name="decisions",
                )),
                ("kind", models.CharField(
                    max_length=12,
                    choices=[
                        ("answer", "Answer"), ("amendment", "Amendment"),
                        ("withdrawal", "Withdrawal"), ("late", "Late answer"),
                        ("sign", "Signature"), ("unsign", "Signature withdrawn"),
                        ("guess", "Blinding check"),
                    ],
                )),
                ("answer", models.CharField(
                    max_length=15, blank=True,
                    choices=[
                        ("A", "A"), ("B", "B"), ("BOTH", "Both"), ("NEITHER", "Neither"),
                        ("UNCLEAR", "Unclear"), ("NOT_A_FINDING", "Should not have been raised"),
                    ],
                )),
                ("own_time", models.FloatField(blank=True, null=True)),
                ("comment", models.TextField(blank=True)),
                ("flagged", models.BooleanField(default=False)),
                ("active_seconds", models.FloatField(blank=True, null=True)),
                ("shown_swapped", models.BooleanField(null=True)),
                ("amends", models.ForeignKey(
                    "adjudication.decision", CASCADE, blank=True, null=True,
                    related_name="amended_by",
                )),
                ("detail", models.JSONField(blank=True, default=dict)),
                ("token", models.CharField(max_length=64)),
                ("at", models.DateTimeField()),
                ("previous_hash", models.CharField(max_length=64, blank=True)),
                ("hash", models.CharField(max_length=64)),
            ],
            options={
                "ordering": ["packet_id", "sequence"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("packet", "sequence"), name="decision_sequence_once"
                    ),
                    models.UniqueConstraint(
                        fields=("assignment", "token"), name="decision_token_once"
                    ),
                    models.UniqueConstraint(
                        fields=("assignment", "item"), condition=Q(kind="answer"),
                        name="one_answer_per_person_and_item",
                    ),
                    models.CheckConstraint(
                        condition=Q(kind__in=["sign", "unsign", "guess"]) | Q(item__isnull=False),
                        name="decision_is_about_an_item",
                    ),
                    models.CheckConstraint(
                        condition=(Q(kind__in=["answer", "amendment", "late"]) & ~Q(answer=""))
                        | (~Q(kind__in=["answer", "amendment", "late"]) & Q(answer="")),
                        name="answer_where_one_is_due",
                    ),
                    models.CheckConstraint(
                        condition=Q(amends__isnull=False, kind__in=["amendment", "withdrawal"])
                        | (~Q(kind__in=["amendment", "withdrawal"]) & Q(amends__isnull=True)),
                        name="amendment_names_what_it_amends",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Slot",
            fields=[
                ID,
                ("item", models.ForeignKey(
                    "adjudication.packetitem", CASCADE, related_name="slots"
                )),
                ("purpose", models.CharField(
                    max_length=15, default="review",
                    choices=[("review", "Review"), ("adjudication", "Adjudication")],
                )),
                ("number", models.PositiveSmallIntegerField()),
                ("assignment", models.ForeignKey(
                    "adjudication.assignment", SET_NULL, blank=True, null=True,
                    related_name="slots",
                )),
                ("lease_expires_at", models.DateTimeField(blank=True, null=True)),
                ("decision", models.OneToOneField(
                    "adjudication.decision", SET_NULL, blank=True, null=True,
                    related_name="stands_in",
                )),
                ("draft", models.JSONField(blank=True, default=dict)),
                ("active_seconds", models.FloatField(default=0)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("item", "purpose", "number"), name="slot_number_once"
                    ),
                    models.UniqueConstraint(
                        fields=("item", "assignment"), name="one_slot_per_person_and_item"
                    ),
                    models.CheckConstraint(
                        condition=Q(decision__isnull=True) | Q(assignment__isnull=False),
                        name="decided_slot_has_person",
                    ),
                    models.CheckConstraint(
                        condition=Q(lease_expires_at__isnull=True)
                        | Q(assignment__isnull=False, decision__isnull=True),
                        name="leased_slot_has_person",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PracticeAnswer",
            fields=[
                ID,
                ("assignment", models.ForeignKey(
                    "adjudication.assignment", CASCADE, related_name="practice"
                )),
                ("number", models.PositiveSmallIntegerField()),
                ("answer", models.CharField(
                    max_length=15,
                    choices=[
                        ("A", "A"), ("B", "B"), ("BOTH", "Both"), ("NEITHER", "Neither"),
                        ("UNCLEAR", "Unclear"), ("NOT_A_FINDING", "Should not have been raised"),
                    ],
                )),
                ("at", models.DateTimeField(auto_now=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("assignment", "number"), name="practice_once_per_number"
                    ),
                ],
            },
        ),
        *(
            migrations.RunSQL((SQL / f"{topic}.sql").read_text(encoding="utf-8"))
            for topic in TOPICS
        ),
    ]
