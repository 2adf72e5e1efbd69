"""Correct a time, undo a correction, and settle two that differ.

Every step is a further row, and audited. Nothing that a model made changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction

from accounts.models import User
from accounts.permissions import NotAllowed, user_can_manage_study
from ehr.models import Encounter
from timelines.access.authoring import CURATED
from timelines.authoring.rows import timed_rows
from timelines.curation.curated import as_mark, load_standing, refresh
from timelines.curation.opening import audit, lock_case
from timelines.curation.standing import DEFAULT_REASON, Kind, Mark, Standing, agree
from timelines.domain import Anchor, TimelineKind
from timelines.drafts.time_entry import TimeEntry, TimeNotUnderstood, read_time
from timelines.drafts.values import LONGEST_REASON, EditRefused
from timelines.models import Correction, Occurrence, Timeline

MOST_ROWS = 10


@dataclass(frozen=True)
class Corrected:
    """What a person says about the time of an occurrence.

    `entered` is the time as typed. Empty with rows: the time of the first row. `not_placed` and
    `not_happened` need neither.
    """

    entered: str = ""
    rows: Sequence[int] = ()
    known: bool = False
    not_placed: bool = False
    not_happened: bool = False
    reason: str = ""


@transaction.atomic
def correct(*, base: Timeline, occurrence: Occurrence, what: Corrected, by: User) -> Correction:
    """Store the person's correction.

    The same correction sent again is stored once. Raises NotAllowed, EditRefused.
    """
    encounter = base.encounter
    _check_base(base, occurrence)
    lock_case(encounter, by)
    made = _read(base, occurrence, what, by)
    standing = load_standing(base, occurrence.pk).get(occurrence.pk, Standing())
    own = next((m for m in standing.answers if m.person == by.pk and not m.settles), None)
    if own is not None and _is_repeated(own, as_mark(made)):
        return Correction.objects.get(pk=own.number)
    made.save(force_insert=True)
    _finish(made, "correct", by)
    return made


@transaction.atomic
def undo(*, correction: Correction, by: User) -> Correction:
    """Undo a correction or a settlement with a further row.

    People undo their own; a study admin undoes any. Raises NotAllowed, EditRefused.
    """
    encounter = correction.base.encounter
    lock_case(encounter, by)
    if correction.author_id != by.pk and not user_can_manage_study(by, encounter.dataset.study):
        raise NotAllowed("Only its author or a study admin can undo a correction.")
    if correction.kind == Correction.Kind.UNDO:
        raise EditRefused("correction", "An undo cannot be undone. Correct the time again.")
    if Correction.objects.filter(undoes=correction).exists():
        raise EditRefused("correction", "This correction is undone already.")
    made = Correction.objects.create(
        base_id=correction.base_id,
        occurrence_id=correction.occurrence_id,
        author=by,
        kind=Correction.Kind.UNDO,
        undoes=correction,
    )
    _finish(made, "undo", by)
    return made


@transaction.atomic
def settle(
    *, base: Timeline, occurrence: Occurrence, chosen: Correction | None, reason: str, by: User
) -> Correction:
    """Settle corrections that differ.

    One of them counts, or the base's time stays. Only a study admin may. Raises NotAllowed,
    EditRefused if nothing is in dispute or `chosen` is none of the answers.
    """
    encounter = base.encounter
    _check_base(base, occurrence)
    lock_case(encounter, by)
    if not user_can_manage_study(by, encounter.dataset.study):
        raise NotAllowed("A study admin settles corrections that differ.")
    standing = load_standing(base, occurrence.pk).get(occurrence.pk)
    if standing is None or not standing.disputed:
        raise EditRefused("correction", "These corrections do not differ any more.")
    made = Correction(
        base=base,
        occurrence=occurrence,
        author=by,
        settles=True,
        kind=Correction.Kind.BASE,
        reason=_check_reason(reason),
    )
    if chosen is not None and chosen.kind != Correction.Kind.BASE:
        if chosen.pk not in {mark.number for mark in standing.answers}:
            raise EditRefused("correction", "Choose one of the corrections that differ.")
        first = chosen.chosen or chosen
        made.kind, made.chosen = first.kind, first
        for name in ("time", "lower", "upper", "known", "rows", "entered"):
            setattr(made, name, getattr(first, name))
    made.save(force_insert=True)
    _finish(made, "settle", by)
    return made


def _check_base(base: Timeline, occurrence: Occurrence) -> None:
    if base.kind == TimelineKind.REFERENCE or base.source.startswith(CURATED):
        raise EditRefused(
            "timeline", "A reference is not corrected here. Its author can reopen it."
        )
    if base.inventory_id is None or occurrence.inventory_id != base.inventory_id:
        raise EditRefused("timeline", "The occurrence is not of this timeline.")
    if occurrence.inventory.sealed_at is None:
        raise EditRefused(
            "timeline", "The run is not finished. Correct the time when it has ended."
        )


def _read(base: Timeline, occurrence: Occurrence, what: Corrected, by: User) -> Correction:
    made = Correction(
        base=base, occurrence=occurrence, author=by, reason=_check_reason(what.reason)
    )
    if what.not_happened:
        made.kind = Correction.Kind.NOT_HAPPENED
        return made
    made.rows = _check_rows(base.encounter, what.rows)
    if what.not_placed:
        made.kind = Correction.Kind.NOT_PLACED
        return made
    entry = _read_entry(base.encounter, what.entered, made.rows)
    made.kind = Correction.Kind.NOT_PLACED if entry.time is None else Correction.Kind.TIME
    made.time, made.lower, made.upper = entry.time, entry.lower, entry.upper
    made.known = entry.time is not None and (what.known if entry.known is None else entry.known)
    made.entered = " ".join(what.entered.split())
    if not made.reason and not made.rows:
        raise EditRefused("reason", "Say why, or take a row of the record.")
    made.reason = made.reason or DEFAULT_REASON
    return made


def _read_entry(encounter: Encounter, text: str, rows: Sequence[int]) -> TimeEntry:
    """Return the typed time, else the time of the first row."""
    if text.strip():
        try:
            return read_time(text, encounter.admitted_at, encounter.discharged_at)
        except TimeNotUnderstood as error:
            raise EditRefused("entered", str(error)) from None
    if not rows:
        raise EditRefused("entered", "Enter a time, or take a row of the record.")
    time = timed_rows(encounter).values_list("time", flat=True).get(row_index=rows[0])
    assert time is not None
    return TimeEntry(round(Anchor(encounter.admitted_at).hours(time), 6))


def _check_rows(encounter: Encounter, rows: Sequence[int]) -> list[int]:
    wanted = list(dict.fromkeys(rows))
    if len(wanted) > MOST_ROWS:
        raise EditRefused("rows", f"At most {MOST_ROWS} rows.")
    known = set(
        timed_rows(encounter).filter(row_index__in=wanted).values_list("row_index", flat=True)
    )
    if known != set(wanted):
        raise EditRefused("rows", "This case has no such row with a time.")
    return wanted


def _check_reason(text: str) -> str:
    if len(text) > LONGEST_REASON or "\x00" in text:
        raise EditRefused("reason", f"At most {LONGEST_REASON} characters.")
    return text.strip()


def _is_repeated(before: Mark, made: Mark) -> bool:
    return agree(before, made) and _details(before) == _details(made)


def _details(mark: Mark) -> tuple[object, ...]:
    return mark.lower, mark.upper, mark.known, mark.rows, mark.reason


def _finish(made: Correction, step: str, by: User) -> None:
    """Form the curated timeline, and record who did what."""
    curated = refresh(made.base)
    audit(
        made.base.encounter,
        "case.correct",
        by,
        {
            "step": step,
            "uid4": made.occurrence.uid4,
            "timeline": made.base.public_id,
            "correction": made.public_id,
            "kind": Kind(made.kind).value,
            "curated": curated.public_id if curated else "",
        },
    )
