"""Start evaluations of windows, and answer for their members."""

from __future__ import annotations

from django.db import transaction

from accounts.audit.trail import record
from accounts.models import User
from accounts.permissions import check_user_can_open_cases
from cohorts.engine.writing import write_window
from cohorts.models import MemberDecision, Window, WindowMember, WindowResult, WindowVersion
from cohorts.values import Source
from cohorts.windows.actions import save_version
from cohorts.windows.stored import read_stored
from cohorts.windows.values import WindowRefused
from ehr.models import Dataset
from jobs.hints import send_hints
from timelines.runs.versions import code_revision


@transaction.atomic
def launch_result(
    *,
    version: WindowVersion,
    dataset: Dataset,
    first: Source,
    second: Source,
    by: User | None,
    tell_workers: bool = True,
) -> WindowResult:
    """Queue an evaluation of a dataset, from two sources of times.

    Raises NotAllowed, WindowRefused.
    """
    study = version.window.study
    if by is not None:
        check_user_can_open_cases(by, study)
    if dataset.study_id != study.pk:
        raise WindowRefused("Choose a dataset of the window’s study.")
    if first is second:
        raise WindowRefused("Choose two different sources of times to put side by side.")
    made = WindowResult.objects.create(
        version=version,
        dataset=dataset,
        first=first.value,
        second=second.value,
        code_revision=code_revision(),
        created_by=by,
    )
    record(
        actor=by,
        study=study,
        action="window.evaluate",
        object_type="cohorts.windowresult",
        object_id=made.public_id,
        detail={"first": first.value, "second": second.value},
    )
    if tell_workers:
        send_hints(WindowResult, [made.pk])
    return made


@transaction.atomic
def update_result(*, result: WindowResult, by: User) -> WindowResult:
    """Evaluate again what is current: criteria, versions of concepts, corrections.

    Raises NotAllowed, WindowError, WindowRefused.
    """
    window = result.version.window
    # A renamed concept is followed: the new version has its new name.
    yaml = write_window(read_stored(window.versions.first() or result.version).criteria)
    return launch_result(
        version=save_version(window=window, yaml=yaml, by=by),
        dataset=result.dataset,
        first=Source(result.first),
        second=Source(result.second),
        by=by,
    )


@transaction.atomic
def decide_member(*, member: WindowMember, status: str, reason: str, by: User) -> MemberDecision:
    """Store a person's answer whether a stay is a member; "" withdraws the one before.

    Raises NotAllowed, WindowRefused.
    """
    window = member.result.version.window
    check_user_can_open_cases(by, window.study)
    if status not in ("yes", "no", "uncertain", ""):
        raise WindowRefused("Choose yes, no or uncertain.")
    if not reason.strip():
        raise WindowRefused("Enter a reason for your answer.")
    if not status and not standing_answers(window, [member.encounter_id]):
        raise WindowRefused("There is no answer to withdraw.")
    made = MemberDecision.objects.create(
        window=window,
        encounter=member.encounter,
        result=member.result,
        status=status,
        reason=reason.strip(),
        by=by,
    )
    record(
        actor=by,
        study=window.study,
        action="window.decide" if status else "window.withdraw",
        object_type="ehr.encounter",
        object_id=member.encounter.public_id,
        detail={"status": status},
    )
    return made


def standing_answers(window: Window, encounters: list[int]) -> dict[int, MemberDecision]:
    """Return the answer that counts for each of these stays that has one."""
    newest = MemberDecision.objects.filter(window=window, encounter__in=encounters)
    newest = newest.select_related("by").order_by("encounter_id", "-pk").distinct("encounter_id")
    return {decision.encounter_id: decision for decision in newest if decision.status}
