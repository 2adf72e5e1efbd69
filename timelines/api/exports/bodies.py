"""Exports of cohorts and runs in the API."""

from __future__ import annotations

from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    IntegerField,
    ListField,
)

from accounts.api_access.bodies import Page
from accounts.api_access.operations import Body
from jobs.models import JobState


class Export(Body):
    """One export that you started. A closed one has no counts."""

    id = CharField(source="export.public_id")
    study = CharField(source="export.study.public_id")
    dataset = CharField(source="export.dataset.public_id")
    run = CharField(source="export.run.public_id", allow_null=True, default=None)
    format = CharField(source="export.format")
    with_note_text = BooleanField(source="export.with_note_text")
    all_sources = BooleanField(source="export.all_sources")
    state = ChoiceField(JobState.choices, source="export.state")
    active = BooleanField(help_text="It may still change by itself.")
    paused = BooleanField()
    closed = BooleanField(help_text="It has cases that are closed to you.")
    downloadable = BooleanField()
    lines = IntegerField(allow_null=True, help_text="Occurrences in the file.")
    size = IntegerField(allow_null=True, help_text="Bytes.")
    sha256 = CharField(allow_blank=True)
    reasons = ListField(
        child=CharField(), source="export.reasons", help_text="Why attempts failed."
    )
    created_at = DateTimeField(source="export.created_at")
    expires_at = DateTimeField(allow_null=True, help_text="When its file is deleted.")


class ExportPage(Page):
    """Exports, newest first."""

    results = Export(many=True)


class ExportStart(Body):
    """What is exported. A run alone is enough, or a dataset."""

    dataset = CharField(default="", allow_blank=True, max_length=20)
    run = CharField(
        default="",
        allow_blank=True,
        max_length=20,
        help_text="Without it the study timeline and references of the dataset.",
    )
    all_sources = BooleanField(
        default=False,
        help_text="Without a run: all sources and variants, the latest run of each. A dataset"
        " without a study timeline is always exported so.",
    )
    format = CharField(default="csv", max_length=20)
    with_note_text = BooleanField(default=False)
