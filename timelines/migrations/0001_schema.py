"""Create the tables of timelines, and with `sql/` what only SQL can say.

A database with all of the replaced migrations counts as migrated. The dependencies and `run_before`
name replaced ones, so that Django refuses a database that has only some of them.
"""

from pathlib import Path

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models
from django.db.models import CASCADE, DO_NOTHING, PROTECT, RESTRICT, SET_NULL, F, Q
from django.utils.timezone import now
from pgvector.django import HalfVectorField

from accounts.ids import new_public_id
from ehr.fields import NaiveDateTimeField

SQL = Path(__file__).with_name("sql")
TOPICS = (
    "refuse",
    "inventories",
    "entries",
    "runs",
    "counts",
    "authoring",
    "curation",
    "consensus",
    "search",
)
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
        ("timelines", "0001_initial"),
        ("timelines", "0002_invariants"),
        ("timelines", "0003_authoring_and_evaluation"),
        ("timelines", "0004_derived_runs_go_with_their_dataset"),
        ("timelines", "0005_rounds_and_outages"),
        ("timelines", "0006_calls_go_with_their_stage"),
        ("timelines", "0007_authoring_invariants"),
        ("timelines", "0008_run_models"),
        ("timelines", "0009_lines_without_inventory_are_kept"),
        ("timelines", "0010_imported_times_may_lack_a_basis"),
        ("timelines", "0011_cancelled_jobs_do_not_wait"),
        ("timelines", "0012_study_timelines"),
        ("timelines", "0013_kept_counts"),
        ("timelines", "0014_counting_triggers"),
        ("timelines", "0015_timelines_by_source"),
        ("timelines", "0016_occurrence_polarities"),
        ("timelines", "0017_cited_rows"),
        ("timelines", "0018_rows_of_lines_without_occurrence"),
        ("timelines", "0019_curation"),
        ("timelines", "0020_curation_invariants"),
        ("timelines", "0021_story_pins"),
        ("timelines", "0022_occurrence_words"),
        ("timelines", "0023_unexplained_changes"),
        ("timelines", "0024_search_by_meaning"),
        ("timelines", "0025_assisted_by"),
        ("timelines", "0026_consensus"),
        ("timelines", "0027_consensus_invariants"),
        ("timelines", "0028_further_references"),
    ]
    dependencies = [
        ("accounts", "0005_notifications"),
        ("llm_runtime", "0006_remove_endpoint_shares"),
        ("ehr", "0008_note_words"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    # No other app depends on adjudication, so that nothing would notice a part of it.
    run_before = [("adjudication", "0011_judged_in_part")]

    operations = [
        migrations.CreateModel(
            name="Run",
            fields=[
                ID,
                PUBLIC_ID,
                ("study", models.ForeignKey("accounts.study", PROTECT, related_name="runs")),
                ("dataset", models.ForeignKey("ehr.dataset", CASCADE, related_name="runs")),
                ("label", models.CharField(max_length=200, blank=True)),
                ("source", models.CharField(max_length=100)),
                ("backbone", models.CharField(max_length=60)),
                ("variant", models.CharField(max_length=30)),
                ("config", models.JSONField()),
                ("code_revision", models.CharField(max_length=64)),
                ("prompt_hashes", models.JSONField(default=dict)),
                ("package_versions", models.JSONField(default=dict)),
                ("tools", models.JSONField(default=dict)),
                ("language_models", models.JSONField(default=dict)),
                ("created_by", models.ForeignKey(
                    settings.AUTH_USER_MODEL, PROTECT, null=True, related_name="+"
                )),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("paused_at", models.DateTimeField(blank=True, null=True)),
                ("cancelled_at", models.DateTimeField(blank=True, null=True)),
                ("based_on", models.ForeignKey(
                    "timelines.run", DO_NOTHING, blank=True, null=True, related_name="derived"
                )),
            ],
            options={
                "ordering": ["-created_at"],
                "constraints": [
                    models.UniqueConstraint(fields=("id", "dataset"), name="run_with_dataset"),
                ],
            },
        ),
        migrations.CreateModel(
            name="StudyTimeline",
            fields=[
                ID,
                ("dataset", models.ForeignKey(
                    "ehr.dataset", CASCADE, related_name="study_timelines"
                )),
                ("run", models.ForeignKey("timelines.run", RESTRICT, related_name="+")),
                ("chosen_by", models.ForeignKey(
                    settings.AUTH_USER_MODEL, PROTECT, blank=True, null=True, related_name="+"
                )),
                ("chosen_at", models.DateTimeField(auto_now_add=True)),
                ("reason", models.CharField(max_length=500, blank=True)),
                ("replaced_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-chosen_at", "-pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("dataset",), condition=Q(replaced_at__isnull=True),
                        name="one_study_timeline_per_dataset",
                    ),
                    models.CheckConstraint(
                        condition=Q(chosen_by__isnull=True) | ~Q(reason=""),
                        name="person_gives_a_reason",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RunPreparation",
            fields=[
                ID,
                *JOB,
                ("wanted", ArrayField(models.TextField(), blank=True, null=True)),
                ("total", models.PositiveIntegerField()),
                ("prepared", models.PositiveIntegerField(default=0)),
                ("cursor", models.TextField(blank=True)),
                ("run", models.OneToOneField("timelines.run", CASCADE, related_name="preparation")),
            ],
            options={"constraints": job_rules("timelines_runpreparation")},
        ),
        migrations.CreateModel(
            name="RunCount",
            fields=[
                ID,
                ("run", models.ForeignKey(
                    "timelines.run", DO_NOTHING, related_name="counts", db_constraint=False
                )),
                ("stage", models.CharField(max_length=20, blank=True)),
                ("state", models.CharField(max_length=20)),
                ("n", models.IntegerField()),
                ("moved_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Inventory",
            fields=[
                ID,
                ("encounter", models.ForeignKey(
                    "ehr.encounter", CASCADE, related_name="inventories"
                )),
                ("note", models.ForeignKey("ehr.note", CASCADE, related_name="inventories")),
                ("origin", models.CharField(
                    max_length=20,
                    choices=[
                        ("run", "Tagged by a run"), ("reference", "Authored by a clinician"),
                        ("import", "Imported"),
                    ],
                )),
                ("run", models.ForeignKey(
                    "timelines.run", CASCADE, blank=True, null=True, related_name="inventories"
                )),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("sealed_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "verbose_name_plural": "inventories",
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(origin="run", run__isnull=False)
                        | (~Q(origin="run") & Q(run__isnull=True)),
                        name="inventory_run_iff_origin_run",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CaseRun",
            fields=[
                ID,
                PUBLIC_ID,
                ("run", models.ForeignKey(
                    "timelines.run", CASCADE, related_name="cases", db_index=False
                )),
                ("encounter", models.ForeignKey(
                    "ehr.encounter", CASCADE, related_name="case_runs"
                )),
                ("inventory", models.ForeignKey(
                    "timelines.inventory", RESTRICT, blank=True, null=True,
                    related_name="case_runs",
                )),
                ("rounds", models.PositiveSmallIntegerField(default=0)),
                ("state", models.CharField(
                    max_length=10, default="none", editable=False,
                    choices=[
                        ("none", "Not reconstructed"), ("waiting", "Waiting"),
                        ("running", "Running"), ("done", "Reconstructed"), ("failed", "Failed"),
                        ("cancelled", "Cancelled"),
                    ],
                )),
            ],
            options={
                "indexes": [
                    models.Index(fields=["run", "id"], name="case_run_in_order"),
                    models.Index(fields=["run", "state", "id"], name="case_run_by_state"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("run", "encounter"), name="case_once_per_run"),
                ],
            },
        ),
        migrations.CreateModel(
            name="StageRun",
            fields=[
                ID,
                *JOB,
                ("case_run", models.ForeignKey(
                    "timelines.caserun", CASCADE, related_name="stages"
                )),
                ("stage", models.CharField(
                    max_length=20,
                    choices=[
                        ("tag", "Tag occurrences"), ("uids", "Assign identifiers"),
                        ("infer", "Infer times from text"), ("retrieve", "Query, retrieve, rerank"),
                        ("expand", "Expand to source rows"), ("revise", "Revise jointly"),
                        ("provenance", "Store provenance"),
                    ],
                )),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["state", "lease_expires_at"], name="timelines_stagerun_claim"
                    ),
                    models.Index(
                        fields=["hinted_at", "id"], condition=Q(state="queued"),
                        name="timelines_stagerun_hint",
                    ),
                ],
                "constraints": [
                    *job_rules("timelines_stagerun"),
                    models.UniqueConstraint(
                        fields=("case_run", "stage"), name="stage_once_per_case_run"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="StageBatch",
            fields=[
                ID,
                ("stage_run", models.ForeignKey(
                    "timelines.stagerun", CASCADE, related_name="batches"
                )),
                ("ordinal", models.PositiveIntegerField()),
                ("payload", models.JSONField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("stage_run", "ordinal"), name="batch_once_per_stage_run"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Occurrence",
            fields=[
                ID,
                ("inventory", models.ForeignKey(
                    "timelines.inventory", CASCADE, related_name="occurrences"
                )),
                ("ordinal", models.PositiveIntegerField()),
                ("uid4", models.CharField(max_length=4)),
                ("mention", models.TextField()),
                ("start", models.PositiveIntegerField(null=True)),
                ("end", models.PositiveIntegerField(null=True)),
                ("polarity", models.CharField(
                    max_length=10, default="present",
                    choices=[
                        ("present", "present"), ("absent", "absent"), ("planned", "planned"),
                        ("family", "family"),
                    ],
                )),
                ("lane", models.CharField(
                    max_length=20, default="finding",
                    choices=[
                        ("history", "history"), ("finding", "finding"), ("lab", "lab"),
                        ("medication", "medication"), ("procedure", "procedure"),
                        ("transfer", "transfer"), ("plan", "plan"),
                    ],
                )),
            ],
            options={
                "ordering": ["ordinal"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("inventory", "uid4"), name="uid_once_per_inventory"
                    ),
                    models.UniqueConstraint(
                        fields=("inventory", "ordinal"), name="ordinal_once_per_inventory"
                    ),
                    models.CheckConstraint(
                        condition=Q(uid4__regex="^[0-9a-f]{4}$"), name="uid_is_four_hex_digits"
                    ),
                    models.CheckConstraint(
                        condition=Q(end__isnull=True, start__isnull=True) | Q(start__lt=F("end")),
                        name="span_is_ordered",
                    ),
                    models.CheckConstraint(condition=~Q(mention=""), name="mention_is_not_empty"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Timeline",
            fields=[
                ID,
                PUBLIC_ID,
                ("encounter", models.ForeignKey(
                    "ehr.encounter", CASCADE, related_name="timelines"
                )),
                ("inventory", models.ForeignKey(
                    "timelines.inventory", CASCADE, blank=True, null=True, related_name="timelines"
                )),
                ("case_run", models.ForeignKey(
                    "timelines.caserun", CASCADE, blank=True, null=True, related_name="timelines"
                )),
                ("source", models.CharField(max_length=100)),
                ("kind", models.CharField(
                    max_length=20,
                    choices=[
                        ("text_only", "text_only"), ("revised", "revised"),
                        ("reference", "reference"),
                    ],
                )),
                ("alternative", models.PositiveSmallIntegerField(default=1)),
                ("reasoning", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["source", "kind", "alternative", "encounter"],
                        name="timeline_by_source",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("case_run", "kind", "alternative"),
                        condition=Q(case_run__isnull=False), name="timeline_once_per_case_run",
                    ),
                    models.UniqueConstraint(
                        fields=("encounter", "source", "kind", "alternative"),
                        condition=Q(case_run__isnull=True), name="timeline_once_per_source",
                    ),
                    models.CheckConstraint(
                        condition=Q(alternative__gte=1), name="alternative_counts_from_one"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Entry",
            fields=[
                ID,
                ("timeline", models.ForeignKey(
                    "timelines.timeline", CASCADE, related_name="entries"
                )),
                ("occurrence", models.ForeignKey(
                    "timelines.occurrence", CASCADE, null=True, related_name="entries"
                )),
                ("event", models.TextField(blank=True)),
                ("time", models.FloatField(null=True)),
                ("lower", models.FloatField(null=True)),
                ("upper", models.FloatField(null=True)),
                ("known", models.BooleanField(null=True, default=False)),
                ("context", ArrayField(models.CharField(max_length=4), blank=True, default=list)),
                ("decided_by", models.TextField(blank=True)),
                ("reason", models.TextField(blank=True)),
                ("adopted_rows", ArrayField(models.IntegerField(), blank=True, default=list)),
                ("near_rows", ArrayField(models.IntegerField(), blank=True, default=list)),
                ("link", models.CharField(
                    max_length=10, blank=True, default="",
                    choices=[("cited", "cited"), ("inferred", "inferred"), ("matched", "matched")],
                )),
                ("confidence", models.FloatField(null=True)),
            ],
            options={
                "verbose_name_plural": "entries",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("timeline", "occurrence"), name="one_entry_per_occurrence"
                    ),
                    models.CheckConstraint(
                        condition=Q(time__isnull=True)
                        | Q(lower__isnull=True)
                        | Q(lower__lte=F("time")),
                        name="lower_not_after_time",
                    ),
                    models.CheckConstraint(
                        condition=Q(time__isnull=True)
                        | Q(upper__isnull=True)
                        | Q(upper__gte=F("time")),
                        name="upper_not_before_time",
                    ),
                    models.CheckConstraint(
                        condition=Q(lower__isnull=True)
                        | Q(upper__isnull=True)
                        | Q(lower__lte=F("upper")),
                        name="bounds_are_ordered",
                    ),
                    models.CheckConstraint(
                        condition=Q(context__len__lte=5), name="at_most_five_context_uids"
                    ),
                    models.CheckConstraint(
                        condition=Q(occurrence__isnull=False) | ~Q(event=""),
                        name="entry_names_an_event",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Query",
            fields=[
                ID,
                ("case_run", models.ForeignKey(
                    "timelines.caserun", CASCADE, related_name="queries"
                )),
                ("occurrence", models.ForeignKey(
                    "timelines.occurrence", CASCADE, related_name="queries"
                )),
                ("ordinal", models.PositiveSmallIntegerField()),
                ("text", models.TextField()),
            ],
            options={
                "verbose_name_plural": "queries",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("case_run", "occurrence", "ordinal"), name="query_once_per_ordinal"
                    ),
                    models.CheckConstraint(
                        condition=Q(ordinal__lte=2), name="at_most_three_queries"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Candidate",
            fields=[
                ID,
                ("query", models.ForeignKey("timelines.query", CASCADE, related_name="candidates")),
                ("series", models.ForeignKey("ehr.eventseries", CASCADE, related_name="+")),
                ("dense_rank", models.PositiveSmallIntegerField()),
                ("dense_score", models.FloatField()),
                ("rerank_score", models.FloatField(null=True)),
                ("kept", models.BooleanField(default=False)),
                ("fate", models.TextField(blank=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("query", "series"), name="series_once_per_query"
                    ),
                    models.UniqueConstraint(
                        fields=("query", "dense_rank"), name="rank_once_per_query"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Evidence",
            fields=[
                ID,
                ("case_run", models.ForeignKey(
                    "timelines.caserun", CASCADE, related_name="evidence"
                )),
                ("candidate", models.ForeignKey(
                    "timelines.candidate", CASCADE, null=True, related_name="evidence"
                )),
                ("dataset", models.ForeignKey(
                    "ehr.dataset", CASCADE, related_name="+", db_index=False
                )),
                ("encounter", models.ForeignKey(
                    "ehr.encounter", CASCADE, related_name="+", db_index=False
                )),
                ("row_index", models.IntegerField()),
                ("time", NaiveDateTimeField()),
                ("hours", models.FloatField()),
                ("event", models.TextField()),
                ("value", models.TextField(blank=True)),
                ("numeric_value", models.FloatField(null=True)),
                ("unit", models.TextField(blank=True)),
                ("source", models.TextField(blank=True)),
                ("time_kind", models.CharField(max_length=20)),
            ],
            options={
                "verbose_name_plural": "evidence",
                "indexes": [
                    models.Index(
                        fields=["dataset", "encounter", "row_index"], name="evidence_by_row"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("candidate", "row_index"), name="row_once_per_candidate"
                    ),
                    models.UniqueConstraint(
                        fields=("case_run", "row_index"), condition=Q(candidate__isnull=True),
                        name="row_once_in_skeleton",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="UnexplainedChange",
            fields=[
                ID,
                ("case_run", models.OneToOneField(
                    "timelines.caserun", CASCADE, related_name="unexplained_change"
                )),
                ("run", models.ForeignKey(
                    "timelines.run", CASCADE, related_name="+", db_index=False
                )),
                ("occurrence", models.ForeignKey(
                    "timelines.occurrence", CASCADE, related_name="+"
                )),
                ("hours", models.FloatField()),
                ("weight", models.FloatField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["run", "-weight"], name="largest_change_of_run"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Authoring",
            fields=[
                ID,
                PUBLIC_ID,
                ("encounter", models.ForeignKey(
                    "ehr.encounter", CASCADE, related_name="authorings"
                )),
                ("author", models.ForeignKey(
                    settings.AUTH_USER_MODEL, PROTECT, related_name="authorings"
                )),
                ("protocol", models.CharField(
                    max_length=10, choices=[("unaided", "Unaided"), ("assisted", "Assisted")]
                )),
                ("assisted_by", models.CharField(max_length=100, blank=True, default="")),
                ("base", models.ForeignKey(
                    "timelines.timeline", SET_NULL, blank=True, null=True, related_name="assisted"
                )),
                ("state", models.CharField(
                    max_length=10, default="draft",
                    choices=[("draft", "Draft"), ("submitted", "Submitted")],
                )),
                ("revision", models.PositiveIntegerField(default=0)),
                ("inventory", models.OneToOneField(
                    "timelines.inventory", CASCADE, related_name="authoring"
                )),
                ("timeline", models.OneToOneField(
                    "timelines.timeline", SET_NULL, blank=True, null=True, related_name="authoring"
                )),
                ("exposed", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("submitted_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-updated_at"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("encounter", "author"), name="one_authoring_per_case_and_author"
                    ),
                    models.CheckConstraint(
                        condition=Q(protocol__in=["unaided", "assisted"]),
                        name="authoring_protocol_valid",
                    ),
                    models.CheckConstraint(
                        condition=Q(state="draft")
                        | Q(state="submitted", submitted_at__isnull=False, timeline__isnull=False),
                        name="authoring_submitted_has_timeline",
                    ),
                    models.CheckConstraint(
                        condition=Q(protocol="assisted") | Q(assisted_by="", base__isnull=True),
                        name="authoring_unaided_has_no_base",
                    ),
                    models.CheckConstraint(
                        condition=~Q(assisted_by="") | Q(base__isnull=True),
                        name="authoring_base_is_named",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DraftEntry",
            fields=[
                ID,
                ("occurrence", models.OneToOneField(
                    "timelines.occurrence", CASCADE, related_name="draft"
                )),
                ("placed", models.BooleanField(default=False)),
                ("time", models.FloatField(null=True)),
                ("lower", models.FloatField(null=True)),
                ("upper", models.FloatField(null=True)),
                ("known", models.BooleanField(default=False)),
                ("context", ArrayField(models.CharField(max_length=4), blank=True, default=list)),
                ("rows", ArrayField(models.IntegerField(), blank=True, default=list)),
                ("entered", models.CharField(max_length=100, blank=True)),
                ("reason", models.TextField(blank=True)),
            ],
            options={
                "verbose_name_plural": "draft entries",
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(time__isnull=True)
                        | Q(lower__isnull=True)
                        | Q(lower__lte=F("time")),
                        name="draft_lower_not_after_time",
                    ),
                    models.CheckConstraint(
                        condition=Q(time__isnull=True)
                        | Q(upper__isnull=True)
                        | Q(upper__gte=F("time")),
                        name="draft_upper_not_before_time",
                    ),
                    models.CheckConstraint(
                        condition=Q(lower__isnull=True)
                        | Q(upper__isnull=True)
                        | Q(lower__lte=F("upper")),
                        name="draft_bounds_are_ordered",
                    ),
                    models.CheckConstraint(
                        condition=Q(context__len__lte=5), name="draft_at_most_five_context_uids"
                    ),
                    models.CheckConstraint(
                        condition=Q(placed=True) | Q(time__isnull=True),
                        name="draft_time_is_placed",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AuthoringEdit",
            fields=[
                ID,
                ("authoring", models.ForeignKey(
                    "timelines.authoring", CASCADE, related_name="edits"
                )),
                ("number", models.PositiveIntegerField()),
                ("kind", models.CharField(max_length=20)),
                ("before", models.JSONField(default=list)),
                ("after", models.JSONField(default=list)),
                ("undoes", models.ForeignKey(
                    "timelines.authoringedit", CASCADE, blank=True, null=True,
                    related_name="undone_by",
                )),
                ("reason", models.TextField(blank=True)),
                ("token", models.CharField(max_length=64)),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["number"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("authoring", "number"), name="edit_number_once_per_authoring"
                    ),
                    models.UniqueConstraint(
                        fields=("authoring", "token"), name="edit_token_once_per_authoring"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AnchorSuggestion",
            fields=[
                ID,
                ("authoring", models.ForeignKey(
                    "timelines.authoring", CASCADE, related_name="suggestions"
                )),
                ("uid4", models.CharField(max_length=4)),
                ("row_index", models.IntegerField()),
                ("rank", models.PositiveSmallIntegerField()),
                ("score", models.FloatField(null=True)),
                ("made_by", models.CharField(max_length=200)),
                ("shown_at", models.DateTimeField(auto_now_add=True)),
                ("accepted_at", models.DateTimeField(blank=True, null=True)),
                ("dismissed_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["uid4", "rank"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("authoring", "uid4", "row_index"), name="suggestion_once_per_row"
                    ),
                    models.CheckConstraint(
                        condition=Q(accepted_at__isnull=True) | Q(dismissed_at__isnull=True),
                        name="suggestion_accepted_or_dismissed",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Correction",
            fields=[
                ID,
                PUBLIC_ID,
                ("at", models.DateTimeField(auto_now_add=True)),
                ("base", models.ForeignKey(
                    "timelines.timeline", CASCADE, related_name="corrections"
                )),
                ("occurrence", models.ForeignKey(
                    "timelines.occurrence", CASCADE, related_name="corrections"
                )),
                ("author", models.ForeignKey(
                    settings.AUTH_USER_MODEL, PROTECT, related_name="corrections"
                )),
                ("kind", models.CharField(
                    max_length=12,
                    choices=[
                        ("time", "at another time"), ("not_placed", "not placed"),
                        ("not_happened", "did not happen"), ("base", "as reconstructed"),
                        ("undo", "undone"),
                    ],
                )),
                ("settles", models.BooleanField(default=False)),
                ("chosen", models.ForeignKey(
                    "timelines.correction", CASCADE, blank=True, null=True,
                    related_name="chosen_by",
                )),
                ("time", models.FloatField(null=True)),
                ("lower", models.FloatField(null=True)),
                ("upper", models.FloatField(null=True)),
                ("known", models.BooleanField(default=False)),
                ("rows", ArrayField(models.IntegerField(), blank=True, default=list)),
                ("entered", models.CharField(max_length=100, blank=True)),
                ("reason", models.TextField(blank=True)),
                ("undoes", models.OneToOneField(
                    "timelines.correction", CASCADE, blank=True, null=True,
                    related_name="undone_by",
                )),
            ],
            options={
                "ordering": ["pk"],
                "indexes": [
                    models.Index(fields=["base", "occurrence"], name="correction_by_occurrence"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(kind="undo", settles=False, undoes__isnull=False)
                        | (~Q(kind="undo") & Q(undoes__isnull=True)),
                        name="correction_undo_names_one",
                    ),
                    models.CheckConstraint(
                        condition=Q(kind="time", time__isnull=False)
                        | (~Q(kind="time") & Q(time__isnull=True)),
                        name="correction_time_of_its_kind",
                    ),
                    models.CheckConstraint(
                        condition=Q(kind__in=["time", "not_placed"])
                        | Q(entered="", lower__isnull=True, rows=[], upper__isnull=True),
                        name="correction_values_of_its_kind",
                    ),
                    models.CheckConstraint(
                        condition=~Q(kind="base") | Q(settles=True), name="correction_base_settles"
                    ),
                    models.CheckConstraint(
                        condition=Q(chosen__isnull=True, kind="base", settles=True)
                        | (Q(chosen__isnull=False, settles=True) & ~Q(kind="base"))
                        | Q(chosen__isnull=True, settles=False),
                        name="correction_settlement_chooses",
                    ),
                    models.CheckConstraint(
                        condition=(
                            Q(lower__isnull=True)
                            | Q(time__isnull=True)
                            | Q(lower__lte=F("time"))
                        )
                        & (Q(upper__isnull=True) | Q(time__isnull=True) | Q(upper__gte=F("time")))
                        & (
                            Q(lower__isnull=True)
                            | Q(upper__isnull=True)
                            | Q(lower__lte=F("upper"))
                        ),
                        name="correction_bounds_are_ordered",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CuratedTimeline",
            fields=[
                ("timeline", models.OneToOneField(
                    "timelines.timeline", CASCADE, primary_key=True, serialize=False,
                    related_name="curated",
                )),
                ("base", models.ForeignKey(
                    "timelines.timeline", CASCADE, related_name="curations"
                )),
            ],
        ),
        migrations.CreateModel(
            name="Comment",
            fields=[
                ID,
                PUBLIC_ID,
                ("at", models.DateTimeField(auto_now_add=True)),
                ("encounter", models.ForeignKey("ehr.encounter", CASCADE, related_name="comments")),
                ("occurrence", models.ForeignKey(
                    "timelines.occurrence", CASCADE, blank=True, null=True, related_name="comments"
                )),
                ("parent", models.ForeignKey(
                    "timelines.comment", CASCADE, blank=True, null=True, related_name="replies"
                )),
                ("author", models.ForeignKey(
                    settings.AUTH_USER_MODEL, PROTECT, related_name="comments"
                )),
                ("kind", models.CharField(
                    max_length=10, default="comment",
                    choices=[
                        ("comment", "commented"), ("resolve", "resolved"), ("reopen", "reopened"),
                        ("withdraw", "withdrew"),
                    ],
                )),
                ("body", models.TextField(blank=True)),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.CheckConstraint(
                        condition=(Q(kind="comment") & ~Q(body=""))
                        | (~Q(kind="comment") & Q(body="", parent__isnull=False)),
                        name="comment_body_of_its_kind",
                    ),
                    models.UniqueConstraint(
                        fields=("parent",), condition=Q(kind="withdraw"),
                        name="comment_withdrawn_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Mention",
            fields=[
                ID,
                ("comment", models.ForeignKey(
                    "timelines.comment", CASCADE, related_name="mentions"
                )),
                ("person", models.ForeignKey(
                    settings.AUTH_USER_MODEL, PROTECT, related_name="mentions"
                )),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("comment", "person"), name="mention_once_per_comment"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Flag",
            fields=[
                ID,
                PUBLIC_ID,
                ("at", models.DateTimeField(auto_now_add=True)),
                ("occurrence", models.ForeignKey(
                    "timelines.occurrence", CASCADE, related_name="flags"
                )),
                ("author", models.ForeignKey(
                    settings.AUTH_USER_MODEL, PROTECT, related_name="flags"
                )),
                ("reason", models.CharField(
                    max_length=12, blank=True,
                    choices=[
                        ("wrong_time", "Wrong time"), ("wrong_row", "Wrong row of the record"),
                        ("no_event", "Not an event"), ("duplicate", "Duplicate"),
                        ("wrong_words", "Wrong words marked"), ("unclear", "Unclear"),
                        ("other", "Something else"),
                    ],
                )),
                ("words", models.TextField(blank=True)),
                ("withdraws", models.OneToOneField(
                    "timelines.flag", CASCADE, blank=True, null=True, related_name="withdrawn_by"
                )),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(reason="", withdraws__isnull=False, words="")
                        | (Q(withdraws__isnull=True) & ~Q(reason="")),
                        name="flag_has_a_reason",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="StoryPin",
            fields=[
                ID,
                ("occurrence", models.ForeignKey(
                    "timelines.occurrence", CASCADE, related_name="pins"
                )),
                ("pinned", models.BooleanField()),
                ("by", models.ForeignKey(settings.AUTH_USER_MODEL, PROTECT, related_name="+")),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["occurrence", "-id"], name="last_pin_of_occurrence"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Consensus",
            fields=[
                ID,
                PUBLIC_ID,
                ("encounter", models.ForeignKey(
                    "ehr.encounter", CASCADE, related_name="consensuses"
                )),
                ("first", models.ForeignKey("timelines.timeline", CASCADE, related_name="+")),
                ("second", models.ForeignKey("timelines.timeline", CASCADE, related_name="+")),
                ("started_by", models.ForeignKey(
                    settings.AUTH_USER_MODEL, PROTECT, related_name="+"
                )),
                ("started_at", models.DateTimeField(auto_now_add=True)),
                ("timeline", models.OneToOneField(
                    "timelines.timeline", CASCADE, blank=True, null=True, related_name="consensus"
                )),
                ("submitted_by", models.ForeignKey(
                    settings.AUTH_USER_MODEL, PROTECT, blank=True, null=True, related_name="+"
                )),
                ("submitted_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "verbose_name_plural": "consensuses",
                "ordering": ["pk"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("first", "second"), name="consensus_once_per_pair"
                    ),
                    models.CheckConstraint(
                        condition=~Q(first=F("second")), name="consensus_of_two"
                    ),
                    models.CheckConstraint(
                        condition=Q(
                            submitted_at__isnull=True, submitted_by__isnull=True,
                            timeline__isnull=True,
                        )
                        | Q(
                            submitted_at__isnull=False, submitted_by__isnull=False,
                            timeline__isnull=False,
                        ),
                        name="consensus_submitted_whole",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ConsensusDecision",
            fields=[
                ID,
                ("consensus", models.ForeignKey(
                    "timelines.consensus", CASCADE, related_name="decisions"
                )),
                ("first", models.ForeignKey(
                    "timelines.occurrence", CASCADE, null=True, related_name="+"
                )),
                ("second", models.ForeignKey(
                    "timelines.occurrence", CASCADE, null=True, related_name="+"
                )),
                ("choice", models.CharField(
                    max_length=8,
                    choices=[
                        ("agreed", "both agree"), ("first", "as the first author"),
                        ("second", "as the second author"), ("own", "at another time"),
                        ("dropped", "left out"),
                    ],
                )),
                ("time", models.FloatField(null=True)),
                ("lower", models.FloatField(null=True)),
                ("upper", models.FloatField(null=True)),
                ("entered", models.CharField(max_length=100, blank=True)),
                ("reason", models.TextField(blank=True)),
                ("by", models.ForeignKey(settings.AUTH_USER_MODEL, PROTECT, related_name="+")),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "ordering": ["pk"],
                "constraints": [
                    models.CheckConstraint(
                        condition=(
                            Q(choice__in=["own", "dropped"])
                            & (Q(first__isnull=False) | Q(second__isnull=False))
                        )
                        | Q(choice="first", first__isnull=False)
                        | Q(choice="second", second__isnull=False)
                        | Q(choice="agreed", first__isnull=False, second__isnull=False),
                        name="consensus_choice_of_its_item",
                    ),
                    models.CheckConstraint(
                        condition=Q(choice="own")
                        | Q(entered="", lower__isnull=True, time__isnull=True, upper__isnull=True),
                        name="consensus_time_of_its_choice",
                    ),
                    models.CheckConstraint(
                        condition=Q(choice="agreed", reason="")
                        | (~Q(choice="agreed") & ~Q(reason="")),
                        name="consensus_decision_says_why",
                    ),
                    models.CheckConstraint(
                        condition=(
                            Q(lower__isnull=True)
                            | Q(time__isnull=True)
                            | Q(lower__lte=F("time"))
                        )
                        & (Q(upper__isnull=True) | Q(time__isnull=True) | Q(upper__gte=F("time")))
                        & (
                            Q(lower__isnull=True)
                            | Q(upper__isnull=True)
                            | Q(lower__lte=F("upper"))
                        ),
                        name="consensus_bounds_are_ordered",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Evaluation",
            fields=[
                ID,
                *JOB,
                PUBLIC_ID,
                ("study", models.ForeignKey("accounts.study", PROTECT, related_name="evaluations")),
                ("label", models.CharField(max_length=200, blank=True)),
                ("reference", models.CharField(max_length=100)),
                ("further_references", ArrayField(
                    models.CharField(max_length=100), blank=True, default=list
                )),
                ("sources", ArrayField(models.CharField(max_length=100), blank=True, default=list)),
                ("config", models.JSONField(default=dict)),
                ("report", models.JSONField(blank=True, null=True)),
                ("code_revision", models.CharField(max_length=64, blank=True)),
                ("created_by", models.ForeignKey(
                    settings.AUTH_USER_MODEL, PROTECT, null=True, related_name="+"
                )),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("datasets", models.ManyToManyField("ehr.dataset", related_name="evaluations")),
            ],
            options={
                "ordering": ["-created_at"],
                "indexes": [
                    models.Index(
                        fields=["state", "lease_expires_at"], name="timelines_evaluation_claim"
                    ),
                    models.Index(
                        fields=["hinted_at", "id"], condition=Q(state="queued"),
                        name="timelines_evaluation_hint",
                    ),
                ],
                "constraints": [
                    *job_rules("timelines_evaluation"),
                ],
            },
        ),
        migrations.CreateModel(
            name="EvaluationCase",
            fields=[
                ID,
                ("evaluation", models.ForeignKey(
                    "timelines.evaluation", CASCADE, related_name="cases"
                )),
                ("encounter", models.ForeignKey("ehr.encounter", CASCADE, related_name="+")),
                ("result", models.JSONField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("evaluation", "encounter"), name="case_once_per_evaluation"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MentionVector",
            fields=[
                ID,
                ("dataset", models.ForeignKey(
                    "ehr.dataset", CASCADE, related_name="+", db_index=False
                )),
                ("model", models.CharField(max_length=200)),
                ("key", models.CharField(max_length=32)),
                ("vector", HalfVectorField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("dataset", "model", "key"), name="mention_vector_once_per_model"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MentionIndexing",
            fields=[
                ID,
                *JOB,
                ("run", models.OneToOneField(
                    "timelines.run", CASCADE, related_name="mention_indexing"
                )),
            ],
            options={"constraints": job_rules("timelines_mentionindexing")},
        ),
        migrations.CreateModel(
            name="MeaningSearch",
            fields=[
                ID,
                *JOB,
                PUBLIC_ID,
                ("study", models.ForeignKey("accounts.study", CASCADE, related_name="+")),
                ("person", models.ForeignKey(settings.AUTH_USER_MODEL, CASCADE, related_name="+")),
                ("text", models.TextField(blank=True)),
                ("model", models.CharField(max_length=200, blank=True)),
                ("vector", HalfVectorField(null=True)),
            ],
            options={"constraints": job_rules("timelines_meaningsearch")},
        ),
        *(
            migrations.RunSQL((SQL / f"{topic}.sql").read_text(encoding="utf-8"))
            for topic in TOPICS
        ),
    ]
