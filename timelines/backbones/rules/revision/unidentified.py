"""Revision without identifiers: equal words are one event.

Repeated mentions with equal text cannot be distinguished: both mentions of "fever" in a note are
one line here, placed at the first mention that has a time, with the rows of both. The variant
measures that loss; no rule avoids it by looking at places in the note. Reading and judging are
those of the full revision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from timelines.backbones.rules.revision.reviser import RuleReviser
from timelines.domain import (
    Entry,
    Evidence,
    Expansion,
    Inventory,
    NamedRow,
    NamedTime,
    NamedTimeline,
    NoRows,
    Occurrence,
    TaggedNote,
    TaggedSpan,
    Timeline,
    TimelineKind,
    Window,
)
from timelines.pipeline.backbone import Check, never_stop


@dataclass(frozen=True)
class UnidentifiedRuleReviser:
    """UnidentifiedReviser of the rules backbone."""

    check: Check = never_stop

    def revise_unidentified(
        self,
        note: str,
        spans: Sequence[TaggedSpan],
        table: Sequence[NamedTime],
        evidence: Sequence[NamedRow],
        missing: Mapping[str, NoRows],
        window: Window,
        alternatives: int,
    ) -> list[NamedTimeline]:
        """Return timelines with one line for each event text.

        Lines are in the order in which the texts first appear.
        """
        events = _events(spans, table)
        tagged = TaggedNote(note, Inventory(tuple(e.occurrence for e in events.values())))
        text_only = Timeline.complete(
            tagged.inventory, [e.entry for e in events.values()], TimelineKind.TEXT_ONLY
        )
        revised = RuleReviser(self.check).revise(
            tagged, text_only, Expansion(tuple(_evidence(events, evidence))), window, alternatives
        )
        return [
            NamedTimeline(tuple(_line(tagged.inventory, entry) for entry in timeline))
            for timeline in revised
        ]


@dataclass(frozen=True, slots=True)
class _Event:
    """One event text under a number that only this call uses."""

    occurrence: Occurrence
    entry: Entry


def _events(spans: Sequence[TaggedSpan], table: Sequence[NamedTime]) -> dict[str, _Event]:
    """Return the events by their text.

    Each has the first span with the text and the first line with a time, else the first line.
    """
    lines: dict[str, NamedTime] = {}
    for line in table:
        key = _key(line.event)
        if key not in lines or (lines[key].time is None and line.time is not None):
            lines[key] = line
    places: dict[str, TaggedSpan] = {}
    for span in spans:
        places.setdefault(_key(span.mention), span)
    return {
        key: _event(number, line, places.get(key))
        for number, (key, line) in enumerate(lines.items())
    }


def _event(number: int, line: NamedTime, span: TaggedSpan | None) -> _Event:
    uid = f"{number:04x}"
    entry = Entry(
        uid,
        line.time,
        line.lower,
        line.upper,
        line.known,
        decided_by=line.decided_by,
        reason=line.reason,
    )
    if span is None:
        return _Event(Occurrence(uid, number, line.event, None, None), entry)
    return _Event(
        Occurrence(uid, number, line.event, span.start, span.end, span.polarity, span.lane), entry
    )


def _evidence(events: Mapping[str, _Event], rows: Sequence[NamedRow]) -> list[Evidence]:
    """Each row once an event, in the order given."""
    found: dict[tuple[str, int], Evidence] = {}
    for item in rows:
        event = events.get(_key(item.event))
        if event is not None:
            uid = event.occurrence.uid
            found.setdefault((uid, item.row.row_index), Evidence(uid, 0, item.row, 1, 1.0))
    return list(found.values())


def _line(inventory: Inventory, entry: Entry) -> NamedTime:
    return NamedTime(
        inventory.by_uid[entry.uid].mention,
        entry.time,
        entry.lower,
        entry.upper,
        entry.known,
        entry.decided_by,
        entry.reason,
        adopted_rows=entry.adopted_rows,
        near_rows=entry.near_rows,
        link=entry.link,
    )


def _key(event: str) -> str:
    return " ".join(event.casefold().split())
