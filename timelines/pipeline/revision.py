"""Stage 6: joint revision and its validator.

A revision that breaks a rule is rejected with reasons, never repaired.

Reasons (protocol section 2): wrong number of alternatives; missing, repeated or unknown UID;
changed mention; bounds that exclude their time; too many, repeated or unknown context UIDs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from timelines.domain import (
    Entry,
    Evidence,
    InvariantError,
    Inventory,
    TaggedNote,
    Timeline,
    TimelineKind,
    Window,
)
from timelines.pipeline.backbone import Reviser


class RevisionRejected(ValueError):
    """A proposed revision that breaks the protocol.

    `reasons` name UIDs and rules, never note text.
    """

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = tuple(reasons)


@dataclass(frozen=True, slots=True)
class ProposedEntry:
    """One row of a revised table as it was returned.

    `mention` None: the protocol in use does not repeat mentions.
    """

    uid: str
    time: float | None
    lower: float | None = None
    upper: float | None = None
    known: bool | None = False
    context: tuple[str, ...] = ()
    mention: str | None = None
    decided_by: str = ""
    reason: str = ""
    adopted_rows: tuple[int, ...] = ()


def revise(
    reviser: Reviser,
    note: TaggedNote,
    text_only: Timeline,
    evidence: Sequence[Evidence],
    window: Window,
    *,
    alternatives: int,
) -> tuple[Timeline, ...]:
    """Run a reviser and check its result. Raises RevisionRejected.

    Rows a time rests on must have been given as evidence for exactly that UID.
    """
    return accept_revision(
        reviser.revise(note, text_only, evidence, window, alternatives),
        note.inventory,
        evidence,
        alternatives,
    )


def accept_revision(
    timelines: Iterable[Timeline],
    inventory: Inventory,
    evidence: Sequence[Evidence],
    alternatives: int,
) -> tuple[Timeline, ...]:
    """Return a revision's result if it is valid.

    `evidence` is what the revision was given. Raises RevisionRejected.
    """
    proposals = [[_make_proposal(e) for e in timeline] for timeline in timelines]
    checked = validate_revision(inventory, proposals, alternatives)
    given: dict[str, set[int]] = {}
    for item in evidence:
        given.setdefault(item.uid, set()).add(item.row.row_index)
    reasons = [
        f"timeline {timeline.alternative}: UID {e.uid}: adopted row {row} was not among its"
        " evidence"
        for timeline in checked
        for e in timeline
        for row in e.adopted_rows
        if row not in given.get(e.uid, ())
    ]
    if reasons:
        raise RevisionRejected(reasons)
    return checked


def validate_revision(
    inventory: Inventory,
    proposals: Sequence[Iterable[ProposedEntry]],
    alternatives: int,
) -> tuple[Timeline, ...]:
    """Return exactly `alternatives` complete revised timelines.

    They are numbered from 1, with entries in inventory order. Raises RevisionRejected with the
    reasons of every alternative.
    """
    reasons: list[str] = []
    if len(proposals) != alternatives:
        reasons.append(f"{len(proposals)} alternatives, exactly {alternatives} are asked for")
    timelines: list[Timeline] = []
    for number, proposal in enumerate(proposals, start=1):
        rows = list(proposal)
        faults = [f"timeline {number}: {fault}" for fault in _faults(inventory, rows)]
        reasons += faults
        if not faults:
            entries = [_entry(row) for row in rows]
            timelines.append(Timeline.complete(inventory, entries, TimelineKind.REVISED, number))
    if reasons:
        raise RevisionRejected(reasons)
    return tuple(timelines)


def _faults(inventory: Inventory, rows: Sequence[ProposedEntry]) -> list[str]:
    counts = Counter(row.uid for row in rows)
    faults = [f"missing UID {uid}" for uid in inventory.uids if uid not in counts]
    faults += [f"UID {uid} occurs {n} times" for uid, n in counts.items() if n > 1]
    faults += [f"unknown UID {uid}" for uid in counts if uid not in inventory.by_uid]
    for row in rows:
        occurrence = inventory.by_uid.get(row.uid)
        if occurrence is not None and row.mention is not None and row.mention != occurrence.mention:
            faults.append(f"UID {row.uid}: changed mention")
        faults += [
            f"UID {row.uid}: unknown context UID {c}"
            for c in row.context
            if c not in inventory.by_uid
        ]
        try:
            _entry(row)
        except InvariantError as error:
            faults.append(str(error))
    return faults


def _entry(row: ProposedEntry) -> Entry:
    return Entry(
        uid=row.uid,
        time=row.time,
        lower=row.lower,
        upper=row.upper,
        known=row.known,
        context=row.context,
        decided_by=row.decided_by,
        reason=row.reason,
        adopted_rows=row.adopted_rows,
    )


def _make_proposal(entry: Entry) -> ProposedEntry:
    return ProposedEntry(
        uid=entry.uid,
        time=entry.time,
        lower=entry.lower,
        upper=entry.upper,
        known=entry.known,
        context=entry.context,
        decided_by=entry.decided_by,
        reason=entry.reason,
        adopted_rows=entry.adopted_rows,
    )
