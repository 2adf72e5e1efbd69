"""Import large files block by block, one transaction each.

Memory stays flat; a killed import continues after its last block. A file is stored with the SHA-256
of its bytes and of the source's identity (`ImportedPart`), and so are its finished blocks while it
is being read. Series are built from the stored rows at the end, some encounters in each
transaction.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from django.db import DataError, transaction
from django.db.models import Count, F, Func, IntegerField, Max, Sum

from accounts.models import User
from ehr.formats.base import EncounterRecord, Rejection, WrongFile, describe_fault
from ehr.formats.limits import Limits
from ehr.formats.stream import EncounterList, Ints, NoteBlock, StreamBlock, StreamFile, StreamSource
from ehr.ingest.ahead import prefetch
from ehr.ingest.cases import Progress
from ehr.ingest.copying import copy_rows, copy_series
from ehr.ingest.steps import Steps
from ehr.models import Dataset, Encounter, ImportedPart, Note, SourceRow
from ehr.record.headlines import store_headlines
from ehr.record.reading import read_rows
from ehr.report import REFUSED, ImportReport, replace_rejections, store_rejections
from ehr.summarise import summarise

#: Rows whose series are built at once.
SERIES_ROWS = 300_000
ENCOUNTERS_AT_ONCE = 5_000
#: The columns whose bytes count for a case.
TEXTS = ("event", "value", "unit", "source")
ENCOUNTERS = "encounters"
OTHER_FILE = (
    "this file was not there, or was different, when the dataset was imported; import the files"
    " under another name"
)
OTHER_ENCOUNTERS = (
    "the dataset was imported with other admissions; import the files under another name"
)


def import_stream(
    dataset: Dataset,
    source: StreamSource,
    report: ImportReport,
    *,
    by: User | None,
    limits: Limits,
    progress: Progress,
) -> None:
    """Import what is not there yet. Raises FormatError.

    A file that cannot be read to its end is refused and left at its last block; the others are
    imported.
    """
    refused: list[Rejection] = []
    try:
        listed = source.encounters()
        ids = _encounters(dataset, listed, source.identity, report, by)
    except WrongFile as error:
        refused.append(error.rejection)
    except OSError:
        refused.append(Rejection(ENCOUNTERS, "the admissions cannot be read"))
    else:
        refused += listed.refused
        report.missing_files += listed.missing_files
        report.unread_files += listed.unread_files
        _Import(dataset, source, ids, limits, report, by, progress).run(refused)
    replace_rejections(dataset, REFUSED, refused)
    report.refused += len(refused)
    report.add_rejections(refused)


class _Counters:
    """The next row index of each encounter, and the bytes of its rows."""

    def __init__(self, dataset: Dataset, ids: Ints) -> None:
        self._next, self._bytes = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64)
        place = {int(pk): i for i, pk in enumerate(ids)}
        stored = (
            SourceRow.objects.filter(dataset=dataset)
            .order_by()
            .values_list("encounter_id")
            .annotate(
                highest=Max("row_index"),
                size=Sum(
                    sum(
                        Func(F(c), function="octet_length", output_field=IntegerField())
                        for c in TEXTS
                    )
                ),
            )
        )
        for encounter_id, highest, size in stored:
            if encounter_id in place:
                self._next[place[encounter_id]] = highest + 1
                self._bytes[place[encounter_id]] = size

    def take(self, encounters: Ints, sizes: Ints) -> tuple[Ints, Ints]:
        """Return (row index, bytes of the encounter so far) of each row.

        `sizes` are the bytes of the rows. Both count on within the encounter.
        """
        order = np.argsort(encounters, kind="stable")
        ordered = encounters[order]
        starts = (
            np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
            if len(ordered)
            else np.zeros(0, np.int64)
        )
        counts = np.diff(np.r_[starts, len(ordered)])
        indices = np.empty(len(encounters), np.int64)
        indices[order] = self._next[ordered] + np.arange(len(ordered)) - np.repeat(starts, counts)
        self._next[ordered[starts]] += counts
        sums = np.cumsum(sizes[order])
        before = np.repeat(sums[starts] - sizes[order][starts], counts)
        so_far = np.empty(len(encounters), np.int64)
        so_far[order] = self._bytes[ordered] + sums - before
        np.maximum.at(self._bytes, encounters, so_far)
        return indices, so_far


def _encounters(
    dataset: Dataset, listed: EncounterList, identity: str, report: ImportReport, by: User | None
) -> Ints:
    """Store new encounters; return all primary keys in the source's order.

    Raises WrongFile for changed encounters.
    """
    sha256 = _fingerprint(identity, *(repr(e) for e in listed.encounters))
    part = ImportedPart.objects.filter(dataset=dataset, key=ENCOUNTERS).first()
    stored = {e.case_id: e for e in dataset.encounters.order_by()}
    if part is not None and part.sha256 != sha256 and not listed.separate:
        raise WrongFile(Rejection(ENCOUNTERS, OTHER_ENCOUNTERS))
    for e in listed.encounters:
        if e.case_id in stored and _values(stored[e.case_id]) != _values(_encounter(dataset, e)):
            raise WrongFile(Rejection(ENCOUNTERS, OTHER_ENCOUNTERS, case_id=e.case_id))
    new = [e for e in listed.encounters if e.case_id not in stored]
    with transaction.atomic():
        Encounter.objects.bulk_create(
            (_encounter(dataset, e) for e in new), batch_size=ENCOUNTERS_AT_ONCE
        )
        replace_rejections(dataset, ENCOUNTERS, listed.rejections)
        if listed.encounters and (part is None or part.sha256 != sha256):
            values = {"sha256": sha256, "rejected": len(listed.rejections), "imported_by": by}
            ImportedPart.objects.update_or_create(dataset=dataset, key=ENCOUNTERS, defaults=values)
    report.imported += len(new)
    report.unchanged += len(listed.encounters) - len(new)
    report.add_rejections(listed.rejections)
    keys = dict(dataset.encounters.order_by().values_list("case_id", "pk"))
    return np.array([keys[e.case_id] for e in listed.encounters], np.int64)


def _values(e: Encounter) -> tuple[object, ...]:
    return e.admitted_at, e.discharged_at, e.anchor_kind, e.title, e.subject_key


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


class _Import:
    """The files of one source on their way into a dataset."""

    def __init__(
        self,
        dataset: Dataset,
        source: StreamSource,
        ids: Ints,
        limits: Limits,
        report: ImportReport,
        by: User | None,
        progress: Progress,
    ) -> None:
        self._dataset, self._source, self._ids, self._limits, self._report, self._by = (
            dataset,
            source,
            ids,
            limits,
            report,
            by,
        )
        self._counters = _Counters(dataset, ids)
        self._steps = Steps(progress, source.files())

    def run(self, refused: list[Rejection]) -> None:
        """Store every file, then build the series.

        Files that cannot be read are added to `refused`.
        """
        unread = False
        for file in self._steps.files:
            rejection = self._try(file)
            if rejection is not None:
                refused.append(rejection)
                unread = unread or not file.notes
            self._steps.end(file)
        # Rows of a file that is corrected later would come too late for the series.
        if not unread:
            _series(self._dataset, self._report, self._steps)
            # A new note empties its case's line, so an interrupted import finds it again.
            unsaid = self._dataset.encounters.filter(headline="").exclude(source_sha256="")
            store_headlines(list(unsaid.values_list("pk", flat=True)))
        self._steps.finish()

    def _try(self, file: StreamFile) -> Rejection | None:
        """Store one file; why it was refused."""
        try:
            self._file(file)
        except WrongFile as error:
            return error.rejection
        except OSError:
            return Rejection(file.name, "the file cannot be read")
        except DataError:
            # Values are checked before; this one was not foreseen.
            return Rejection(file.name, "the database cannot store a value of this file")
        return None

    def _file(self, file: StreamFile) -> None:
        """Store the new blocks of one file.

        Raises WrongFile, also for rows that come after their series.
        """
        if reason := describe_fault(file.path):
            raise WrongFile(Rejection(file.name, reason))
        sha256 = _fingerprint(self._source.identity, file.digest())
        parts = ImportedPart.objects.filter(dataset=self._dataset)
        part = parts.filter(key=file.name).first()
        blocks = parts.filter(key__startswith=f"{file.name}#")
        if part is not None and part.sha256 == sha256:
            if part.rejected:
                self._report.add_stored(self._dataset, file.name)
            self._count(part.lines, part.left_out)
            return
        if part is not None or blocks.exclude(sha256=sha256).exists() or self._is_late(file):
            raise WrongFile(Rejection(file.name, OTHER_FILE))
        stored = blocks.count()
        if stored:
            self._report.add_stored(self._dataset, file.name)
        made: Iterator[StreamBlock | NoteBlock] = prefetch(file.blocks())
        for number, block in enumerate(made):
            self._steps.report()
            if number >= stored:
                self._store(file, f"{file.name}#{number:06}", sha256, block)
        with transaction.atomic():
            sums = {
                name: Sum(name, default=0) for name in ("rows", "rejected", "lines", "left_out")
            }
            total = blocks.aggregate(**sums)
            blocks.delete()
            ImportedPart.objects.create(
                dataset=self._dataset, key=file.name, sha256=sha256, imported_by=self._by, **total
            )
        self._count(total["lines"], total["left_out"])

    def _is_late(self, file: StreamFile) -> bool:
        """True where series were built that lack the file's rows."""
        built = self._dataset.encounters.exclude(source_sha256="")
        return (
            not file.notes
            and (built if file.place is None else built.filter(pk=self._ids[file.place])).exists()
        )

    @transaction.atomic
    def _store(
        self, file: StreamFile, key: str, sha256: str, block: StreamBlock | NoteBlock
    ) -> None:
        """One block with its rejections, in one transaction."""
        left_out = block.left_out
        if isinstance(block, NoteBlock):
            rows, late = self._notes(file, block)
            if block.repeats_left_out:
                left_out, late = left_out + len(late), []
        else:
            rows, late = self._rows(file, block)
            self._report.rows += rows
        rejections = (*block.rejections, *late)
        store_rejections(self._dataset, file.name, rejections)
        counts = {
            "rows": rows,
            "rejected": len(rejections),
            "lines": block.offered,
            "left_out": left_out,
        }
        ImportedPart.objects.create(
            dataset=self._dataset, key=key, sha256=sha256, imported_by=self._by, **counts
        )
        self._report.add_rejections(rejections)

    def _rows(self, file: StreamFile, block: StreamBlock) -> tuple[int, list[Rejection]]:
        """Store rows with their index in their case; return (count, rejections).

        Rows beyond the longest case are rejected.
        """
        rows, encounters, limits = block.rows, block.encounters, self._limits
        indices, so_far = self._counters.take(encounters, _count_bytes(rows))
        many, long = indices >= limits.case_rows, so_far > limits.case_bytes
        beyond = many | long
        rejections = []
        if beyond.any():
            reasons = (
                (many, f"the case has more than {limits.case_rows:,} rows (IMPORT_CASE_ROWS)"),
                (
                    long & ~many,
                    f"the case has more than {limits.case_bytes:,} bytes (IMPORT_CASE_BYTES)",
                ),
            )
            rejections = [
                file.reject(reason, line)
                for mask, reason in reasons
                for line in np.unique(block.lines[mask]).tolist()
            ]
            rows, encounters, indices = (
                rows.filter(pa.array(~beyond)),
                encounters[~beyond],
                indices[~beyond],
            )
        numbered = rows.append_column("row_index", pa.array(indices, pa.int32()))
        return (
            copy_rows(numbered, dataset_id=self._dataset.pk, encounter_ids=self._ids[encounters]),
            rejections,
        )

    def _notes(self, file: StreamFile, block: NoteBlock) -> tuple[int, list[Rejection]]:
        """Store notes; one that its case has already is rejected."""
        made = [
            (
                line,
                Note(
                    encounter_id=self._ids[i],
                    kind=n.kind,
                    text=n.text,
                    sha256=Note.digest(n.text),
                    charted_at=n.charted_at,
                ),
            )
            for i, line, n in block.notes
        ]
        digests = {note.sha256 for _, note in made}
        seen = set(
            Note.objects.filter(encounter__dataset=self._dataset, sha256__in=digests).values_list(
                "encounter_id", "sha256"
            )
        )
        new, rejections = [], []
        for line, note in made:
            if (note.encounter_id, note.sha256) in seen:
                rejections.append(file.reject("the case has this note already", line))
            else:
                seen.add((note.encounter_id, note.sha256))
                new.append(note)
        Note.objects.bulk_create(new, batch_size=1000)
        Encounter.objects.filter(pk__in={note.encounter_id for note in new}).update(headline="")
        return len(new), rejections

    def _count(self, lines: int, left_out: int) -> None:
        self._report.lines_read += lines
        self._report.left_out += left_out


def _count_bytes(rows: pa.Table) -> Ints:
    """Return the bytes of the texts of each row."""
    lengths = [pc.binary_length(rows[c]).to_numpy().astype(np.int64) for c in TEXTS]
    return np.sum(lengths, axis=0)


def _series(dataset: Dataset, report: ImportReport, steps: Steps) -> None:
    """Build the series of the encounters that have none yet.

    `source_sha256` marks finished encounters.
    """
    for ids, counts in _batches(dataset):
        steps.report()
        with transaction.atomic():
            rows, owners = read_rows(dataset.pk, ids.tolist())
            report.series += copy_series(summarise(rows, np.searchsorted(ids, owners)), ids)
            finished = [
                Encounter(pk=pk, row_count=n, source_sha256=_fingerprint(str(n)))
                for pk, n in zip(ids.tolist(), counts, strict=True)
            ]
            Encounter.objects.bulk_update(finished, ["row_count", "source_sha256"], batch_size=1000)


def _batches(dataset: Dataset) -> Iterator[tuple[Ints, list[int]]]:
    """Yield (primary keys in order, row counts) of unfinished encounters.

    A batch has about SERIES_ROWS rows.
    """
    unfinished = (
        dataset.encounters.filter(source_sha256="").order_by("pk").values_list("pk", flat=True)
    )
    stored = (
        SourceRow.objects.filter(dataset=dataset)
        .order_by()
        .values_list("encounter_id")
        .annotate(Count("row_index"))
    )
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
