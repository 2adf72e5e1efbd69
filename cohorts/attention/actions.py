"""What people do with a ranked place or an unexplained row."""

from __future__ import annotations

from django.db import transaction

from accounts.audit.trail import record
from accounts.models import User
from accounts.permissions import check_user_can_open_cases
from cohorts.attention.important import load_kinds
from cohorts.models import AttentionItem, AttentionMark, RowDismissal
from ehr.models import Encounter, SourceRow


class DismissalRefused(ValueError):
    """A dismissal that cannot be stored; the message says what to do."""

    log_safe = True


@transaction.atomic
def mark_looked_at(*, item: AttentionItem, by: User) -> AttentionMark:
    """Hide a place until it has other reasons."""
    check_user_can_open_cases(by, item.study)
    mark = AttentionMark.objects.create(
        study=item.study,
        encounter=item.encounter,
        uid4=item.uid4,
        reasons=item.reasons,
        by=by,
    )
    record(
        actor=by,
        study=item.study,
        action="attention.look",
        object_type="ehr.encounter",
        object_id=item.encounter.public_id,
        detail={"reasons": ", ".join(item.reasons)},
    )
    return mark


@transaction.atomic
def dismiss_row(
    *, encounter: Encounter, row_index: int, kind: str, reason: str, by: User
) -> RowDismissal:
    """Store that an important row needs no occurrence.

    Raises DismissalRefused without a reason, for another kind, or for a row that the stay lacks.
    A row that somebody dismissed before stays as it is.
    """
    study = encounter.dataset.study
    check_user_can_open_cases(by, study)
    if not reason.strip():
        raise DismissalRefused("Enter a reason: why does this row need no occurrence?")
    if kind not in {known.name for known in load_kinds()}:
        raise DismissalRefused("There is no such kind of important row.")
    rows = SourceRow.objects.filter(dataset=encounter.dataset_id, encounter=encounter)
    if not rows.filter(row_index=row_index).exists():
        raise DismissalRefused("The record of this stay has no such row.")
    made, new = RowDismissal.objects.get_or_create(
        encounter=encounter,
        row_index=row_index,
        defaults={"kind": kind, "reason": reason.strip(), "by": by},
    )
    if new:
        record(
            actor=by,
            study=study,
            action="attention.dismiss",
            object_type="ehr.encounter",
            object_id=encounter.public_id,
            detail={"row": row_index},
        )
    return made
