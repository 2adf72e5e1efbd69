"""Give each linked group one time.

The time of a group is that of one of its occurrences: one that a person corrected; else one whose
time rests on a row of the record; else the one with a stated time, with the narrowest bounds, or
of the note written soonest after the event, in this order. Bounds are intersected. An occurrence
that cannot be at that time has its own, and the reasons of both name the conflict.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from timelines.domain import MAX_CONTEXT, Entry, Timeline, differs
from timelines.pipeline.linking.grouping import Groups
from timelines.pipeline.linking.intervals import find_interval, find_width, overlap
from timelines.pipeline.linking.values import Member


@dataclass(frozen=True)
class Joined:
    """A timeline whose groups have one time each.

    `own` are the entries that changed, as they were before.
    """

    timeline: Timeline
    own: Mapping[str, Entry]


@dataclass(frozen=True)
class _Group:
    """The entries of one group, and what is known of their notes.

    `alone`: the time that each note gives alone. `people`: the names in `decided_by` of times that
    a person corrected.
    """

    entries: Sequence[Entry]
    members: Mapping[str, Member]
    alone: Mapping[str, Entry]
    people: Collection[str]

    def is_persons(self, entry: Entry) -> bool:
        return entry.decided_by in self.people

    def rank(self, entry: Entry) -> tuple[object, ...]:
        """Return the key by which the time of the group is chosen."""
        return (
            not self.is_persons(entry),
            not entry.adopted_rows,
            not entry.known,
            find_width(entry),
            self.wait(entry),
            self.members[entry.uid].part,
        )

    def wait(self, entry: Entry) -> float:
        """Return the hours from the event until its note was written."""
        written = self.members[entry.uid].written
        if written is None or entry.time is None:
            return math.inf
        return abs(written - entry.time)

    def name(self, entry: Entry) -> str:
        member = self.members[entry.uid]
        return f"the {member.note} (“{member.mention}”)"


def join(
    timeline: Timeline,
    groups: Groups,
    members: Mapping[str, Member],
    *,
    alone: Timeline | None = None,
    people: Collection[str] = frozenset(),
) -> Joined:
    """Return the timeline with one time for each group.

    `alone` has the time that each note gives alone; if None, the timeline itself has. `people` are
    the names in `decided_by` of times that a person corrected.
    """
    before = timeline.by_uid
    said = (alone or timeline).by_uid
    made = dict(before)
    for group in groups:
        made |= _join_group(_Group([before[uid] for uid in group], members, said, people))
    own = {uid: entry for uid, entry in before.items() if made[uid] != entry}
    return Joined(replace(timeline, entries=tuple(made[e.uid] for e in timeline)), own)


def _join_group(group: _Group) -> dict[str, Entry]:
    first = min((e for e in group.entries if e.time is not None), key=group.rank, default=None)
    if first is None:
        return {}
    shared, same, apart = first, list[Entry](), list[Entry]()
    for entry in sorted((e for e in group.entries if e is not first), key=group.rank):
        if _is_apart(shared, entry, group):
            apart.append(entry)
        else:
            same.append(entry)
            shared = shared if group.is_persons(shared) else _intersect(shared, entry)
    made = {e.uid: _take(shared, first, e, group) for e in same}
    made[first.uid] = replace(shared, reason=_add(first.reason, _say_same(same, group)))
    placed = [e for e in apart if e.time is not None]
    for entry in placed:
        made[entry.uid] = replace(entry, reason=_add(entry.reason, _say_apart([shared], group)))
    if placed:
        for entry in (first, *same):
            said = _say_apart(placed, group)
            made[entry.uid] = replace(made[entry.uid], reason=_add(made[entry.uid].reason, said))
    return made


def _is_apart(shared: Entry, entry: Entry, group: _Group) -> bool:
    """Return whether an entry keeps its own time.

    What a person says of an occurrence is never replaced.
    """
    if group.is_persons(entry):
        return entry.time != shared.time
    if entry.time is None:
        return find_interval(entry) is not None and not overlap(shared, entry)
    return differs(shared.time, entry.time) and not overlap(shared, entry)


def _intersect(shared: Entry, entry: Entry) -> Entry:
    """Return the shared entry inside the bounds of another, too.

    A row of the record is more exact than any note, so its time stays.
    """
    if shared.adopted_rows or shared.time is None:
        return shared
    lower = max((v for v in (shared.lower, entry.lower) if v is not None), default=None)
    upper = min((v for v in (shared.upper, entry.upper) if v is not None), default=None)
    if lower is not None and upper is not None and lower > upper:
        return shared
    time = shared.time
    time = time if lower is None else max(time, lower)
    time = time if upper is None else min(time, upper)
    return replace(shared, time=time, lower=lower, upper=upper)


def _take(shared: Entry, first: Entry, entry: Entry, group: _Group) -> Entry:
    """Return an entry with the time of the group, and why."""
    time = group.alone[entry.uid].time
    alone = "gives no time" if time is None else f"says {time:.1f} h"
    reason = (
        f"same event as in {group.name(first)}, {_explain(first, entry, group)}; this note alone"
        f" {alone}"
    )
    context = (first.uid, *(uid for uid in first.context if uid != entry.uid))
    return replace(shared, uid=entry.uid, context=context[:MAX_CONTEXT], reason=reason)


def _explain(first: Entry, entry: Entry, group: _Group) -> str:
    if group.is_persons(first):
        return "whose time a person corrected"
    if first.adopted_rows:
        return "whose time rests on a row of the record"
    if entry.time is None:
        return "which has a time"
    if first.known and not entry.known:
        return "which states the time"
    if find_width(first) < find_width(entry):
        return "whose bounds are narrower"
    return "which was written sooner after it"


def _say_same(same: Sequence[Entry], group: _Group) -> str:
    return f"also in {_list(same, group)}" if same else ""


def _say_apart(apart: Sequence[Entry], group: _Group) -> str:
    said = ", ".join(f"{group.name(e)} says {e.time:.1f} h" for e in apart)
    return f"the notes differ: {said}, which cannot be the same time"


def _list(entries: Sequence[Entry], group: _Group) -> str:
    return ", ".join(group.name(e) for e in entries)


def _add(reason: str, more: str) -> str:
    return "; ".join(filter(None, (reason, more)))
