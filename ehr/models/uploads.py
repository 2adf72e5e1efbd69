"""Files that a study admin brings, and mappings that a study keeps."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from accounts.models import Study


class Upload(models.Model):
    """Files for an import: sent by a browser, or in a folder of the server.

    What the person chose last for them is here; each job has its own copy.
    """

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="uploads")
    title = models.CharField(max_length=200)
    #: The folder of the server that is read in place; "" for files that were sent.
    server_folder = models.TextField(blank=True)
    files = models.PositiveIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)
    #: The chosen format; "" as long as none was recognised or chosen.
    format = models.CharField(max_length=20, blank=True)
    #: Why the format was recognised, or what was looked for.
    recognised = models.CharField(max_length=300, blank=True)
    #: `ehr.formats.mapping.ImportMapping` as plain values.
    mapping = models.JSONField(default=dict, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    #: When the files were removed; the row stays, for the trail of imports.
    removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]


class SavedMapping(models.Model):
    """A mapping of one format under a name, for the next import."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="mappings")
    format = models.CharField(max_length=20)
    name = models.CharField(max_length=100)
    values = models.JSONField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "format", "name"], name="mapping_name_once_per_format"
            )
        ]
