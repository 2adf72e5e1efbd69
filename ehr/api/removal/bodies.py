"""The deletion of a dataset in the API."""

from __future__ import annotations

from rest_framework.serializers import BooleanField, CharField, IntegerField

from accounts.api_access.operations import Body
from ehr.api.imports.bodies import DataJob


class DeletionLoss(Body):
    """Things that are lost with the dataset."""

    count = IntegerField()
    name = CharField(help_text="Their plural.")


class Deletion(Body):
    """What is lost with a dataset, and how far its deletion is."""

    dataset = CharField()
    name = CharField()
    losses = DeletionLoss(many=True)
    refusal = CharField(allow_blank=True, help_text="Why it cannot be deleted; else empty.")
    job = DataJob(allow_null=True, help_text="The latest deletion.")


class DeletionStart(Body):
    """The confirmation."""

    confirmed = CharField(
        max_length=200, trim_whitespace=False, help_text="The name of the dataset, as typed."
    )
    delete_authored = BooleanField(
        default=False,
        help_text="Also delete timelines, corrections, comments and flags that people wrote.",
    )
