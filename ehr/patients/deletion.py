"""Delete everything about one patient, with a receipt of what is gone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.audit.trail import record
from accounts.models import Study, User
from accounts.permissions import NotAllowed, check_user_can_manage_study
from accounts.registry import all_closed_objects
from ehr.deletion import DeletionRefused, delete_encounters
from ehr.ingest.lock import lock_import
from ehr.models import (
    Dataset,
    DeletedStay,
    Encounter,
    ImportedPart,
    Note,
    RejectedRow,
    SourceRow,
    Upload,
)
from ehr.patients.belongings import Keys, find_belongings, find_events, split
from ehr.patients.finding import find_stays
from ehr.registry import Trace, count_traces

CLOSED = (
    "Stays of this patient are closed to you while you review them or write unaided timelines. Ask"
    " another study admin."
)


@dataclass(frozen=True, slots=True)
class DeletedStayFacts:
    """A stay that is gone: its public id and the digests of what it was."""

    public_id: str
    source_sha256: str
    notes_sha256: list[str]
    rows: int


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was deleted of a patient, what is left, and where traces stay.

    `deleted` and `remaining` are rows by table. It has no patient key and no text.
    """

    study: str
    deleted_at: datetime
    stays: list[DeletedStayFacts]
    deleted: dict[str, int]
    remaining: dict[str, int]
    traces: list[Trace]

    def as_json(self) -> str:
        """Return it as JSON, always the same for the same receipt."""
        return json.dumps(asdict(self), default=str, indent=1, sort_keys=True) + "\n"

    @property
    def sha256(self) -> str:
        """Return the digest that the audit trail records."""
        return hashlib.sha256(self.as_json().encode()).hexdigest()


def delete_patient(
    *, study: Study, key: str, by: User | None, delete_authored: bool = False
) -> Receipt:
    """Delete all stays of the patient in the study; return the receipt.

    The audit trail records the counts and the receipt's digest. Raises NotAllowed, UnknownPatient,
    ImportBusy, and DeletionRefused, of which the trail gets an event; then nothing is deleted.
    """
    stays = find_stays(study, key)
    _check(study, stays, by)
    try:
        with _lock(stays), transaction.atomic():
            # By their keys: the query by the patient key finds nothing afterwards.
            chosen = Encounter.objects.filter(pk__in=list(stays.values_list("pk", flat=True)))
            receipt = _delete(study, chosen, delete_authored=delete_authored)
            _record(study, "patient.delete", by, _as_detail(receipt))
    except DeletionRefused as error:
        detail = {loss.name: loss.count for loss in error.losses}
        _record(study, "patient.delete_refused", by, detail)
        raise
    return receipt


def _check(study: Study, stays: QuerySet[Encounter], by: User | None) -> None:
    """Raise NotAllowed unless an admin asks to whom all stays are open."""
    if by is None:
        return
    check_user_can_manage_study(by, study)
    closed = all_closed_objects(by)
    if closed and stays.filter(public_id__in=list(closed)).exists():
        raise NotAllowed(CLOSED)


@contextmanager
def _lock(stays: QuerySet[Encounter]) -> Iterator[None]:
    """Keep imports out of the datasets of the stays. Raises ImportBusy."""
    with ExitStack() as stack:
        for dataset in Dataset.objects.filter(encounters__in=stays).distinct().order_by("pk"):
            stack.enter_context(lock_import(dataset))
        yield


def _delete(study: Study, stays: QuerySet[Encounter], *, delete_authored: bool) -> Receipt:
    """Delete the stays, their rejected lines and the notes of imports."""
    keys, described = find_belongings(stays), _describe(stays)
    before, traces = _count(keys), [*_find_traces(stays, keys), *count_traces(study, stays)]
    delete_encounters(stays, delete_authored=delete_authored)
    # They refer to a case id, not to a stay.
    RejectedRow.objects.filter(pk__in=keys.get(RejectedRow, ())).delete()
    ImportedPart.objects.filter(pk__in=keys.get(ImportedPart, ())).delete()
    marks = DeletedStay.objects.filter(case__in=[stay.public_id for stay in described]).count()
    return Receipt(
        study=study.public_id,
        deleted_at=timezone.now(),
        stays=described,
        deleted=before | {SourceRow._meta.db_table: sum(stay.rows for stay in described)},
        remaining={table: count for table, count in _count(keys).items() if count},
        traces=[
            Trace(marks, "digests that recognise the stays if they are imported again; they stay"),
            *traces,
        ],
    )


def _find_traces(stays: QuerySet[Encounter], keys: Keys) -> list[Trace]:
    """Return what this app and the audit trail have of the stays afterwards."""
    uploads = Upload.objects.filter(removed_at=None, jobs__dataset__in=stays.values("dataset"))
    events = "events of the audit trail, with public ids and counts; they stay"
    files = "uploads that its datasets were imported from; remove them on the page Imports"
    found = (Trace(find_events(keys).count(), events), Trace(uploads.distinct().count(), files))
    return [trace for trace in found if trace.count]


def _describe(stays: QuerySet[Encounter]) -> list[DeletedStayFacts]:
    return [
        DeletedStayFacts(
            stay.public_id,
            stay.source_sha256,
            sorted(Note.objects.filter(encounter=stay).values_list("sha256", flat=True)),
            SourceRow.objects.filter(dataset=stay.dataset_id, encounter=stay).count(),
        )
        for stay in stays.order_by("admitted_at", "pk")
    ]


def _count(keys: Keys) -> dict[str, int]:
    """Return how many rows of these keys there are, by table."""
    return {
        model._meta.db_table: sum(
            model._default_manager.order_by().filter(pk__in=batch).count() for batch in split(found)
        )
        for model, found in sorted(keys.items(), key=lambda item: item[0]._meta.db_table)
    }


def _as_detail(receipt: Receipt) -> dict[str, str | int]:
    return {
        "stays": len(receipt.stays),
        "rows": sum(receipt.deleted.values()),
        "remaining": sum(receipt.remaining.values()),
        "receipt_sha256": receipt.sha256,
    }


def _record(study: Study, action: str, by: User | None, detail: Mapping[str, str | int]) -> None:
    record(actor=by, study=study, action=action, object_type="ehr.patient", detail=detail)
