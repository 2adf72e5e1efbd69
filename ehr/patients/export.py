"""Export everything about one patient as a ZIP."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.db.models import Model, QuerySet

from accounts.audit.trail import record, record_each
from accounts.models import AuditEvent, Study, User
from accounts.permissions import check_user_can_manage_study
from accounts.registry import all_closed_objects
from ehr.models import Encounter, Note, SourceRow
from ehr.patients.belongings import Keys, find_belongings, find_events, split
from ehr.patients.finding import find_stays
from ehr.registry import find_withheld

ROW_FIELDS = tuple(f.attname for f in SourceRow._meta.concrete_fields if f.name != "dataset")
README = """\
Everything that Occurrent has about one patient of one study.

notes/          each note as it was imported, by the stay's public id and the note's key
rows/           the rows of the record of each stay
tables/         every other row that belongs to a stay, a file for each table, one JSON object a line
audit.jsonl     the events of the audit trail about the stays and what was made of them
manifest.json   counts, and what was left out
"""


@dataclass(frozen=True, slots=True)
class PatientExport:
    """What an export has: stays, rows by table, and what was left out.

    `closed` stays are under review by the person; `withheld` rows are of open packets.
    """

    stays: int
    tables: dict[str, int]
    closed: int
    withheld: int
    sha256: str = ""


def export_patient(*, study: Study, key: str, to: Path, by: User | None) -> PatientExport:
    """Write everything about the patient to the new file `to`.

    Left out are stays that are closed to `by`, and answers of people in packets that are not closed.
    Each exported stay gets an audit event. Raises NotAllowed, UnknownPatient, FileExistsError.
    """
    if by is not None:
        check_user_can_manage_study(by, study)
    every = find_stays(study, key)
    closed = all_closed_objects(by) if by is not None else frozenset()
    stays = every.exclude(public_id__in=list(closed))
    with transaction.atomic(), _new_file(to) as file:
        tables, withheld = _write(file, stays)
        file.close()
        left_out = every.count() - stays.count()
        made = PatientExport(stays.count(), tables, left_out, withheld, _hash(to))
        _record(study, stays, made, by)
    return made


@contextmanager
def _new_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file that only we can read; delete it after an error."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
    except BaseException:
        path.unlink()
        raise


def _write(file: IO[bytes], stays: QuerySet[Encounter]) -> tuple[dict[str, int], int]:
    """Write the archive; return the rows by table, and how many are withheld."""
    keys, withheld = _withhold(find_belongings(stays))
    tables: dict[str, int] = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README.txt", README)
        for note in Note.objects.filter(pk__in=keys.get(Note, ())).select_related("encounter"):
            archive.writestr(f"notes/{note.encounter.public_id}-{note.pk}.txt", note.text)
        tables[SourceRow._meta.db_table] = 0
        for stay in stays.order_by("admitted_at"):
            with archive.open(f"rows/{stay.public_id}.csv", "w") as out:
                tables[SourceRow._meta.db_table] += _write_rows(out, stay)
        for model in sorted(keys, key=lambda model: model._meta.db_table):
            tables[model._meta.db_table] = _write_table(archive, model, _load(model, keys[model]))
        events = find_events(keys).order_by("pk").values()
        tables[AuditEvent._meta.db_table] = _write_lines(archive, "audit.jsonl", events)
        counts = {"tables": tables, "withheld": withheld}
        archive.writestr("manifest.json", json.dumps(counts, indent=1))
    return tables, withheld


def _withhold(keys: Keys) -> tuple[Keys, int]:
    """Leave out what nobody may read yet; return how many rows that is."""
    shown, count = dict(keys), 0
    for model, condition in find_withheld().items():
        rows = model._default_manager.filter(condition, pk__in=keys.get(model, ()))
        hidden = set(rows.values_list("pk", flat=True))
        if hidden:
            shown[model] = keys[model] - hidden
            count += len(hidden)
    return shown, count


def _load(model: type[Model], keys: set[Any]) -> Iterator[dict[str, Any]]:
    names = [field.attname for field in model._meta.concrete_fields]
    for batch in split(keys):
        yield from model._default_manager.order_by("pk").filter(pk__in=batch).values(*names)


def _write_rows(out: IO[bytes], stay: Encounter) -> int:
    text = io.TextIOWrapper(out, encoding="utf-8", newline="")
    writer, count = csv.writer(text), 0
    writer.writerow(ROW_FIELDS)
    rows = SourceRow.objects.filter(dataset=stay.dataset_id, encounter=stay).order_by("row_index")
    for row in rows.values_list(*ROW_FIELDS).iterator(chunk_size=5000):
        writer.writerow(row)
        count += 1
    text.detach()
    return count


def _write_table(
    archive: zipfile.ZipFile, model: type[Model], rows: Iterable[Mapping[str, Any]]
) -> int:
    return _write_lines(archive, f"tables/{model._meta.db_table}.jsonl", rows)


def _write_lines(archive: zipfile.ZipFile, name: str, rows: Iterable[Mapping[str, Any]]) -> int:
    count = 0
    with archive.open(name, "w") as out:
        for row in rows:
            words = json.dumps(row, cls=DjangoJSONEncoder, ensure_ascii=False)
            out.write(words.encode("utf-8", "surrogatepass") + b"\n")
            count += 1
    return count


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _record(study: Study, stays: QuerySet[Encounter], made: PatientExport, by: User | None) -> None:
    """Record the export, and that each stay was exported to the person."""
    record(
        actor=by,
        study=study,
        action="patient.export",
        object_type="ehr.patient",
        detail={
            "stays": made.stays,
            "rows": sum(made.tables.values()),
            "closed": made.closed,
            "withheld": made.withheld,
            "sha256": made.sha256,
        },
    )
    record_each(
        actor=by,
        study=study,
        action="case.export",
        object_type="ehr.encounter",
        object_ids=list(stays.values_list("public_id", flat=True)),
        detail={"format": "patient"},
    )
