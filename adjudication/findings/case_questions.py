"""Filters of the case list by findings and reviews."""

from __future__ import annotations

from django.db.models import Q

from adjudication.models import Decision, Finding
from timelines.registry import CaseQuestion


def _has_findings() -> Q:
    return Q(pk__in=Finding.objects.values("game__comparison__encounter"))


def _is_reviewed() -> Q:
    decided = Decision.objects.filter(item__isnull=False)
    return Q(pk__in=decided.values("item__finding__game__comparison__encounter"))


CASE_QUESTIONS = (
    CaseQuestion("findings", "Findings", "has findings", "no findings", _has_findings),
    CaseQuestion("reviewed", "Reviewed", "reviewed", "not reviewed", _is_reviewed),
)
