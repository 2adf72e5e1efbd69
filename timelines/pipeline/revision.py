"""Stage 6: joint revision and its validator.

A revision that breaks a rule is rejected with reasons, never repaired. Reasons (protocol section
2): wrong number of alternatives; missing, repeated or unknown UID; changed mention; bounds that
exclude their time; too many, repeated or unknown context UIDs; a cited row that revision did not
see, or none of whose hours is the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from timelines.domain import (
    Entry,
    Expansion,
    InvariantError,
    Inventory,
    NamedTime,
    RowLink,
    SourceRow,
    TaggedNote,
    Timeline,
    TimelineKind,
    Window,
)
from timelines.pipeline.backbone import Reviser
from timelines.pipeline.config import PROTOCOL, PipelineConfig


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
    near_rows: tuple[int, ...] = ()
    link: RowLink | None = None


@dataclass(frozen=True, slots=True)
class ProposedTimeline:
    """The rows of one alternative as they were returned, with its reasoning."""

    rows: Sequence[ProposedEntry]
    reasoning: str = ""


def revise(
    reviser: Reviser,
    note: TaggedNote,
    text_only: Timeline,
    found: Expansion,
    window: Window,
    *,
    alternatives: int,
    exactly: bool = True,
    config: PipelineConfig = PROTOCOL,
) -> tuple[Timeline, ...]:
    """Run a reviser and check its result. Raises RevisionRejected.

    Rows that a time rests on must be among those that the reviser saw. Unless `exactly`, fewer
    timelines than `alternatives` are enough. `config` has the limits of citations.
    """
    return accept_revision(
        reviser.revise(note, text_only, found, window, alternatives),
        note.inventory,
        found,
        alternatives,
        exactly=exactly,
        config=config,
    )


def accept_revision(
    timelines: Iterable[Timeline],
    inventory: Inventory,
    found: Expansion,
    alternatives: int,
    *,
    exactly: bool = True,
    config: PipelineConfig = PROTOCOL,
) -> tuple[Timeline, ...]:
    """Return a revision's result if it is valid.

    `found` is what the revision was given. Raises RevisionRejected.
    """
    proposals = [
        ProposedTimeline([_make_proposal(e) for e in timeline], timeline.reasoning)
        for timeline in timelines
    ]
    checked = validate_revision(inventory, proposals, alternatives, exactly=exactly)
    reasons = [
        f"timeline {timeline.alternative}: {fault}"
        for timeline in checked
        for e in timeline
        for fault in citation_faults(e, found, config)
    ]
    if reasons:
        raise RevisionRejected(reasons)
    return checked


def citation_faults(
    entry: Entry | ProposedEntry | NamedTime, found: Expansion, config: PipelineConfig = PROTOCOL
) -> list[str]:
    """Return what is wrong with the rows that an entry cites.

    The sentences contain no note text, so a line without an identifier has no name.
    """
    name = "a line" if isinstance(entry, NamedTime) else f"UID {entry.uid}"
    cited, rows = entry.adopted_rows, found.by_index
    unseen = sorted({r for r in (*cited, *entry.near_rows) if r not in rows})
    if unseen:
        return [f"{name}: cites row {row}, which revision did not see" for row in unseen]
    if entry.link is not RowLink.CITED or not cited:
        return []
    if len(cited) > config.cited_rows:
        return [f"{name}: cites {len(cited)} rows, at most {config.cited_rows}"]
    if entry.time is None:
        return [f"{name}: cites rows for N/A"]
    if not has_hour_of(entry.time, [rows[row] for row in cited], config.cited_hours):
        return [f"{name}: the time equals the hour of none of the rows that it cites"]
    return []


def has_hour_of(time: float | None, rows: Iterable[SourceRow], within: float) -> bool:
    """Return whether the time is `within` hours of one of the rows."""
    return time is not None and any(
        row.time is not None and abs(row.time - time) <= within + 1e-9 for row in rows
    )


def validate_revision(
    inventory: Inventory,
    proposals: Sequence[ProposedTimeline],
    alternatives: int,
    *,
    exactly: bool = True,
) -> tuple[Timeline, ...]:
    """Return complete revised timelines: `alternatives`, or 1 to that many.

    They are numbered from 1, with entries in inventory order. Raises RevisionRejected with the
    reasons of every alternative.
    """
    reasons = _count_faults(len(proposals), alternatives, exactly=exactly)
    timelines: list[Timeline] = []
    for number, proposal in enumerate(proposals, start=1):
        rows = list(proposal.rows)
        faults = [f"timeline {number}: {fault}" for fault in _faults(inventory, rows)]
        reasons += faults
        if not faults:
            entries = [_entry(row) for row in rows]
            timelines.append(
                Timeline.complete(
                    inventory, entries, TimelineKind.REVISED, number, proposal.reasoning
                )
            )
    if reasons:
        raise RevisionRejected(reasons)
    return tuple(timelines)


def check_count(count: int, alternatives: int, *, exactly: bool) -> None:
    """Raise RevisionRejected for a wrong number of alternatives.

    Unless `exactly`, from 1 to `alternatives` are enough.
    """
    if faults := _count_faults(count, alternatives, exactly=exactly):
        raise RevisionRejected(faults)


def _count_faults(count: int, alternatives: int, *, exactly: bool) -> list[str]:
    if exactly and count != alternatives:
        return [f"{count} alternatives, exactly {alternatives} are asked for"]
    if not 1 <= count <= alternatives:
        return [f"{count} alternatives, from 1 to {alternatives} are asked for"]
    return []


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
        near_rows=row.near_rows,
        link=row.link,
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
        near_rows=entry.near_rows,
        link=entry.link,
    )
