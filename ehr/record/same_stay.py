"""Cases that are one stay.

A cohort may be imported again under another name, into another study, or after the first import
was replaced or deleted. If one of the cases is closed to a person, or the person has seen something
of it, this counts for all (docs/adr/0033-closed-cases.md).
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime

from django.db.models import QuerySet

from ehr.models import DeletedStay, Encounter

#: A case id with the stay's time of admission, or with the SHA-256 of a note.
Mark = tuple[str, datetime | str]


def find_copies(public_ids: Collection[str]) -> set[str]:
    """Return the public ids of all cases of these cases' stays."""
    return {copy for copies in group_copies(public_ids).values() for copy in copies}


def group_copies(public_ids: Collection[str]) -> Mapping[str, set[str]]:
    """Return each case's public id with those of all cases of its stay.

    The case itself and deleted cases are included. Two cases are one stay if they have the same
    case id, and the same note or time of admission.
    """
    if not public_ids:
        return {}
    names = Encounter.objects.filter(public_id__in=list(public_ids)).values("case_id")
    marks = _load_marks(Encounter.objects.filter(case_id__in=names))
    cases: dict[Mark, set[str]] = defaultdict(set)
    for public_id, found in marks.items():
        for mark in found:
            cases[mark].add(public_id)
    digests = {_digest(mark): mark for mark in cases}
    deleted = DeletedStay.objects.filter(mark_sha256__in=list(digests))
    for digest, public_id in deleted.values_list("mark_sha256", "case"):
        cases[digests[digest]].add(public_id)
    return {
        public_id: {public_id}.union(*(cases[mark] for mark in marks.get(public_id, ())))
        for public_id in public_ids
    }


def remember_stays(encounters: QuerySet[Encounter]) -> None:
    """Store what identifies the stays of these cases, before they are deleted."""
    DeletedStay.objects.bulk_create(
        (
            DeletedStay(case=public_id, mark_sha256=_digest(mark))
            for public_id, marks in _load_marks(encounters).items()
            for mark in sorted(marks, key=str)
        ),
        batch_size=5000,  # a dataset may have 100,000 cases
    )


def _load_marks(encounters: QuerySet[Encounter]) -> dict[str, set[Mark]]:
    """Return the marks of each case by its public id."""
    marks: dict[str, set[Mark]] = defaultdict(set)
    for public_id, case_id, admitted_at, sha256 in encounters.order_by().values_list(
        "public_id", "case_id", "admitted_at", "notes__sha256"
    ):
        marks[public_id] |= {(case_id, admitted_at)} | ({(case_id, sha256)} if sha256 else set())
    return marks


def _digest(mark: Mark) -> str:
    """Return the mark's SHA-256, so that no case id outlives its case."""
    case_id, other = mark
    values = [case_id, other if isinstance(other, str) else other.isoformat()]
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()
