"""Searches for differences, and reviewers' notes to the study admin."""

from __future__ import annotations

from django.db import models

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from adjudication.models.judge_runs import Game
from adjudication.models.packets import Assignment, PacketItem
from adjudication.models.review import Decision


class PairSearch(models.Model):
    """A reviewer lists the differences of two timelines, without the judge's.

    Its case is one of the packet's, so the same pages are closed. The submission is a link of the
    packet's chain.
    """

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="searches")
    game = models.ForeignKey(Game, on_delete=models.RESTRICT, related_name="searches")
    #: The differences listed so far (`adjudication.review.searches.Listed` as plain values).
    draft = models.JSONField(default=list, blank=True)
    submission = models.OneToOneField(
        Decision, null=True, blank=True, on_delete=models.CASCADE, related_name="search"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["assignment", "game"], name="search_once_per_pair")
        ]


class ItemNote(models.Model):
    """What a reviewer writes to the study admin about an item."""

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="notes")
    item = models.ForeignKey(PacketItem, on_delete=models.CASCADE, related_name="notes")
    text = models.TextField()
    #: Made by the page, so that a repeated request is stored once.
    token = models.CharField(max_length=64)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["at", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["assignment", "token"], name="note_token_once")
        ]
