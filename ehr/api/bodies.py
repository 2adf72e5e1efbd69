"""Datasets, stays, notes, rows and series in the API.

Hours count from admission. Clock times of the record have no zone: they are local to the hospital.
"""

from __future__ import annotations

from rest_framework.serializers import (
    CharField,
    ChoiceField,
    DateTimeField,
    FloatField,
    IntegerField,
)

from accounts.api_access.bodies import LocalTimeField, NextPage, Page
from accounts.api_access.operations import Body
from ehr.models import Dataset as StoredDataset
from ehr.models import Encounter


class Dataset(Body):
    """A cohort that was imported together."""

    id = CharField(source="public_id")
    study = CharField(source="study.public_id")
    name = CharField()
    format = CharField()
    licence = CharField(allow_blank=True)
    state = ChoiceField(StoredDataset.State.choices)
    created_at = DateTimeField()
    stays = IntegerField()


class DatasetPage(Page):
    """Datasets."""

    results = Dataset(many=True)


class DatasetDetail(Dataset):
    """A dataset with its counts."""

    notes = IntegerField()
    rows = IntegerField()
    rows_without_time = IntegerField(help_text="Rows whose time could not be read.")
    rejected = IntegerField(help_text="Pieces of input that could not be imported.")


class StayDetail(Body):
    """One stay."""

    id = CharField(source="public_id")
    study = CharField(source="dataset.study.public_id")
    dataset = CharField(source="dataset.public_id")
    case_id = CharField()
    title = CharField(allow_blank=True)
    headline = CharField(allow_blank=True)
    unit = CharField(allow_blank=True)
    admitted_at = LocalTimeField()
    discharged_at = LocalTimeField(allow_null=True)
    anchor = ChoiceField(
        Encounter.AnchorKind.choices, source="anchor_kind", help_text="What hour 0 is."
    )
    notes = IntegerField(source="note_count")
    series = IntegerField(source="series_count")
    rows = IntegerField(source="row_count")


class Note(Body):
    """One note of a stay. `number` counts from 1 in order of time."""

    number = IntegerField()
    kind = CharField(source="note.kind")
    written_at = LocalTimeField(source="note.charted_at", allow_null=True)
    hours = FloatField(allow_null=True)
    sha256 = CharField(source="note.sha256", help_text="Of the text in UTF-8.")
    characters = IntegerField(help_text="Code points, which offsets count.")


class NoteDetail(Note):
    """A note with its text, exactly as imported."""

    text = CharField(source="note.text", trim_whitespace=False)


class Series(Body):
    """All rows of a stay with the same event name."""

    id = IntegerField(source="pk")
    event = CharField()
    category = CharField()
    rows = IntegerField(source="count")
    first_hours = FloatField(allow_null=True)
    last_hours = FloatField(allow_null=True)
    summary = CharField()


class SeriesPage(Page):
    """Series in order of clinical priority."""

    results = Series(many=True)


class SourceRow(Body):
    """One row of the record as imported; null hours for a row without a time."""

    row = IntegerField(source="row_index")
    time = LocalTimeField(allow_null=True)
    hours = FloatField(allow_null=True)
    known_hours = FloatField(
        allow_null=True, help_text="When the value became known, if the source says so."
    )
    event = CharField()
    value = CharField(allow_blank=True, trim_whitespace=False)
    number = FloatField(allow_null=True, source="numeric_value")
    unit = CharField(allow_blank=True)
    time_kind = CharField()
    source = CharField(allow_blank=True)  # type: ignore[assignment]  # the framework's fields have a source of their own


class RowPage(NextPage):
    """Rows in the order of the import."""

    results = SourceRow(many=True)
