"""Datasets, encounters, notes, rows of the record and their series.

See architecture, "The rows that matter".
"""

from __future__ import annotations

import hashlib

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from pgvector.django import VectorField

from accounts.ids import PUBLIC_ID_LENGTH, new_public_id
from accounts.models import Study
from ehr.fields import NaiveDateTimeField


class Dataset(models.Model):
    """A cohort that was imported together, in one format, under one licence."""

    class State(models.TextChoices):
        IMPORTING = "importing", "Importing"
        READY = "ready", "Ready"
        INCOMPLETE = "incomplete", "Imported with errors"

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="datasets")
    name = models.CharField(max_length=200)
    format = models.CharField(max_length=20)
    licence = models.TextField(blank=True)
    state = models.CharField(max_length=20, choices=State.choices, default=State.IMPORTING)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="dataset_name_once_per_study")
        ]

    def __str__(self) -> str:
        return self.name


class Encounter(models.Model):
    """One stay.

    URLs have the `public_id`; `case_id` may be a record number and never leaves a page or an
    export.
    """

    class AnchorKind(models.TextChoices):
        ADMISSION = "admission", "Hospital admission"
        PRESENTATION = "presentation", "Earliest documented presentation"

    public_id = models.CharField(
        max_length=PUBLIC_ID_LENGTH, unique=True, default=new_public_id, editable=False
    )
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="encounters")
    case_id = models.CharField(max_length=100)
    subject_key = models.CharField(max_length=100, blank=True)
    title = models.CharField(max_length=500, blank=True)
    admitted_at = NaiveDateTimeField()
    discharged_at = NaiveDateTimeField(null=True, blank=True)
    anchor_kind = models.CharField(
        max_length=20, choices=AnchorKind.choices, default=AnchorKind.ADMISSION
    )
    #: What the stay is in one line, and its main unit (`ehr.record.headlines`); "" if not known.
    headline = models.CharField(max_length=300, blank=True)
    unit = models.CharField(max_length=100, blank=True)
    #: SHA-256 of everything that was imported for this case; the same input twice changes nothing.
    source_sha256 = models.CharField(max_length=64, blank=True)
    row_count = models.PositiveIntegerField(default=0)
    #: Rows whose time was invalid: excluded from series, counted and listed (protocol "Structured
    #: record").
    invalid_time_count = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["dataset", "case_id"], name="case_once_per_dataset"),
            models.CheckConstraint(
                condition=models.Q(discharged_at__isnull=True)
                | models.Q(discharged_at__gte=models.F("admitted_at")),
                name="discharge_not_before_admission",
            ),
        ]
        # For the same stay in other datasets (`ehr.record.same_stay`).
        indexes = [models.Index(fields=["case_id"], name="encounter_by_case_id")]
        ordering = ["case_id"]


class DeletedStay(models.Model):
    """A digest that identifies the stay of a deleted case.

    `ehr.record.same_stay` writes and reads them. What people have seen or authored of the case
    counts for every later import of the stay. Append-only: the database refuses changes.
    """

    #: Public id of the deleted case; the audit trail has it.
    case = models.CharField(max_length=PUBLIC_ID_LENGTH)
    #: One of the marks by which cases are recognised as one stay.
    mark_sha256 = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["mark_sha256", "case"], name="deleted_stay_once")
        ]


class Note(models.Model):
    """A note exactly as it is shown.

    Offsets everywhere are code points of `text`, end-exclusive.
    """

    encounter = models.ForeignKey(Encounter, on_delete=models.CASCADE, related_name="notes")
    kind = models.CharField(max_length=40, default="discharge summary")
    text = models.TextField()
    sha256 = models.CharField(max_length=64)
    charted_at = NaiveDateTimeField(null=True, blank=True)
    #: A chart made of other notes of the stay (`ehr.record.charts`), not an imported note.
    composed = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["encounter", "sha256"], name="note_once_per_encounter")
        ]

    @property
    def is_intact(self) -> bool:
        """Whether the text is the imported one."""
        return self.digest(self.text) == self.sha256

    @staticmethod
    def digest(text: str) -> str:
        """SHA-256 of the UTF-8 note, checked at import, render and export."""
        return hashlib.sha256(text.encode("utf-8")).hexdigest()


class NotePart(models.Model):
    """One note of a chart: which code points of the chart are the note's."""

    chart = models.ForeignKey(Note, on_delete=models.CASCADE, related_name="parts")
    note = models.ForeignKey(Note, on_delete=models.CASCADE, related_name="in_charts")
    start = models.IntegerField()
    end = models.IntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["chart", "note"], name="note_once_per_chart"),
            models.CheckConstraint(
                condition=models.Q(start__gte=0, end__gt=models.F("start")),
                name="part_is_not_empty",
            ),
        ]
        ordering = ["chart", "start"]


class SourceRow(models.Model):
    """One row of the structured record.

    The table is partitioned by dataset and, below it, by hash of the encounter. The table and its
    foreign key are made in SQL (`ehr/migrations/sql/source_rows.sql`), its partitions by
    `ehr.partitions`; Django only reads it and COPY writes it. `time` is naive local; None if the
    record has none.
    """

    pk = models.CompositePrimaryKey("dataset_id", "encounter_id", "row_index")
    dataset = models.ForeignKey(
        Dataset, on_delete=models.DO_NOTHING, related_name="+", db_index=False
    )
    encounter = models.ForeignKey(
        Encounter, on_delete=models.DO_NOTHING, related_name="rows", db_index=False
    )
    row_index = models.IntegerField()
    time = NaiveDateTimeField(null=True)
    #: When the value became known (storetime), if the source has such a time.
    result_time = NaiveDateTimeField(null=True)
    event = models.TextField()
    value = models.TextField(blank=True)
    numeric_value = models.FloatField(null=True)
    unit = models.TextField(blank=True)
    source = models.TextField(blank=True)
    time_kind = models.TextField()

    class Meta:
        db_table = "ehr_sourcerow"
        ordering = ["row_index"]


class EventSeries(models.Model):
    """All timed rows of one encounter with exactly the same event name.

    The summary is for retrieval.
    """

    encounter = models.ForeignKey(Encounter, on_delete=models.CASCADE, related_name="series")
    event = models.TextField()
    summary = models.TextField()
    row_indices = ArrayField(models.IntegerField())
    count = models.PositiveIntegerField()
    first = NaiveDateTimeField(null=True)
    last = NaiveDateTimeField(null=True)
    #: Clinical priority for the judge's renderer, 0 first (protocol section 4, "Input").
    priority = models.PositiveSmallIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["encounter", "event"], name="series_once_per_encounter")
        ]
        ordering = ["priority", "-count", "event"]


class SeriesEmbedding(models.Model):
    """One vector for each series and model.

    Vectors are searched exactly within one encounter; there is no approximate index. `encounter`
    repeats the series' encounter so that one btree finds all vectors of a case.
    """

    series = models.ForeignKey(EventSeries, on_delete=models.CASCADE, related_name="embeddings")
    encounter = models.ForeignKey(
        Encounter, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    model = models.CharField(max_length=200)
    vector = VectorField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["series", "model"], name="one_vector_per_series_and_model"
            )
        ]
        indexes = [models.Index(fields=["encounter", "model"], name="embedding_by_encounter")]


class RejectedRow(models.Model):
    """A piece of input that could not be imported: its place and the reason."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="rejected")
    case_id = models.CharField(max_length=100, blank=True)
    file = models.TextField()
    line = models.BigIntegerField(null=True)
    field = models.TextField(blank=True)
    reason = models.TextField()
    raw = models.TextField(blank=True)
    #: The `ImportedPart.key` that it belongs to; "refused" for files and cases that the last import
    #: rejected.
    part = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["dataset", "part"], name="rejected_by_part")]


class ImportedPart(models.Model):
    """One finished part of an import (a case or a file).

    An interrupted import resumes after it.
    """

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="parts")
    key = models.TextField()
    sha256 = models.CharField(max_length=64)
    rows = models.BigIntegerField(default=0)
    rejected = models.BigIntegerField(default=0)
    #: Lines of the file: each is stored, rejected, or of no case of the dataset (`left_out`).
    lines = models.BigIntegerField(default=0)
    left_out = models.BigIntegerField(default=0)
    finished_at = models.DateTimeField(auto_now=True)
    imported_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["dataset", "key"], name="import_part_once_per_dataset")
        ]
