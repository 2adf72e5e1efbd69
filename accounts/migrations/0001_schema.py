"""Create the tables of accounts, and with `sql/` what only SQL can say.

A database with all of the replaced migrations counts as migrated.
"""

from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import UserManager
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.db import migrations, models
from django.db.models import CASCADE, DO_NOTHING, PROTECT, Q
from django.utils.timezone import now

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
        ("accounts", "0001_initial"),
        ("accounts", "0002_audit_is_append_only"),
        ("accounts", "0003_api_token"),
        ("accounts", "0004_audit_chain"),
        ("accounts", "0005_notifications"),
    ]
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="User",
            fields=[
                ID,
                ("password", models.CharField(verbose_name="password", max_length=128)),
                ("last_login", models.DateTimeField(
                    verbose_name="last login", blank=True, null=True
                )),
                ("is_superuser", models.BooleanField(
                    verbose_name="superuser status", default=False,
                    help_text="Designates that this user has all permissions without explicitly assigning"
                    " them.",
                )),
                ("username", models.CharField(
                    verbose_name="username", max_length=150, unique=True,
                    help_text="Required. 150 characters or fewer. Letters, digits and @/./+/-/_"
                    " only.",
                    validators=[UnicodeUsernameValidator()],
                    error_messages={"unique": "A user with that username already exists."},
                )),
                ("first_name", models.CharField(
                    verbose_name="first name", max_length=150, blank=True
                )),
                ("last_name", models.CharField(
                    verbose_name="last name", max_length=150, blank=True
                )),
                ("email", models.EmailField(
                    verbose_name="email address", max_length=254, blank=True
                )),
                ("is_staff", models.BooleanField(
                    verbose_name="staff status", default=False,
                    help_text="Designates whether the user can log into this admin site.",
                )),
                ("is_active", models.BooleanField(
                    verbose_name="active", default=True,
                    help_text="Designates whether this user should be treated as active. Unselect this"
                    " instead of deleting accounts.",
                )),
                ("date_joined", models.DateTimeField(verbose_name="date joined", default=now)),
                PUBLIC_ID,
                ("must_change_password", models.BooleanField(default=False)),
                ("groups", models.ManyToManyField(
                    "auth.group", verbose_name="groups", blank=True,
                    help_text="The groups this user belongs to. A user will get all permissions granted"
                    " to each of their groups.",
                    related_name="user_set", related_query_name="user",
                )),
                ("user_permissions", models.ManyToManyField(
                    "auth.permission", verbose_name="user permissions", blank=True,
                    help_text="Specific permissions for this user.", related_name="user_set",
                    related_query_name="user",
                )),
            ],
            options={
                "verbose_name": "user",
                "verbose_name_plural": "users",
            },
            managers=[("objects", UserManager())],
        ),
        migrations.CreateModel(
            name="Study",
            fields=[
                ID,
                PUBLIC_ID,
                ("name", models.CharField(max_length=200, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={"verbose_name_plural": "studies"},
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                ID,
                ("study", models.ForeignKey("accounts.study", CASCADE, related_name="memberships")),
                ("user", models.ForeignKey(
                    settings.AUTH_USER_MODEL, CASCADE, related_name="memberships"
                )),
                ("role", models.CharField(
                    max_length=20,
                    choices=[
                        ("clinician", "Clinician"), ("reviewer", "Blinded reviewer"),
                        ("admin", "Study admin"),
                    ],
                )),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("study", "user", "role"), name="membership_once_per_role"
                    ),
                    models.CheckConstraint(
                        condition=Q(role__in=["clinician", "reviewer", "admin"]),
                        name="membership_role_valid",
                    ),
                ],
            },
        ),
        migrations.AddField(
            "study",
            "members",
            models.ManyToManyField(
                settings.AUTH_USER_MODEL, related_name="studies", through="accounts.Membership"
            ),
        ),
        migrations.CreateModel(
            name="SignInAttempts",
            fields=[
                ("key", models.CharField(primary_key=True, max_length=64, serialize=False)),
                ("count", models.PositiveIntegerField()),
                ("window_ends_at", models.DateTimeField()),
            ],
            options={"verbose_name_plural": "sign-in attempts"},
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                ("digest", models.CharField(primary_key=True, max_length=128, serialize=False)),
                ("token_key", models.CharField(max_length=25, db_index=True)),
                ("user", models.ForeignKey(
                    settings.AUTH_USER_MODEL, CASCADE, related_name="auth_token_set"
                )),
                ("created", models.DateTimeField(auto_now_add=True)),
                ("expiry", models.DateTimeField(blank=True, null=True)),
                PUBLIC_ID,
                ("label", models.CharField(max_length=100)),
                ("password_hash", models.CharField(max_length=64)),
                ("last_used_at", models.DateTimeField(null=True)),
            ],
            options={"ordering": ["created"]},
        ),
        migrations.CreateModel(
            name="AuditEvent",
            fields=[
                ID,
                ("at", models.DateTimeField(db_index=True, auto_now_add=True)),
                ("actor", models.ForeignKey(
                    settings.AUTH_USER_MODEL, PROTECT, null=True, related_name="+"
                )),
                ("study", models.ForeignKey(
                    "accounts.study", PROTECT, null=True, related_name="+"
                )),
                ("action", models.CharField(max_length=60)),
                ("object_type", models.CharField(max_length=60, blank=True)),
                ("object_id", models.CharField(max_length=60, blank=True)),
                ("detail", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "ordering": ["-at", "-id"],
                "indexes": [
                    models.Index(
                        fields=["object_type", "object_id", "-at"], name="audit_by_object"
                    ),
                    models.Index(fields=["study", "-at", "-id"], name="audit_by_study"),
                    models.Index(fields=["actor", "-at", "-id"], name="audit_by_actor"),
                ],
            },
        ),
        migrations.CreateModel(
            name="AuditLink",
            fields=[
                ("sequence", models.BigIntegerField(primary_key=True, serialize=False)),
                ("event", models.OneToOneField(
                    "accounts.auditevent", DO_NOTHING, related_name="link", db_constraint=False
                )),
                ("hash", models.CharField(max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name="Notification",
            fields=[
                ID,
                PUBLIC_ID,
                ("recipient", models.ForeignKey(
                    settings.AUTH_USER_MODEL, CASCADE, related_name="notifications"
                )),
                ("study", models.ForeignKey("accounts.study", CASCADE, related_name="+")),
                ("kind", models.CharField(
                    max_length=20,
                    choices=[
                        ("mentioned", "You are mentioned in a comment"),
                        ("assigned", "You are assigned to a packet"),
                        ("packet_opened", "Your packet is open for review"),
                        ("run_finished", "A run finished"),
                        ("run_failed", "A run ended with failures"),
                        ("import_finished", "An import finished"),
                    ],
                )),
                ("name", models.CharField(max_length=100, blank=True)),
                ("path", models.CharField(max_length=300)),
                ("key", models.CharField(max_length=120)),
                ("shown", models.BooleanField(default=True)),
                ("mail", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("read_at", models.DateTimeField(blank=True, null=True)),
                ("mailed_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-created_at", "-id"],
                "indexes": [
                    models.Index(
                        fields=["recipient", "-created_at", "-id"], name="notification_latest"
                    ),
                    models.Index(
                        fields=["id"], condition=Q(mail=True, mailed_at__isnull=True),
                        name="notification_to_mail",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("recipient", "kind", "key"), name="occasion_once_per_person"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="NotificationChoice",
            fields=[
                ID,
                ("user", models.ForeignKey(settings.AUTH_USER_MODEL, CASCADE, related_name="+")),
                ("kind", models.CharField(
                    max_length=20,
                    choices=[
                        ("mentioned", "You are mentioned in a comment"),
                        ("assigned", "You are assigned to a packet"),
                        ("packet_opened", "Your packet is open for review"),
                        ("run_finished", "A run finished"),
                        ("run_failed", "A run ended with failures"),
                        ("import_finished", "An import finished"),
                    ],
                )),
                ("shown", models.BooleanField(default=True)),
                ("mailed", models.BooleanField(default=False)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("user", "kind"), name="choice_once_per_kind"),
                ],
            },
        ),
        migrations.RunSQL((SQL / "audit.sql").read_text(encoding="utf-8")),
    ]
