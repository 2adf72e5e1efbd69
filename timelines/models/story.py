"""Milestones that people pinned in the story of a case."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from timelines.models.inventories import Occurrence


class StoryPin(models.Model):
    """A milestone that was pinned or unpinned for the study.

    The last row of an occurrence wins. Append-only: the database refuses changes. A pin leaves only
    together with its occurrence.
    """

    occurrence = models.ForeignKey(Occurrence, on_delete=models.CASCADE, related_name="pins")
    pinned = models.BooleanField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["occurrence", "-id"], name="last_pin_of_occurrence")]
