"""The occurrences of a note and their persistent identifiers."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from ehr.models import Encounter, Note
from timelines.domain import Lane, Polarity
from timelines.models.runs import Run


class Inventory(models.Model):
    """The occurrences of one note.

    Editable while a draft, immutable once sealed.
    """

    class Origin(models.TextChoices):
        RUN = "run", "Tagged by a run"
        REFERENCE = "reference", "Authored by a clinician"
        IMPORT = "import", "Imported"

    encounter = models.ForeignKey(Encounter, on_delete=models.CASCADE, related_name="inventories")
    note = models.ForeignKey(Note, on_delete=models.CASCADE, related_name="inventories")
    origin = models.CharField(max_length=20, choices=Origin.choices)
    run = models.ForeignKey(
        Run, null=True, blank=True, on_delete=models.CASCADE, related_name="inventories"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    sealed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "inventories"
        constraints = [
            models.CheckConstraint(
                condition=Q(origin="run", run__isnull=False)
                | (~Q(origin="run") & Q(run__isnull=True)),
                name="inventory_run_iff_origin_run",
            )
        ]


class Occurrence(models.Model):
    """One occurrence and its persistent identifier.

    Span offsets are code points of the note, end-exclusive.
    """

    inventory = models.ForeignKey(Inventory, on_delete=models.CASCADE, related_name="occurrences")
    ordinal = models.PositiveIntegerField()
    uid4 = models.CharField(max_length=4)
    mention = models.TextField()
    start = models.PositiveIntegerField(null=True)
    end = models.PositiveIntegerField(null=True)
    polarity = models.CharField(
        max_length=10,
        choices=[(p.value, p.value) for p in Polarity],
        default=Polarity.PRESENT.value,
    )
    lane = models.CharField(
        max_length=20,
        choices=[(x.value, x.value) for x in Lane],
        default=Lane.FINDING.value,
    )

    class Meta:
        ordering = ["ordinal"]
        constraints = [
            models.UniqueConstraint(fields=["inventory", "uid4"], name="uid_once_per_inventory"),
            models.UniqueConstraint(
                fields=["inventory", "ordinal"], name="ordinal_once_per_inventory"
            ),
            models.CheckConstraint(
                condition=Q(uid4__regex=r"^[0-9a-f]{4}$"), name="uid_is_four_hex_digits"
            ),
            models.CheckConstraint(
                condition=Q(start__isnull=True, end__isnull=True) | Q(start__lt=F("end")),
                name="span_is_ordered",
            ),
            models.CheckConstraint(condition=~Q(mention=""), name="mention_is_not_empty"),
        ]
