"""Cases that are one stay.

A cohort may be imported again under another name, or into another study. If one of the cases is
closed to a person, or the person has seen something of it, this counts for all
(docs/adr/0033-closed-cases.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime

from ehr.models import Encounter


def find_copies(public_ids: Collection[str]) -> set[str]:
    """Return the public ids of all cases of these cases' stays."""
    return {copy for copies in group_copies(public_ids).values() for copy in copies}


def group_copies(public_ids: Collection[str]) -> Mapping[str, set[str]]:
    """Return each case's public id with those of all cases of its stay.

    The case itself is included. Two cases are one stay if they have the same case id, and the same
    note or time of admission.
    """
    if not public_ids:
        return {}
    names = Encounter.objects.filter(public_id__in=list(public_ids)).values("case_id")
    alike = Encounter.objects.filter(case_id__in=names).order_by()
    marks: dict[str, set[tuple[str, datetime | str]]] = defaultdict(set)
    for public_id, case_id, admitted_at, sha256 in alike.values_list(
        "public_id", "case_id", "admitted_at", "notes__sha256"
    ):
        marks[public_id] |= {(case_id, admitted_at)} | ({(case_id, sha256)} if sha256 else set())
    cases: dict[tuple[str, datetime | str], set[str]] = defaultdict(set)
    for public_id, found in marks.items():
        for mark in found:
            cases[mark].add(public_id)
    return {
        public_id: {public_id}.union(*(cases[mark] for mark in marks[public_id]))
        for public_id in public_ids
    }
