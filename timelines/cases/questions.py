"""Filters of the case list that this app answers."""

from __future__ import annotations

from django.db.models import Q

from timelines.models import Correction
from timelines.registry import CaseQuestion


def _has_corrections() -> Q:
    standing = Correction.objects.exclude(kind=Correction.Kind.UNDO).filter(undone_by__isnull=True)
    return Q(pk__in=standing.values("base__encounter"))


CORRECTED = CaseQuestion(
    "corrected", "Corrections", "has corrections", "no corrections", _has_corrections
)
