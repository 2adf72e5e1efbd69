"""Where the times of an analysis come from, and what of a stay it may ask.

No Django here.
"""

from __future__ import annotations

from enum import StrEnum


class Source(StrEnum):
    """Where times are read."""

    #: Text-only times of the study timeline.
    NOTE = "note"
    #: Revised times of the study timeline.
    RECORD = "record"
    #: Revised times with people's corrections; those of `RECORD` where nobody corrected.
    CURATED = "curated"
    #: A clinician's own timeline, or the imported reference.
    REFERENCE = "reference"
    #: Rows of the record alone, by the series of the concepts.
    ROWS = "rows"

    @property
    def words(self) -> str:
        return {
            Source.NOTE: "note alone",
            Source.RECORD: "with the record",
            Source.CURATED: "with corrections",
            Source.REFERENCE: "reference",
            Source.ROWS: "rows of the record",
        }[self]
