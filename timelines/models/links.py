"""Links between the notes of a chart, and times before they were joined.

Rows are append-only (`timelines/migrations/sql/links.sql`). A further row undoes a link.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from timelines.models.inventories import Inventory, Occurrence
from timelines.models.timelines import Entry, TimeValues
from timelines.pipeline.linking.values import Decider


class _Decision(models.Model):
    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    reason = models.TextField(blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True
        ordering = ["pk"]


class OccurrenceLink(_Decision):
    """Two occurrences of different notes of a chart that are one event.

    It counts until an `Unlinking` undoes it. `first` precedes `second` in the inventory.
    """

    inventory = models.ForeignKey(Inventory, on_delete=models.CASCADE, related_name="links")
    first = models.ForeignKey(Occurrence, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(Occurrence, on_delete=models.CASCADE, related_name="+")
    decided_by = models.CharField(
        max_length=10, choices=[(d.value, d.value) for d in Decider], default=Decider.RULES.value
    )
    #: The person; null for rules and models.
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="links",
    )

    class Meta(_Decision.Meta):
        constraints = [
            models.CheckConstraint(
                condition=Q(decided_by="person", author__isnull=False)
                | (~Q(decided_by="person") & Q(author__isnull=True)),
                name="link_of_a_person_names_one",
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="link_has_a_reason"),
        ]


class Unlinking(_Decision):
    """A person's decision that a link is wrong."""

    link = models.OneToOneField(OccurrenceLink, on_delete=models.CASCADE, related_name="undone_by")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="unlinkings"
    )


class OwnTime(TimeValues):
    """The values of an entry before it got the time of its group.

    An entry without a group, or whose time is that of its group already, has none.
    """

    entry = models.OneToOneField(
        Entry, primary_key=True, on_delete=models.CASCADE, related_name="own"
    )
