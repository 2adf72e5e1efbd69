"""What people do with a ranked place or an unexplained row."""

from __future__ import annotations

from django.db import transaction

from accounts.audit.trail import record
from accounts.models import User
from accounts.permissions import check_user_can_open_cases
from cohorts.attention.important import load_kinds
from cohorts.models import AttentionItem, AttentionMark, RowDismissal
from ehr.models import Encounter, SourceRow
from ehr.record.clock import clock_of
from timelines.curation.comments import comment
from timelines.models import Comment

#: Characters of an event and of a value that a comment quotes at most.
LONGEST_QUOTED = 200


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
    _find_row(encounter, row_index)
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


@transaction.atomic
def comment_on_row(*, encounter: Encounter, row_index: int, words: str, by: User) -> Comment:
    """Copy an important row into a comment on the case, with its number.

    The inventory stays as it is. Raises NotAllowed, EditRefused, DismissalRefused for a row that
    the stay lacks.
    """
    row = _find_row(encounter, row_index)
    return comment(encounter=encounter, body=f"{cite_row(row, encounter)}\n{words}", by=by)


def cite_row(row: SourceRow, encounter: Encounter) -> str:
    """Return what a comment says about a row that no occurrence explains."""
    what = ", ".join(
        filter(None, (_quote(row.event), _quote(f"{row.value.strip()} {row.unit}".strip())))
    )
    hours = None if row.time is None else (row.time - encounter.admitted_at).total_seconds() / 3600
    when = clock_of(encounter).read(hours)
    return (
        f"Row {row.row_index} of the record, {when}: {what}."
        " No occurrence of the study timeline explains it."
    )


def _find_row(encounter: Encounter, row_index: int) -> SourceRow:
    rows = SourceRow.objects.filter(dataset=encounter.dataset_id, encounter=encounter)
    row = rows.filter(row_index=row_index).first()
    if row is None:
        raise DismissalRefused("The record of this stay has no such row.")
    return row


def _quote(text: str) -> str:
    # A comment notifies people who are named with @; the text of a row must not.
    short = text if len(text) <= LONGEST_QUOTED else f"{text[:LONGEST_QUOTED]}…"
    return short.replace("@", "＠")
