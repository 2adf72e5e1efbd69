"""Import cases, one transaction each.

A killed import so continues after the last case. The same input twice changes nothing: each case is
stored with the SHA-256 of its files (`ImportedPart`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from django.db import DataError, transaction

from accounts.audit.trail import record
from accounts.models import User
from ehr.deletion import DeletionRefused, delete_encounters
from ehr.formats.base import CaseRecord, Rejection, safe_name
from ehr.formats.cases import case_folders, digest, read_case
from ehr.formats.limits import Limits
from ehr.ingest.copying import copy_rows, copy_series
from ehr.models import Dataset, Encounter, ImportedPart, Note, RejectedRow
from ehr.record.headlines import store_headlines
from ehr.registry import Loss, import_hooks
from ehr.report import REFUSED, CaseReport, ImportReport, replace_rejections, store_rejections
from ehr.summarise import summarise

#: Called after each step of an import with (done, total, words).
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Replacing:
    """What may be deleted for a changed case.

    By default nothing; the case (`changed`); timelines that people wrote (`authored`).
    """

    changed: bool = False
    authored: bool = False


NOTHING = Replacing()
OTHER_CONTENT = (
    "the case was imported before with other content; ask for changed cases to be replaced"
    " (--replace), or import it under another name"
)


def import_cases(
    dataset: Dataset,
    root: Path,
    report: ImportReport,
    *,
    by: User | None,
    chosen: Collection[str] | None,
    replacing: Replacing,
    limits: Limits,
    progress: Progress,
) -> None:
    """Import every new case folder below `root`, or those of `chosen`.

    Raises FormatError.
    """
    folders = [folder for folder in case_folders(root) if chosen is None or folder.name in chosen]
    absent = sorted(set(chosen or ()) - {folder.name for folder in folders})
    missing = [Rejection("--cases", "no such case", case_id=name[:100]) for name in absent]
    replace_rejections(dataset, REFUSED, missing)
    report.add_rejections(missing)
    for done, folder in enumerate(folders, start=1):
        _folder(dataset, folder, report, by=by, replacing=replacing, limits=limits)
        progress(done, len(folders), "cases")


def _folder(
    dataset: Dataset,
    folder: Path,
    report: ImportReport,
    *,
    by: User | None,
    replacing: Replacing,
    limits: Limits,
) -> None:
    """Import one case folder, or say why not."""
    try:
        sha256 = digest(folder)
    except OSError:
        sha256 = ""
    part = ImportedPart.objects.filter(dataset=dataset, key=_key(folder)).first()
    if part is not None and sha256 and part.sha256 == sha256:
        _count_unchanged(dataset, part, report)
        return
    case = read_case(folder, sha256, limits)
    try:
        _import_case(dataset, case, part, report, by=by, replacing=replacing)
    except DataError:
        # Values are checked before; this one was not foreseen.
        reason = Rejection(
            f"{safe_name(folder)}/", "the database cannot store a value of this case"
        )
        _import_case(
            dataset,
            CaseRecord(folder, sha256, None, rejections=(reason,)),
            part,
            report,
            by=by,
            replacing=replacing,
        )


def _import_case(
    dataset: Dataset,
    case: CaseRecord,
    part: ImportedPart | None,
    report: ImportReport,
    *,
    by: User | None,
    replacing: Replacing,
) -> None:
    """Store one case with all its rows and series, or its rejections.

    One transaction does all of it.
    """
    name = safe_name(case.folder)
    found = CaseReport(case.encounter.case_id if case.encounter else name, name)
    found.rejections += [replace(r, case_id=found.case_id) for r in case.rejections]
    with transaction.atomic():
        RejectedRow.objects.filter(dataset=dataset, part=_key(case.folder)).delete()
        refusal = _refusal(dataset, case, part, by=by, replacing=replacing)
        if refusal is not None:
            found.rejections.append(
                Rejection(f"{name}/encounter.json", refusal, case_id=found.case_id)
            )
        taken = case.encounter is not None and refusal is None
        series = _store(dataset, case, found) if taken else 0
        rows = len(case.rows) if taken and case.rows is not None else 0
        store_rejections(dataset, _key(case.folder), found.rejections)
        if refusal is None and case.sha256:
            values = {
                "sha256": case.sha256,
                "rows": rows,
                "rejected": len(found.rejections),
                "lines": case.offered,
                "imported_by": by,
            }
            ImportedPart.objects.update_or_create(
                dataset=dataset, key=_key(case.folder), defaults=values
            )
    report.imported += taken
    report.refused += not taken
    report.without_rows += taken and not case.offered
    report.rows += rows
    report.series += series
    report.lines_read += case.offered
    report.add_rejections(found.rejections)


def _refusal(
    dataset: Dataset,
    case: CaseRecord,
    part: ImportedPart | None,
    *,
    by: User | None,
    replacing: Replacing,
) -> str | None:
    """Return why a readable case must not be stored, None if it may.

    A changed case that may be replaced is deleted here.
    """
    if case.encounter is None:
        return None
    there = Encounter.objects.filter(dataset=dataset, case_id=case.encounter.case_id).first()
    if there is None:
        return None
    if part is None or there.source_sha256 != part.sha256:
        return "another case of this dataset has the same case_id"
    if not replacing.changed:
        return OTHER_CONTENT
    return delete_case(dataset, there, by=by, replacing=replacing)


def delete_case(
    dataset: Dataset, there: Encounter, *, by: User | None, replacing: Replacing
) -> str | None:
    """Delete the stored case and record the losses.

    Returns the reason if the case must stay.
    """
    losses: tuple[Loss, ...]
    try:
        losses, reason = (
            delete_encounters(
                dataset.encounters.filter(pk=there.pk), delete_authored=replacing.authored
            ),
            None,
        )
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


def _store(dataset: Dataset, case: CaseRecord, report: CaseReport) -> int:
    """Store the encounter, its notes, rows and series; call import hooks.

    Returns the number of series.
    """
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
        Note(
            encounter=encounter,
            kind=n.kind,
            text=n.text,
            sha256=Note.digest(n.text),
            charted_at=n.charted_at,
        )
        for n in case.notes
    )
    copy_rows(case.rows, dataset_id=dataset.pk, encounter_ids=encounter.pk)
    series = copy_series(summarise(case.rows), [encounter.pk])
    store_headlines([encounter.pk])
    encounter.refresh_from_db(fields=["headline", "unit"])
    for hook in import_hooks():
        hook(encounter, case.folder, report)
    return series


def _count_unchanged(dataset: Dataset, part: ImportedPart, report: ImportReport) -> None:
    """Count a case seen before as unchanged.

    Its rejections of that time count again.
    """
    taken = Encounter.objects.filter(dataset=dataset, source_sha256=part.sha256).exists()
    report.unchanged += taken
    report.refused += not taken
    if part.rejected:
        report.add_stored(dataset, part.key)


def _key(folder: Path) -> str:
    return f"case:{safe_name(folder)}"
