"""Say in the audit trail which cases a page of many showed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.utils import timezone

from accounts.audit.trail import record, record_each
from accounts.models import AuditEvent
from accounts.scoping import StudyRequest
from ehr.models import Encounter
from timelines.access.asking import ask_first


def expose(request: StudyRequest, case_ids: Iterable[str]) -> None:
    """Record that the person saw something of the timelines of these cases (public ids).

    Raises AskFirst for a case that the person has to be asked about.
    """
    shown = sorted(set(case_ids))
    ask_first(request.user, shown)
    record_each(
        actor=request.user,
        study=request.study,
        action="cohort.case",
        object_type="ehr.encounter",
        object_ids=shown,
    )


def expose_again(request: StudyRequest, case_id: str) -> None:
    """Record a case as `expose` does, unless it was in the last quarter of an hour.

    For a part of a page that a person loads many times, as with a slider.
    """
    since = timezone.now() - timedelta(minutes=15)
    seen = AuditEvent.objects.filter(
        actor=request.user, action="cohort.case", object_id=case_id, at__gte=since
    )
    if not seen.exists():
        expose(request, [case_id])


def expose_stay(request: StudyRequest, encounter: Encounter, *, shown: bool) -> None:
    """Record that a stay was opened.

    If no timeline is shown, that exposes nobody.
    """
    if shown:
        expose_again(request, encounter.public_id)
    else:
        record(
            actor=request.user,
            study=encounter.dataset.study,
            action="case.open",
            object_type="ehr.encounter",
            object_id=encounter.public_id,
            detail={"timelines": False},
        )
