"""Cases into the database: one transaction a case, so that an import that is killed goes on where it stopped.

The same input twice changes nothing: each case is remembered with the SHA-256 of its files (`ImportedPart`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from django.db import transaction

from accounts.audit import record
from accounts.models import User
from ehr.copying import copy_rows, copy_series
from ehr.deletion import DeletionRefused, delete_encounters
from ehr.formats.base import CaseRecord, Rejection
from ehr.formats.cases import case_folders, digest, read_case
from ehr.models import Dataset, Encounter, ImportedPart, Note, RejectedRow
from ehr.registry import Loss, import_hooks
from ehr.report import CaseReport, ImportReport, keep_rejections, kept_rejections
from ehr.summarise import summarise

#: Called after each step of an import with (done, total, words).
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Replacing:
    """What may be deleted for a changed case: nothing, the case (`changed`), and timelines that people wrote (`authored`)."""

    changed: bool = False
    authored: bool = False


NOTHING = Replacing()


def import_cases(
    dataset: Dataset,
    root: Path,
    report: ImportReport,
    *,
    by: User | None,
    chosen: Collection[str] | None,
    replacing: Replacing,
    progress: Progress,
) -> None:
    """Import every case folder below `root` (or those whose names are `chosen`) that is not there yet. Raises FormatError."""
    folders = [folder for folder in case_folders(root) if chosen is None or folder.name in chosen]
    for done, folder in enumerate(folders, start=1):
        sha256 = digest(folder)
        part = ImportedPart.objects.filter(dataset=dataset, key=_key(folder)).first()
        if part is not None and part.sha256 == sha256:
            _count_unchanged(dataset, folder, part, report)
        else:
            _import_case(dataset, read_case(folder, sha256), part, report, by=by, replacing=replacing)
        progress(done, len(folders), "cases")


def _import_case(
    dataset: Dataset, case: CaseRecord, part: ImportedPart | None, report: ImportReport, *, by: User | None, replacing: Replacing
) -> None:
    """Store one case with all its rows and series, or keep why not, in one transaction."""
    kept = CaseReport(case.encounter.case_id if case.encounter else case.folder.name, case.folder.name)
    kept.rejections += [replace(r, case_id=kept.case_id) for r in case.rejections]
    with transaction.atomic():
        RejectedRow.objects.filter(dataset=dataset, file__startswith=f"{case.folder.name}/").delete()
        refusal = _refusal(dataset, case, part, by=by, replacing=replacing)
        if refusal is not None:
            kept.rejections.append(Rejection(f"{case.folder.name}/encounter.json", refusal, case_id=kept.case_id))
        taken = case.encounter is not None and refusal is None
        series = _store(dataset, case, kept) if taken else 0
        rows = len(case.rows) if taken and case.rows is not None else 0
        keep_rejections(dataset, kept.rejections)
        if refusal is None:
            values = {"sha256": case.sha256, "rows": rows, "rejected": len(kept.rejections), "imported_by": by}
            ImportedPart.objects.update_or_create(dataset=dataset, key=_key(case.folder), defaults=values)
    report.imported += taken
    report.refused += not taken
    report.rows += rows
    report.series += series
    report.add_rejections(kept.rejections)


def _refusal(dataset: Dataset, case: CaseRecord, part: ImportedPart | None, *, by: User | None, replacing: Replacing) -> str | None:
    """Why a case that reads well must not be stored; makes room for it where a changed case may be replaced."""
    if case.encounter is None:
        return None
    there = Encounter.objects.filter(dataset=dataset, case_id=case.encounter.case_id).first()
    if there is None:
        return None
    if part is None or there.source_sha256 != part.sha256:
        return "another case of this dataset has the same case_id"
    if not replacing.changed:
        return "the case was imported before with other content; import it under another name, or with --replace"
    return _deleted(dataset, there, by=by, replacing=replacing)


def _deleted(dataset: Dataset, there: Encounter, *, by: User | None, replacing: Replacing) -> str | None:
    """Delete the case that is there and record what went along; the reason if it must stay."""
    losses: tuple[Loss, ...]
    try:
        losses, reason = delete_encounters(dataset.encounters.filter(pk=there.pk), delete_authored=replacing.authored), None
    except DeletionRefused as error:
        losses, reason = error.losses, f"the case was not replaced: {error}"
    record(
        actor=by,
        study=dataset.study,
        action="case.replace_refused" if reason else "case.replace",
        object_type="ehr.encounter",
        object_id=there.public_id,
        detail={"dataset": dataset.public_id, **{loss.name: loss.count for loss in losses}},
    )
    return reason


def _store(dataset: Dataset, case: CaseRecord, kept: CaseReport) -> int:
    """The encounter, its notes, rows and series; then what upper apps take from the folder. Returns the number of series."""
    assert case.encounter is not None
    assert case.rows is not None
    encounter = Encounter.objects.create(
        dataset=dataset,
        case_id=case.encounter.case_id,
        subject_key=case.encounter.subject_key,
        title=case.encounter.title,
        admitted_at=case.encounter.admitted_at,
        discharged_at=case.encounter.discharged_at,
        anchor_kind=case.encounter.anchor,
        source_sha256=case.sha256,
        row_count=len(case.rows),
        invalid_time_count=case.invalid_times,
    )
    Note.objects.bulk_create(
        Note(encounter=encounter, kind=n.kind, text=n.text, sha256=Note.digest(n.text), charted_at=n.charted_at) for n in case.notes
    )
    copy_rows(case.rows, dataset_id=dataset.pk, encounter_ids=encounter.pk)
    series = copy_series(summarise(case.rows), [encounter.pk])
    for hook in import_hooks():
        hook(encounter, case.folder, kept)
    return series


def _count_unchanged(dataset: Dataset, folder: Path, part: ImportedPart, report: ImportReport) -> None:
    """A case seen before counts as unchanged; what was rejected of it then is still rejected."""
    earlier = kept_rejections(dataset, f"{folder.name}/") if part.rejected else []
    taken = Encounter.objects.filter(dataset=dataset, source_sha256=part.sha256).exists()
    report.unchanged += taken
    report.refused += not taken
    report.add_rejections(earlier)


def _key(folder: Path) -> str:
    return f"case:{folder.name}"
