"""Say in the audit trail which cases a page of many showed."""

from __future__ import annotations

from collections.abc import Iterable

from accounts.audit.trail import record_each
from accounts.scoping import StudyRequest
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
