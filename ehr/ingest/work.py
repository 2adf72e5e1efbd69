"""One import of a source into a dataset: what all its steps need."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import QuerySet

from accounts.models import User
from ehr.formats.base import EncounterRecord, NoteRecord, describe_fault
from ehr.formats.limits import Limits
from ehr.formats.stream import EncounterList, StreamFile
from ehr.ingest.cases import Replacing
from ehr.ingest.steps import Steps
from ehr.models import Dataset, Encounter, ImportedPart, Note
from ehr.report import ImportReport, replace_rejections

#: `ImportedPart.key` of the list of encounters.
ENCOUNTERS = "encounters"
ENCOUNTERS_AT_ONCE = 5_000


@dataclass(frozen=True)
class Work:
    """A source that was opened. `digests` are those of its files by name."""

    dataset: Dataset
    identity: str
    listed: EncounterList
    files: Sequence[StreamFile]
    digests: Mapping[str, str]
    replacing: Replacing
    limits: Limits
    report: ImportReport
    by: User | None
    steps: Steps

    @cached_property
    def list_sha256(self) -> str:
        """Return the fingerprint of the list of encounters."""
        return fingerprint(self.identity, *(repr(e) for e in self.listed.encounters))

    @cached_property
    def sha256(self) -> str:
        """Return the fingerprint of everything that is brought."""
        return fingerprint(self.list_sha256, *(f"{n} {d}" for n, d in self.digests.items()))

    @property
    def parts(self) -> QuerySet[ImportedPart]:
        """Return what was stored by earlier imports."""
        return ImportedPart.objects.filter(dataset=self.dataset)

    def find_stored(self) -> dict[str, Encounter]:
        """Return case id → stored stay."""
        return {e.case_id: e for e in self.dataset.encounters.order_by()}

    def add_encounters(self, new: Sequence[EncounterRecord]) -> None:
        """Store stays that are empty yet, and what was refused of the list."""
        stays = (make_encounter(self.dataset, e) for e in new)
        Encounter.objects.bulk_create(stays, batch_size=ENCOUNTERS_AT_ONCE)
        replace_rejections(self.dataset, ENCOUNTERS, self.listed.rejections)

    def store_part(self, key: str, sha256: str, rejected: int = 0) -> None:
        """Store the fingerprint of a part."""
        values = {"sha256": sha256, "rejected": rejected, "imported_by": self.by}
        ImportedPart.objects.update_or_create(dataset=self.dataset, key=key, defaults=values)


def digest_files(identity: str, files: Sequence[StreamFile], steps: Steps) -> dict[str, str]:
    """Return name → SHA-256 of each file; "" if it cannot be read."""
    found = {}
    for file in files:
        steps.report()
        try:
            readable = not describe_fault(file.path)
            found[file.name] = fingerprint(identity, file.digest()) if readable else ""
        except OSError:
            found[file.name] = ""
    return found


def fingerprint(*parts: str) -> str:
    """Return the SHA-256 of texts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def make_encounter(dataset: Dataset, e: EncounterRecord) -> Encounter:
    """Return a stay that is not stored yet."""
    return Encounter(dataset=dataset, case_id=e.case_id, **_values(e))


def make_note(n: NoteRecord) -> Note:
    """Return a note that is not stored yet."""
    return Note(kind=n.kind, text=n.text, sha256=Note.digest(n.text), charted_at=n.charted_at)


def is_same_stay(stored: Encounter, e: EncounterRecord) -> bool:
    """Return True if the record says what is stored of the stay."""
    return all(getattr(stored, name) == value for name, value in _values(e).items())


def _values(e: EncounterRecord) -> dict[str, Any]:
    return {
        "subject_key": e.subject_key,
        "title": e.title,
        "admitted_at": e.admitted_at,
        "discharged_at": e.discharged_at,
        "anchor_kind": e.anchor,
    }
