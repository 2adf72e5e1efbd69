"""Large files into the database: block by block, one transaction a block, memory flat; killed, it goes on after the last block.

A file is remembered by the SHA-256 of its bytes and of the source's identity (`ImportedPart`), its finished blocks while it
is being read. Series are built from the stored rows at the end, some encounters a transaction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from django.db import transaction
from django.db.models import Count, Max, Sum

from accounts.models import User
from ehr.ahead import ahead
from ehr.copying import copy_rows, copy_series
from ehr.formats.base import EncounterRecord, Rejection
from ehr.formats.csv_blocks import WrongFile
from ehr.formats.stream import EncounterList, Ints, StreamBlock, StreamFile, StreamSource
from ehr.ingest import Progress
from ehr.models import Dataset, Encounter, ImportedPart, Note, SourceRow
from ehr.reading import read_rows
from ehr.report import ImportReport, keep_rejections, kept_rejections
from ehr.summarise import summarise

#: Rows whose series are built at once.
SERIES_ROWS = 300_000
ENCOUNTERS_AT_ONCE = 5_000
OTHER_FILE = "the file is not the one this dataset was imported from; delete the dataset, or choose another name"


def import_stream(dataset: Dataset, source: StreamSource, report: ImportReport, *, by: User | None, progress: Progress) -> None:
    """Import what is not there yet. Raises FormatError; a file that cannot be read to its end is reported and left at its last block."""
    listed = source.encounters()
    files = source.files()
    report.missing_files += listed.missing_files
    steps = len(files) + 3
    ids = _encounters(dataset, listed, source.identity, report, by)
    progress(1, steps, "files")
    counters = _Counters(dataset, ids)
    for done, file in enumerate(files, start=2):
        _file(dataset, file, source.identity, ids, counters, report, by)
        progress(done, steps, "files")
    _notes(dataset, source, ids, report, by)
    progress(steps - 1, steps, "files")
    _series(dataset, report)
    progress(steps, steps, "files")


class _Counters:
    """The next row index of each encounter."""

    def __init__(self, dataset: Dataset, ids: Ints) -> None:
        self._next = np.zeros(len(ids), np.int64)
        place = {int(pk): i for i, pk in enumerate(ids)}
        stored = SourceRow.objects.filter(dataset=dataset).order_by().values_list("encounter_id").annotate(Max("row_index"))
        for encounter_id, highest in stored:
            self._next[place[encounter_id]] = highest + 1

    def take(self, encounters: Ints) -> Ints:
        """A row index for each row, counting on within its encounter."""
        order = np.argsort(encounters, kind="stable")
        ordered = encounters[order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, np.int64)
        counts = np.diff(np.r_[starts, len(ordered)])
        indices = np.empty(len(encounters), np.int64)
        indices[order] = self._next[ordered] + np.arange(len(ordered)) - np.repeat(starts, counts)
        self._next[ordered[starts]] += counts
        return indices


def _encounters(dataset: Dataset, listed: EncounterList, identity: str, report: ImportReport, by: User | None) -> Ints:
    """Store the encounters where they are new; the primary key of each, in the source's order."""
    sha256 = _fingerprint(identity, *(repr(e) for e in listed.encounters))
    part = ImportedPart.objects.filter(dataset=dataset, key="encounters").first()
    if part is not None and part.sha256 != sha256:
        raise WrongFile(Rejection("encounters", "the dataset was imported with other admissions; choose another name"))
    if part is None:
        with transaction.atomic():
            Encounter.objects.bulk_create((_encounter(dataset, e) for e in listed.encounters), batch_size=ENCOUNTERS_AT_ONCE)
            keep_rejections(dataset, listed.rejections)
            ImportedPart.objects.create(dataset=dataset, key="encounters", sha256=sha256, rejected=len(listed.rejections), imported_by=by)
        report.imported += len(listed.encounters)
    else:
        report.unchanged += len(listed.encounters)
    report.add_rejections(listed.rejections)
    keys = dict(dataset.encounters.order_by().values_list("case_id", "pk"))
    return np.array([keys[e.case_id] for e in listed.encounters], np.int64)


def _encounter(dataset: Dataset, e: EncounterRecord) -> Encounter:
    return Encounter(
        dataset=dataset,
        case_id=e.case_id,
        subject_key=e.subject_key,
        title=e.title,
        admitted_at=e.admitted_at,
        discharged_at=e.discharged_at,
        anchor_kind=e.anchor,
    )


def _file(dataset: Dataset, file: StreamFile, identity: str, ids: Ints, counters: _Counters, report: ImportReport, by: User | None) -> None:
    """Store the blocks of one file that are not there yet. A file that turned up or changed after the series were built is refused."""
    sha256 = _fingerprint(identity, file.digest())
    part = ImportedPart.objects.filter(dataset=dataset, key=file.name).first()
    blocks = ImportedPart.objects.filter(dataset=dataset, key__startswith=f"{file.name}#")
    if part is not None and part.sha256 == sha256:
        report.add_rejections(kept_rejections(dataset, file.name) if part.rejected else ())
        return
    if part is not None or blocks.exclude(sha256=sha256).exists() or _finished(dataset):
        report.refused += 1
        report.add_rejections([Rejection(file.name, OTHER_FILE)])
        return
    stored = blocks.count()
    report.add_rejections(kept_rejections(dataset, file.name) if stored else ())
    try:
        for number, block in enumerate(ahead(file.blocks())):
            if number < stored:
                continue
            with transaction.atomic():
                count = _block(dataset, block, ids, counters)
                key = f"{file.name}#{number:06}"
                values = {"rows": count, "rejected": len(block.rejections), "imported_by": by}
                ImportedPart.objects.create(dataset=dataset, key=key, sha256=sha256, **values)
            report.rows += count
            report.add_rejections(block.rejections)
    except WrongFile as error:
        report.refused += 1
        report.add_rejections([error.rejection])
        return
    with transaction.atomic():
        total = blocks.aggregate(rows=Sum("rows", default=0), rejected=Sum("rejected", default=0))
        blocks.delete()
        ImportedPart.objects.create(dataset=dataset, key=file.name, sha256=sha256, imported_by=by, **total)


def _finished(dataset: Dataset) -> bool:
    """True once series were built: rows that come later would be missing in them."""
    return dataset.encounters.exclude(source_sha256="").exists()


def _block(dataset: Dataset, block: StreamBlock, ids: Ints, counters: _Counters) -> int:
    """Store one block: rows of the dataset's encounters get their index, the others are left out."""
    keep_rejections(dataset, block.rejections)
    rows, encounters = block.rows, block.encounters
    if (encounters < 0).any():
        kept = np.flatnonzero(encounters >= 0)
        rows, encounters = rows.take(pa.array(kept)), encounters[kept]
    indices = pa.array(counters.take(encounters), pa.int32())
    return copy_rows(rows.append_column("row_index", indices), dataset_id=dataset.pk, encounter_ids=ids[encounters])


def _notes(dataset: Dataset, source: StreamSource, ids: Ints, report: ImportReport, by: User | None) -> None:
    """Store every note once; a repeated import finds them by their digest."""
    part = ImportedPart.objects.filter(dataset=dataset, key="notes").first()
    if part is not None:
        report.add_rejections(kept_rejections(dataset, "note/") if part.rejected else ())
        return
    rejected = 0
    try:
        for block in source.notes():
            with transaction.atomic():
                Note.objects.bulk_create(
                    (
                        Note(encounter_id=ids[i], kind=n.kind, text=n.text, sha256=Note.digest(n.text), charted_at=n.charted_at)
                        for i, n in block.notes
                    ),
                    ignore_conflicts=True,
                )
                keep_rejections(dataset, block.rejections)
            rejected += len(block.rejections)
            report.add_rejections(block.rejections)
    except WrongFile as error:
        report.refused += 1
        report.add_rejections([error.rejection])
        return
    ImportedPart.objects.create(dataset=dataset, key="notes", sha256=_fingerprint(source.identity), rejected=rejected, imported_by=by)


def _series(dataset: Dataset, report: ImportReport) -> None:
    """Build the series of the encounters that have none yet; `source_sha256` marks those that are finished.

    Nothing is built while a file is refused: its rows would come too late for the series.
    """
    if report.refused:
        return
    for ids, counts in _batches(dataset):
        with transaction.atomic():
            rows, owners = read_rows(dataset.pk, ids.tolist())
            report.series += copy_series(summarise(rows, np.searchsorted(ids, owners)), ids)
            finished = [
                Encounter(pk=pk, row_count=n, source_sha256=_fingerprint(str(n))) for pk, n in zip(ids.tolist(), counts, strict=True)
            ]
            Encounter.objects.bulk_update(finished, ["row_count", "source_sha256"], batch_size=1000)


def _batches(dataset: Dataset) -> Iterator[tuple[Ints, list[int]]]:
    """(primary keys in order, row counts) of unfinished encounters, about SERIES_ROWS rows at once."""
    unfinished = dataset.encounters.filter(source_sha256="").order_by("pk").values_list("pk", flat=True)
    stored = SourceRow.objects.filter(dataset=dataset).order_by().values_list("encounter_id").annotate(Count("row_index"))
    counts = dict(stored)
    batch: list[int] = []
    size = 0
    for pk in list(unfinished):
        batch.append(pk)
        size += counts.get(pk, 0)
        if size >= SERIES_ROWS or len(batch) >= ENCOUNTERS_AT_ONCE:
            yield np.array(batch, np.int64), [counts.get(p, 0) for p in batch]
            batch, size = [], 0
    if batch:
        yield np.array(batch, np.int64), [counts.get(p, 0) for p in batch]


def _fingerprint(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
