"""Store the stays that differ in files that are brought again.

Everything is read once to compare each stay with what is stored. Then each changed stay is deleted
and made again without rows, if it may be replaced. The last transaction forgets what is known of
the files, so that they are stored like new ones, but for unfinished stays alone. An import that is
killed before it compares again; one that is killed afterwards continues after its last block.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from ehr.deletion import BATCH, DeletionRefused, delete_encounters
from ehr.formats.base import EncounterRecord, Rejection, WrongFile
from ehr.ingest.cases import OTHER_CONTENT, delete_case
from ehr.ingest.changes import AGAIN, CHANGED, check_lost, find_file_name
from ehr.ingest.comparing import compare_stays
from ehr.ingest.work import ENCOUNTERS, Work, make_encounter
from ehr.models import Encounter, RejectedRow
from ehr.report import replace_rejections

Pair = tuple[Encounter, EncounterRecord]
HALF = (
    "the import of a stay was interrupted, and people work with what is there; bring the files of"
    " that import to finish it"
)


def empty_changed(work: Work) -> None:
    """Leave without rows what is to be stored from these files.

    Raises WrongFile if a file cannot be read or is missing; then no stay has changed.
    """
    check_lost(work)
    found = compare_stays(work)
    _empty_unfinished(work, found.unfinished)
    refused = []
    for there, record in found.changed:
        work.steps.report()
        if reason := _empty(work, there, record):
            refused.append(Rejection(ENCOUNTERS, reason, case_id=there.case_id))
    _forget_files(work, found.new, refused)
    emptied = len(found.unfinished) + len(found.changed) - len(refused)
    work.report.imported += len(found.new) + emptied
    work.report.unchanged += found.unchanged


def count_refused(work: Work) -> None:
    """Count the stays that differ and were not replaced."""
    work.report.refused += RejectedRow.objects.filter(dataset=work.dataset, part=CHANGED).count()
    work.report.add_stored(work.dataset, CHANGED)


def _empty_unfinished(work: Work, stays: Sequence[Pair]) -> None:
    """Begin again with stays whose import was interrupted.

    Raises WrongFile.
    """
    for start in range(0, len(stays), BATCH):
        work.steps.report()
        batch = stays[start : start + BATCH]
        old = work.dataset.encounters.filter(pk__in=[there.pk for there, _ in batch])
        try:
            with transaction.atomic():
                delete_encounters(old, delete_authored=False)
                made = [make_encounter(work.dataset, record) for _, record in batch]
                Encounter.objects.bulk_create(made)
        except DeletionRefused:
            raise WrongFile(Rejection(ENCOUNTERS, HALF)) from None


@transaction.atomic
def _empty(work: Work, there: Encounter, record: EncounterRecord) -> str:
    """Delete a changed stay and make it again; return why not, or ""."""
    if not work.replacing.changed:
        return OTHER_CONTENT
    reason = delete_case(work.dataset, there, by=work.by, replacing=work.replacing)
    if reason is None:
        make_encounter(work.dataset, record).save()
    return reason or ""


@transaction.atomic
def _forget_files(work: Work, new: Sequence[EncounterRecord], refused: Sequence[Rejection]) -> None:
    """Add new stays, and let the files be stored like new ones."""
    work.add_encounters(new)
    keys = [
        k for k in work.parts.values_list("key", flat=True) if find_file_name(k) in work.digests
    ]
    for start in range(0, len(keys), BATCH):
        work.parts.filter(key__in=keys[start : start + BATCH]).delete()
    RejectedRow.objects.filter(dataset=work.dataset, part__in=list(work.digests)).delete()
    replace_rejections(work.dataset, CHANGED, refused)
    work.store_part(ENCOUNTERS, work.list_sha256, len(work.listed.rejections))
    work.store_part(AGAIN, work.sha256)
