"""The stay and the timeline of an exported FHIR Bundle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, UUID, uuid5

from timelines.formats.fhir import codes


@dataclass(frozen=True)
class FhirStay:
    """A stay by ids that do not identify the patient."""

    id: str
    patient: str
    admitted_at: datetime
    discharged_at: datetime | None = None


@dataclass(frozen=True)
class FhirTimeline:
    """A timeline and who made it.

    `is_person`: a clinician wrote it; else a program, in that `version`. `correctors`: who
    corrected an occurrence, by UID.
    """

    id: str
    made_at: datetime
    maker: str
    is_person: bool = False
    version: str = ""
    correctors: Mapping[str, str] = field(default_factory=dict)

    @property
    def recorded(self) -> str:
        """When it was made, as a FHIR instant."""
        return f"{self.made_at.astimezone(UTC):%Y-%m-%dT%H:%M:%S}Z"


def make_uuid(*parts: str) -> UUID:
    """Return the id of a resource: the same for the same parts."""
    return uuid5(NAMESPACE_URL, ":".join((codes.OURS, *parts)))
