"""Import large files block by block, one transaction each.

Memory stays flat; a killed import continues after its last block. A file is stored with the SHA-256
of its bytes and of the source's identity (`ImportedPart`), and so are its finished blocks while it
is being read. Series are built from the stored rows at the end, some encounters in each
transaction. Files that changed: `ehr.ingest.again`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from django.db import DataError, transaction
from django.db.models import Sum

from accounts.models import User
from ehr.formats.base import Rejection, WrongFile, describe_fault
from ehr.formats.limits import Limits
from ehr.formats.stream import NoteBlock, StreamBlock, StreamFile, StreamSource
from ehr.ingest.again import count_refused, empty_changed
from ehr.ingest.ahead import prefetch
from ehr.ingest.batches import make_batches
from ehr.ingest.cases import Progress, Replacing
from ehr.ingest.changes import AGAIN, is_continued, must_compare
from ehr.ingest.copying import copy_rows, copy_series
from ehr.ingest.counters import Counters
from ehr.ingest.steps import Steps
from ehr.ingest.work import ENCOUNTERS, Work, digest_files, fingerprint, make_note
from ehr.models import Dataset, Encounter, ImportedPart, Note
from ehr.record.headlines import store_headlines
from ehr.record.reading import read_rows
from ehr.report import REFUSED, ImportReport, replace_rejections, store_rejections
from ehr.summarise import summarise


def import_stream(
    dataset: Dataset,
    source: StreamSource,
    report: ImportReport,
    *,
    by: User | None,
    replacing: Replacing,
    limits: Limits,
    progress: Progress,
) -> None:
    """Import what is not there yet. Raises FormatError.

    A file that cannot be read to its end is refused and left at its last block; the others are
    imported. If files changed, a file that cannot be read leaves everything as it is.
    """
    refused: list[Rejection] = []
    try:
        listed = source.encounters()
        files = source.files()
    except WrongFile as error:
        refused.append(error.rejection)
    except OSError:
        refused.append(Rejection(ENCOUNTERS, "the admissions cannot be read"))
    else:
        refused += listed.refused
        report.missing_files += listed.missing_files
        report.unread_files += listed.unread_files
        steps = Steps(progress, files)
        digests = digest_files(source.identity, files, steps)
        work = Work(
            dataset, source.identity, listed, files, digests, replacing, limits, report, by, steps
        )
        try:
            _Import(work, again=_prepare(work)).run(refused)
        except WrongFile as error:
            refused.append(error.rejection)
    replace_rejections(dataset, REFUSED, refused)
    report.refused += len(refused)
    report.add_rejections(refused)


def _prepare(work: Work) -> bool:
    """Store new stays and empty changed ones; return True after a comparison.

    Raises WrongFile.
    """
    again = is_continued(work)
    if not again and must_compare(work):
        work.steps.expect_twice()
        empty_changed(work)
        again = True
    else:
        _add_new(work)
    count_refused(work)
    work.report.add_rejections(work.listed.rejections)
    return again


def _add_new(work: Work) -> None:
    """Store the encounters that are not there yet."""
    stored = work.find_stored()
    new = [e for e in work.listed.encounters if e.case_id not in stored]
    part = work.parts.filter(key=ENCOUNTERS).first()
    with transaction.atomic():
        work.add_encounters(new)
        if work.listed.encounters and (part is None or part.sha256 != work.list_sha256):
            work.store_part(ENCOUNTERS, work.list_sha256, len(work.listed.rejections))
    work.report.imported += len(new)
    work.report.unchanged += len(work.listed.encounters) - len(new)


class _Import:
    """The files of one source on their way into a dataset.

    `again`: they were compared, and are stored for unfinished encounters alone.
    """

    def __init__(self, work: Work, *, again: bool) -> None:
        self._work, self._dataset, self._report = work, work.dataset, work.report
        stored = work.dataset.encounters.order_by().values_list("case_id", "pk", "source_sha256")
        known = {case: (pk, not sha256) for case, pk, sha256 in stored}
        found = [known[e.case_id] for e in work.listed.encounters]
        self._ids = np.array([pk for pk, _ in found], np.int64)
        self._taken = np.array([unfinished or not again for _, unfinished in found], bool)
        self._passed: set[tuple[int, str]] = set()
        self._counters = Counters(len(found), work.limits)
        self._counters.load(self._dataset, np.where(self._taken, self._ids, 0))

    def run(self, refused: list[Rejection]) -> None:
        """Store every file, then build the series.

        Files that cannot be read are added to `refused`.
        """
        unread = False
        for file in self._work.files:
            rejection = self._try(file)
            if rejection is not None:
                refused.append(rejection)
                unread = unread or not file.notes
            self._work.steps.end(file)
        # Rows of a file that is corrected later would come too late for the series.
        if not unread:
            self._finish()
        self._work.steps.finish()

    def _finish(self) -> None:
        """Build series and headlines; the stays are complete then."""
        unfinished = self._dataset.encounters.filter(source_sha256="").order_by("pk")
        keys = set(self._ids.tolist())
        ours = [pk for pk in unfinished.values_list("pk", flat=True) if pk in keys]
        _series(self._work, ours)
        # A new note empties its case's line, so an interrupted import finds it again.
        unsaid = self._dataset.encounters.filter(headline="").exclude(source_sha256="")
        store_headlines(list(unsaid.values_list("pk", flat=True)))
        self._work.parts.filter(key=AGAIN).delete()

    def _try(self, file: StreamFile) -> Rejection | None:
        """Store one file; return why it was refused."""
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
        """Store the new blocks of one file. Raises WrongFile."""
        if reason := describe_fault(file.path):
            raise WrongFile(Rejection(file.name, reason))
        sha256 = self._work.digests[file.name] or fingerprint(self._work.identity, file.digest())
        part = self._work.parts.filter(key=file.name).first()
        blocks = self._work.parts.filter(key__startswith=f"{file.name}#")
        if part is not None:
            if part.rejected:
                self._report.add_stored(self._dataset, file.name)
            self._count(part.lines, part.left_out)
            return
        stored = blocks.count()
        if stored:
            self._report.add_stored(self._dataset, file.name)
        made: Iterator[StreamBlock | NoteBlock] = prefetch(file.blocks())
        for number, block in enumerate(made):
            self._work.steps.report()
            if number >= stored:
                self._store(file, f"{file.name}#{number:06}", sha256, block)
        with transaction.atomic():
            sums = {
                name: Sum(name, default=0) for name in ("rows", "rejected", "lines", "left_out")
            }
            total = blocks.aggregate(**sums)
            blocks.delete()
            ImportedPart.objects.create(
                dataset=self._dataset,
                key=file.name,
                sha256=sha256,
                imported_by=self._work.by,
                **total,
            )
        self._count(total["lines"], total["left_out"])

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
        rejections = (*block.rejections, *late)
        store_rejections(self._dataset, file.name, rejections)
        counts = {
            "rows": rows,
            "rejected": len(rejections),
            "lines": block.offered,
            "left_out": left_out,
        }
        ImportedPart.objects.create(
            dataset=self._dataset, key=key, sha256=sha256, imported_by=self._work.by, **counts
        )
        self._report.add_rejections(rejections)

    def _rows(self, file: StreamFile, block: StreamBlock) -> tuple[int, list[Rejection]]:
        """Store rows; return (count of the file's own, rejections)."""
        numbered, places, rejections = self._counters.number(file, block)
        count, taken = len(places), self._taken[places]
        if not taken.all():
            numbered, places = numbered.filter(pa.array(taken)), places[taken]
        self._report.rows += copy_rows(
            numbered, dataset_id=self._dataset.pk, encounter_ids=self._ids[places]
        )
        return count, rejections

    def _notes(self, file: StreamFile, block: NoteBlock) -> tuple[int, list[Rejection]]:
        """Store notes; one that its case has already is rejected.

        Those of finished cases are only counted, if the files are compared ones.
        """
        made = [(place, line, make_note(n)) for place, line, n in block.notes]
        digests = {note.sha256 for *_, note in made}
        stored = Note.objects.filter(encounter__dataset=self._dataset, sha256__in=digests)
        seen = set(stored.values_list("encounter_id", "sha256"))
        new, rejections, count = [], [], 0
        for place, line, note in made:
            note.encounter_id, taken = int(self._ids[place]), self._taken[place]
            known, key = seen if taken else self._passed, (note.encounter_id, note.sha256)
            if key in known:
                rejections.append(file.reject("the case has this note already", line))
                continue
            known.add(key)
            count += 1
            if taken:
                new.append(note)
        Note.objects.bulk_create(new, batch_size=1000)
        Encounter.objects.filter(pk__in={note.encounter_id for note in new}).update(headline="")
        return count, rejections

    def _count(self, lines: int, left_out: int) -> None:
        self._report.lines_read += lines
        self._report.left_out += left_out


def _series(work: Work, keys: list[int]) -> None:
    """Build the series of encounters that have none yet.

    `source_sha256` marks finished encounters.
    """
    for ids, counts in make_batches(work.dataset, keys):
        work.steps.report()
        with transaction.atomic():
            rows, owners = read_rows(work.dataset.pk, ids.tolist())
            work.report.series += copy_series(summarise(rows, np.searchsorted(ids, owners)), ids)
            finished = [
                Encounter(pk=pk, row_count=n, source_sha256=fingerprint(str(n)))
                for pk, n in zip(ids.tolist(), counts, strict=True)
            ]
            Encounter.objects.bulk_update(finished, ["row_count", "source_sha256"], batch_size=1000)
