"""People, studies, memberships and the audit trail; nothing clinical."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from knox.models import AbstractAuthToken

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from accounts.wording import format_count


class User(AbstractUser):  # type: ignore[django-manager-missing]  # the library of tokens has no types
    """A person who signs in.

    Custom from the first migration, so that it can grow.
    """

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    #: The password is a one-time password: nothing but replacing it is possible
    #: (`accounts.requests.middleware`).
    must_change_password = models.BooleanField(default=False)


class Role(models.TextChoices):
    CLINICIAN = "clinician", "Clinician"
    REVIEWER = "reviewer", "Blinded reviewer"
    ADMIN = "admin", "Study admin"


class Study(models.Model):
    """Owns datasets, runs, packets and memberships.

    Every page and query is scoped by it.
    """

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    name = models.CharField(max_length=200, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    members: models.ManyToManyField[User, Membership] = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="Membership", related_name="studies"
    )

    class Meta:
        verbose_name_plural = "studies"

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """One role of one person in one study; a person may have several."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=20, choices=Role.choices)
    #: The sign-in provider gave it, and takes it away (`accounts.provider.actions`).
    provided = models.BooleanField(default=False, db_default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "user", "role"], name="membership_once_per_role"
            ),
            models.CheckConstraint(
                condition=models.Q(role__in=Role.values), name="membership_role_valid"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.study_id}: {self.role}"


class Invitation(models.Model):
    """A link with which one person takes a role in a study, once.

    The link's secret is not stored, only its digest.
    """

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=20, choices=Role.choices)
    #: Whom it is for, in the words of the person who invites.
    label = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    #: It was used, or withdrawn.
    ended_at = models.DateTimeField(null=True, blank=True)
    used_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(role__in=Role.values), name="invitation_role_valid"
            ),
            models.CheckConstraint(
                condition=models.Q(used_by__isnull=True) | models.Q(ended_at__isnull=False),
                name="invitation_used_is_ended",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role} of {self.study_id}"


class SignInAttempts(models.Model):
    """How often something happened in a window of time, by a digest.

    Failed sign-ins of a name, an address and in all (`accounts.sign_in.throttle`), and a person's
    costly requests (`config.web.rate_limits`). See `accounts.requests.counting`.
    """

    key = models.CharField(max_length=64, primary_key=True)
    count = models.PositiveIntegerField()
    window_ends_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "sign-in attempts"

    def __str__(self) -> str:
        return format_count(self.count, "attempt")


class ApiToken(AbstractAuthToken):
    """A token that a program authenticates with instead of a session.

    The token is not stored, only its digest and its first characters.
    """

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    label = models.CharField(max_length=100)
    #: Django's digest of the password that the person had then. A new password ends the token, as
    #: it ends sessions.
    password_hash = models.CharField(max_length=64)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["created"]

    def __str__(self) -> str:
        return f"{self.token_key}…"


class StoredAnswer(models.Model):
    """What the API answered to a request with an Idempotency-Key.

    `accounts.api_access.idempotency` writes and reads it, and deletes it after a day. Such answers
    describe work that was started: counts, states and ids, never text of a note.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=100)
    #: Of the request: its method, address and body.
    request_sha256 = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    body = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="answer_once_per_key")]

    def __str__(self) -> str:
        return f"{self.key} of {self.user_id}"


class AuditEvent(models.Model):
    """Who opened, changed or exported what.

    Append-only: a database trigger refuses UPDATE and DELETE. `object_type` and `object_id` are
    opaque to this app (an id of an upper app). `detail` never has patient text, only counts, states
    and ids.
    """

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    study = models.ForeignKey(Study, null=True, on_delete=models.PROTECT, related_name="+")
    action = models.CharField(max_length=60)
    object_type = models.CharField(max_length=60, blank=True)
    object_id = models.CharField(max_length=60, blank=True)
    detail = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [
            models.Index(fields=["object_type", "object_id", "-at"], name="audit_by_object"),
            models.Index(fields=["study", "-at", "-id"], name="audit_by_study"),
            models.Index(fields=["actor", "-at", "-id"], name="audit_by_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.action} at {self.at:%Y-%m-%d %H:%M:%S}"


class AuditLink(models.Model):
    """The place of an event in the chain of the audit trail.

    A database trigger (`accounts/migrations/sql/audit.sql`) makes it, never the application. `hash`
    covers the event and the hash of the previous link, so that a changed, removed or inserted event
    is noticed.
    """

    #: 1, 2, 3, … without a gap.
    sequence = models.BigIntegerField(primary_key=True)
    #: Without a constraint: a missing event shall be noticed, not take its link with it.
    event = models.OneToOneField(
        AuditEvent, on_delete=models.DO_NOTHING, db_constraint=False, related_name="link"
    )
    hash = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"{self.sequence}: {self.hash}"


class Notification(models.Model):
    """What happened that concerns one person.

    `path` is an address on this server; `name` is a label of ours or an id, never patient text.
    """

    LONGEST_NAME = 100

    class Kind(models.TextChoices):
        MENTIONED = "mentioned", "You are mentioned in a comment"
        ASSIGNED = "assigned", "You are assigned to a packet"
        PACKET_OPENED = "packet_opened", "Your packet is open for review"
        REVIEW_DUE = "review_due", "A review of yours is due"
        REVIEW_NOTE = "review_note", "A reviewer wrote a note on an item"
        RUN_FINISHED = "run_finished", "A run finished"
        RUN_FAILED = "run_failed", "A run ended with failures"
        IMPORT_FINISHED = "import_finished", "An import finished"
        EXPORT_FINISHED = "export_finished", "An export finished"

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    recipient = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notifications"
    )
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=20, choices=Kind.choices)
    name = models.CharField(max_length=LONGEST_NAME, blank=True)
    path = models.CharField(max_length=300)
    #: Names the occasion. A person is notified of each occasion once.
    key = models.CharField(max_length=120)
    #: Whether pages show it; otherwise it is only sent.
    shown = models.BooleanField(default=True)
    mail = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    read_at = models.DateTimeField(null=True, blank=True)
    mailed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["recipient", "kind", "key"], name="occasion_once_per_person"
            )
        ]
        indexes = [
            models.Index(fields=["recipient", "-created_at", "-id"], name="notification_latest"),
            models.Index(
                fields=["id"],
                condition=models.Q(mail=True, mailed_at__isnull=True),
                name="notification_to_mail",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} for {self.recipient_id}"


class NotificationChoice(models.Model):
    """Whether one person wants one kind of notification.

    Without a row it is shown and not sent.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(max_length=20, choices=Notification.Kind.choices)
    shown = models.BooleanField(default=True)
    mailed = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "kind"], name="choice_once_per_kind")
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.kind}"
