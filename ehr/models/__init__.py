"""Datasets and their record; files that people bring, and jobs on them."""

from ehr.models.jobs import DatasetDeletion, ImportJob
from ehr.models.record import (
    Dataset,
    DeletedStay,
    Encounter,
    EventSeries,
    ImportedPart,
    Note,
    NotePart,
    RejectedRow,
    SeriesEmbedding,
    SourceRow,
)
from ehr.models.uploads import SavedMapping, Upload

__all__ = [
    "Dataset",
    "DatasetDeletion",
    "DeletedStay",
    "Encounter",
    "EventSeries",
    "ImportJob",
    "ImportedPart",
    "Note",
    "NotePart",
    "RejectedRow",
    "SavedMapping",
    "SeriesEmbedding",
    "SourceRow",
    "Upload",
]
