"""Read what people answered to an occurrence and to a case.

The caller has checked that the person may see the case (`timelines.cases.opening`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from django.db.models import QuerySet

from accounts.models import User
from accounts.permissions import NotAllowed, user_can_manage_study
from ehr.models import Encounter
from ehr.presentation.clock import Moment
from ehr.record.clock import clock_of
from timelines.access.authoring import is_writing_unseen
from timelines.curation.comments import find_people
from timelines.curation.curated import as_mark
from timelines.curation.opening import WRITING, check_user_may_answer
from timelines.curation.standing import DEFAULT_REASON, Kind, Mark, Standing, find_standing
from timelines.models import Comment, Correction, Flag, Occurrence, Timeline
from timelines.presentation.answer import Claim


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """A correction or settlement that counts now or is in dispute.

    `mine`: the person may undo it. `applied`: the curated timeline has it.
    """

    public_id: str
    by: str
    at: datetime
    moment: Moment | None
    words: str
    reason: str
    rows: tuple[int, ...]
    settles: bool
    applied: bool
    mine: bool
    claim: Claim


@dataclass(frozen=True, slots=True)
class Said:
    """A comment. `text` is empty if it is withdrawn."""

    public_id: str
    by: str
    at: datetime
    text: str
    mentions: tuple[str, ...]
    withdrawn: bool
    mine: bool


@dataclass(frozen=True, slots=True)
class Thread:
    """A comment with its replies; `resolved_by` is empty while it is open."""

    first: Said
    replies: tuple[Said, ...]
    resolved_by: str
    occurrence: Occurrence | None

    @property
    def resolved(self) -> bool:
        return bool(self.resolved_by)


@dataclass(frozen=True, slots=True)
class Raised:
    """A flag that is not withdrawn."""

    public_id: str
    by: str
    at: datetime
    reason: str
    words: str
    mine: bool


@dataclass(frozen=True, slots=True)
class OccurrenceAnswers:
    """Everything that people answered to one occurrence of a base timeline.

    `closed`: why the person may not read or write answers; then there are none.
    """

    base: str = ""
    lines: tuple[AnswerLine, ...] = ()
    disputed: bool = False
    may_settle: bool = False
    past: int = 0
    threads: tuple[Thread, ...] = ()
    flags: tuple[Raised, ...] = ()
    #: User names that a comment may mention.
    people: tuple[str, ...] = ()
    closed: str = ""

    @property
    def reasons(self) -> list[tuple[str, str]]:
        """Return the reasons of a flag with their labels."""
        return [(reason.value, reason.label) for reason in Flag.Reason]

    @property
    def open_threads(self) -> int:
        return sum(not thread.resolved for thread in self.threads)


def load_answers(
    encounter: Encounter, base: int, occurrence: Occurrence, user: User
) -> OccurrenceAnswers:
    """Return the answers to an occurrence of a base timeline."""
    if is_writing_unseen(user, encounter):
        return OccurrenceAnswers(closed=WRITING)
    rows = _corrections().filter(base=base, occurrence=occurrence)
    admin = user_can_manage_study(user, encounter.dataset.study)
    log = list(rows)
    standing = find_standing([as_mark(row) for row in log])
    return OccurrenceAnswers(
        base=_public_id(log) or _base_id(base),
        lines=_lines(log, standing, encounter, user, admin),
        disputed=standing.disputed,
        may_settle=admin and standing.disputed,
        past=len(log),
        threads=load_threads(encounter, user, occurrence=occurrence),
        flags=load_flags(occurrence, user, admin),
        people=tuple(p.get_username() for p in find_people(encounter.dataset.study)),
    )


def load_case_threads(encounter: Encounter, user: User) -> tuple[Thread, ...]:
    """Return the threads on the whole case.

    None if its answers are closed to the person.
    """
    # Nearly every case has none, and what a person may read takes five queries more.
    if not Comment.objects.filter(encounter=encounter, occurrence=None).exists():
        return ()
    try:
        check_user_may_answer(user, encounter)
    except NotAllowed:
        return ()
    return load_threads(encounter, user, whole_case=True)


def load_threads(
    encounter: Encounter,
    user: User,
    *,
    occurrence: Occurrence | None = None,
    whole_case: bool = False,
) -> tuple[Thread, ...]:
    """Return the threads of a case or an occurrence. Four queries.

    `whole_case`: only those on no occurrence.
    """
    found = (
        Comment.objects.filter(encounter=encounter)
        .select_related("author", "occurrence")
        .prefetch_related("mentions__person")
        .order_by("pk")
    )
    if occurrence is not None:
        found = found.filter(occurrence=occurrence)
    elif whole_case:
        found = found.filter(occurrence__isnull=True)
    admin = user_can_manage_study(user, encounter.dataset.study)
    rows = list(found)
    withdrawn = {row.parent_id for row in rows if row.kind == Comment.Kind.WITHDRAW}
    below: dict[int, list[Comment]] = defaultdict(list)
    for row in rows:
        if row.parent_id is not None:
            below[row.parent_id].append(row)
    return tuple(
        _thread(row, below[row.pk], withdrawn, user, admin)
        for row in rows
        if row.kind == Comment.Kind.COMMENT and row.parent_id is None
    )


def load_comments(encounter: Encounter) -> list[dict[str, Any]]:
    """Return all rows of the comments of a case, oldest first.

    A withdrawn comment has no words. Two queries.
    """
    rows = list(
        Comment.objects.filter(encounter=encounter)
        .select_related("author", "occurrence", "parent")
        .prefetch_related("mentions__person")
        .order_by("pk")
    )
    withdrawn = {row.parent_id for row in rows if row.kind == Comment.Kind.WITHDRAW}
    return [describe_comment(row, withdrawn=row.pk in withdrawn) for row in rows]


def describe_comment(row: Comment, *, withdrawn: bool = False) -> dict[str, Any]:
    """Return a row of the comments as the API gives it."""
    mentions = [] if withdrawn else [m.person.get_username() for m in row.mentions.all()]
    return {
        "public_id": row.public_id,
        "occurrence": row.occurrence,
        "parent": row.parent,
        "author": row.author,
        "at": row.at,
        "kind": row.kind,
        "body": "" if withdrawn else row.body,
        "mentions": mentions,
    }


def find_flags() -> QuerySet[Flag]:
    """Return the flags that are not withdrawn."""
    return Flag.objects.filter(withdraws__isnull=True, withdrawn_by__isnull=True)


def load_flags(occurrence: Occurrence, user: User, admin: bool) -> tuple[Raised, ...]:
    """Return the flags of an occurrence that are not withdrawn, oldest first."""
    found = find_flags().filter(occurrence=occurrence)
    return tuple(
        Raised(
            flag.public_id,
            flag.author.get_username(),
            flag.at,
            Flag.Reason(flag.reason).label,
            flag.words,
            admin or flag.author_id == user.pk,
        )
        for flag in found.select_related("author").order_by("pk")
    )


class State(StrEnum):
    """What became of a correction."""

    APPLIED = "in the curated timeline"
    COUNTS = "counts"
    DISPUTED = "in dispute"
    UNDONE = "undone"
    REPLACED = "replaced by a later answer or settlement"


@dataclass(frozen=True, slots=True)
class Logged:
    """A row of the log of corrections, and what became of it."""

    row: Correction
    state: State

    @property
    def applied(self) -> bool:
        """Return whether the curated timeline has it."""
        return self.state is State.APPLIED


def load_log(
    encounter: Encounter, *, base: int | None = None, occurrence: int | None = None
) -> list[Logged]:
    """Return the corrections of a case, oldest first. One query.

    `base`, `occurrence`: only those of this timeline and this occurrence.
    """
    found = Correction.objects.filter(base__encounter=encounter)
    if base is not None:
        found = found.filter(base=base)
    if occurrence is not None:
        found = found.filter(occurrence=occurrence)
    rows = list(
        found.select_related("author", "base", "occurrence", "undoes", "chosen").order_by("pk")
    )
    logs: dict[tuple[int, int], list[Mark]] = defaultdict(list)
    for row in rows:
        logs[row.base_id, row.occurrence_id].append(as_mark(row))
    states: dict[int, State] = {}
    for log in logs.values():
        standing = find_standing(log)
        shown = State.DISPUTED if standing.disputed else State.COUNTS
        states |= {mark.number: shown for mark in standing.answers}
        if standing.applied:
            states[standing.applied.number] = State.APPLIED
        states |= {mark.undoes: State.UNDONE for mark in log if mark.undoes is not None}
    return [Logged(row, states.get(row.pk, State.REPLACED)) for row in rows]


@dataclass(frozen=True, slots=True)
class Dispute:
    """An occurrence whose corrections differ."""

    encounter: Encounter
    timeline: str
    uid4: str


def find_disputes(corrections: QuerySet[Correction]) -> list[Dispute]:
    """Return the disputed occurrences among these corrections.

    One query, in order of the case and the note.
    """
    rows = corrections.select_related("base__encounter", "occurrence").order_by(
        "base__encounter__case_id", "base", "occurrence__ordinal", "pk"
    )
    logs: dict[tuple[int, int], list[Correction]] = defaultdict(list)
    for row in rows:
        logs[row.base_id, row.occurrence_id].append(row)
    return [
        Dispute(log[0].base.encounter, log[0].base.public_id, log[0].occurrence.uid4)
        for log in logs.values()
        if find_standing([as_mark(row) for row in log]).disputed
    ]


def _corrections() -> QuerySet[Correction]:
    return Correction.objects.select_related("author", "base").order_by("pk")


def _public_id(log: Sequence[Correction]) -> str:
    return log[0].base.public_id if log else ""


def _base_id(base: int) -> str:
    return Timeline.objects.values_list("public_id", flat=True).get(pk=base)


def _lines(
    log: Sequence[Correction], standing: Standing, encounter: Encounter, user: User, admin: bool
) -> tuple[AnswerLine, ...]:
    rows = {row.pk: row for row in log}
    clock = clock_of(encounter)
    return tuple(
        AnswerLine(
            public_id=rows[mark.number].public_id,
            by=rows[mark.number].author.get_username(),
            at=rows[mark.number].at,
            moment=None if mark.time is None else clock.read(mark.time),
            words=Correction.Kind(mark.kind.value).label,
            reason=mark.reason,
            rows=mark.rows,
            settles=mark.settles,
            applied=mark == standing.applied,
            mine=admin or mark.person == user.pk,
            claim=make_claim(mark, rows[mark.number].author.get_username()),
        )
        for mark in standing.answers
    )


def make_claim(mark: Mark, by: str) -> Claim:
    """Return what a correction says, for a sentence."""
    return Claim(
        by=by,
        hours=mark.time,
        happened=mark.kind is not Kind.NOT_HAPPENED,
        reason="" if mark.reason == DEFAULT_REASON else mark.reason,
        settles=mark.settles,
        as_made=mark.kind is Kind.BASE,
    )


def _thread(
    row: Comment, below: Sequence[Comment], withdrawn: set[int | None], user: User, admin: bool
) -> Thread:
    resolving = [c for c in below if c.kind in (Comment.Kind.RESOLVE, Comment.Kind.REOPEN)]
    last = resolving[-1] if resolving else None
    return Thread(
        first=_said(row, withdrawn, user, admin),
        replies=tuple(
            _said(c, withdrawn, user, admin) for c in below if c.kind == Comment.Kind.COMMENT
        ),
        resolved_by=(
            last.author.get_username() if last and last.kind == Comment.Kind.RESOLVE else ""
        ),
        occurrence=row.occurrence,
    )


def _said(row: Comment, withdrawn: set[int | None], user: User, admin: bool) -> Said:
    gone = row.pk in withdrawn
    return Said(
        row.public_id,
        row.author.get_username(),
        row.at,
        "" if gone else row.body,
        tuple(m.person.get_username() for m in row.mentions.all()) if not gone else (),
        gone,
        not gone and (admin or row.author_id == user.pk),
    )
