"""Stage 6 of the rules backbone: joint revision of the whole timeline.

Rows are judged one by one (`judge`) and chosen together (`assign`). Occurrences without a row move
with what the text ties them to (`propagate`) or with the recorded arrival (`arrival`). Discharge and what happens with it take the recorded
discharge. An occurrence without a convincing row keeps the time of the text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from timelines.backbones.rules.querying.reading import PLAN_SECTIONS, Reading, read_note
from timelines.backbones.rules.revision.arrival import find_arrival_row, move_with_arrival
from timelines.backbones.rules.revision.assign import KEEP_COST, Choice, Link, Node, assign
from timelines.backbones.rules.revision.judge import Judge, Verdict
from timelines.backbones.rules.revision.propagate import Anchored, find_tie
from timelines.backbones.rules.timing.calibration import narrow
from timelines.domain import (
    MAX_CONTEXT,
    Entry,
    Expansion,
    Inventory,
    Occurrence,
    RowLink,
    SourceRow,
    TaggedNote,
    Timeline,
    TimelineKind,
    Window,
)
from timelines.pipeline.backbone import Check, never_stop

#: A row is accurate to about this many hours, because charting is rounded.
_ROW_PRECISION = 0.5
#: Rows of one moment (a laboratory value and its charted copy) are cited together.
_SAME_MOMENT = 0.26
#: In a strict alternative only rows this cheap are adopted.
_STRICT_KEEP_COST = 0.35
#: In a second reading of the same evidence, choices of the first cost this much more.
_SECOND_CHOICE = 0.45


@dataclass(frozen=True)
class RuleReviser:
    """Reviser of the rules backbone. Deterministic; milliseconds a case."""

    check: Check = never_stop

    def revise(
        self,
        note: TaggedNote,
        text_only: Timeline,
        found: Expansion,
        window: Window,
        alternatives: int,
    ) -> list[Timeline]:
        """Return exactly `alternatives` complete timelines.

        1: the best joint reading. 2: the next best rows if the first choice was close. 3: only rows
        beyond doubt. Further ones lower the demand step by step.
        """
        case = _Case.build(note, text_only, found, window, self.check)
        first = assign(case.nodes, case.links)
        timelines = []
        for number in range(1, alternatives + 1):
            self.check()
            choices = first if number == 1 else _alternative(case, first, number)
            entries = _entries(case, choices, self.check)
            timelines.append(
                Timeline.complete(note.inventory, entries, TimelineKind.REVISED, number)
            )
        return timelines


@dataclass(frozen=True)
class _Case:
    inventory: Inventory
    readings: Mapping[str, Reading]
    text: Timeline
    window: Window
    nodes: list[Node]
    links: list[Link]
    #: The row of the arrival in the emergency department, if the record has one.
    arrival: SourceRow | None

    @classmethod
    def build(
        cls,
        note: TaggedNote,
        text_only: Timeline,
        found: Expansion,
        window: Window,
        check: Check,
    ) -> _Case:
        readings = read_note(note, check)
        judge = Judge(found.by_index.values())
        rows: dict[str, list[SourceRow]] = defaultdict(list)
        for item in found.evidence:
            rows[item.uid].append(item.row)
        nodes = []
        for occurrence in note.inventory:
            check()
            entry, reading = text_only.by_uid[occurrence.uid], readings[occurrence.uid]
            candidates = {
                row.row_index: row for row in (*rows[occurrence.uid], *judge.rows_about(reading))
            }
            verdicts = judge.verdicts(reading, narrow(entry), list(candidates.values()))
            nodes.append(Node(occurrence.uid, entry.time, tuple(verdicts), _topic(reading)))
        return cls(
            note.inventory,
            readings,
            text_only,
            window,
            nodes,
            _links(note.inventory, readings, text_only, nodes),
            find_arrival_row(found.by_index.values()),
        )


def _topic(reading: Reading) -> str:
    if reading.concept is not None:
        return reading.concept.name
    return (
        reading.carrier.name if reading.carrier is not None else reading.occurrence.mention.lower()
    )


def _links(
    inventory: Inventory,
    readings: Mapping[str, Reading],
    text_only: Timeline,
    nodes: Sequence[Node],
) -> list[Link]:
    index = {uid: i for i, uid in enumerate(inventory.uids)}
    links: dict[tuple[int, int], float] = {}

    def tie(a: int, b: int, weight: float) -> None:
        key = (min(a, b), max(a, b))
        links[key] = max(weight, links.get(key, 0.0))

    last_of_topic: dict[str, int] = {}
    for i, node in enumerate(nodes):
        if i > 0:
            tie(i - 1, i, _closeness(readings[nodes[i - 1].uid], readings[node.uid]))
        if node.topic in last_of_topic:
            tie(last_of_topic[node.topic], i, 0.6)
        last_of_topic[node.topic] = i
        for uid in text_only.by_uid[node.uid].context[:2]:
            tie(index[uid], i, 0.4)
    return [Link(a, b, weight) for (a, b), weight in sorted(links.items()) if weight > 0]


def _closeness(a: Reading, b: Reading) -> float:
    if a.section != b.section:
        return 0.0
    return 0.6 if a.sentence == b.sentence else 0.25


def _alternative(case: _Case, first: Sequence[Choice], number: int) -> list[Choice]:
    if number == 2:
        extra = {
            (n.uid, c.row.row_index): _SECOND_CHOICE
            for n, c in zip(case.nodes, first, strict=True)
            if c is not None
        }
        return assign(case.nodes, case.links, extra=extra)
    if number == 3:
        return assign(case.nodes, case.links, keep_cost=_STRICT_KEEP_COST)
    return assign(case.nodes, case.links, keep_cost=KEEP_COST + 0.15 * (number - 3))


def _entries(case: _Case, choices: Sequence[Choice], check: Check) -> list[Entry]:
    anchors = _find_anchors(case, choices)
    discharge = _text_discharge(case)
    entries = []
    for node, choice in zip(case.nodes, choices, strict=True):
        check()
        entry = case.text.by_uid[node.uid]
        if choice is not None:
            entries.append(_adopt(entry, choice, node))
        else:
            entries.append(_place_without_row(case, entry, anchors, discharge))
    return entries


def _find_anchors(case: _Case, choices: Sequence[Choice]) -> dict[str, Anchored]:
    """Return the occurrences with a row, by UID."""
    return {
        node.uid: Anchored(node.uid, node.text_time, choice.row.time)
        for node, choice in zip(case.nodes, choices, strict=True)
        if choice is not None and choice.row.time is not None and node.text_time is not None
    }


def _adopt(entry: Entry, choice: Verdict, node: Node) -> Entry:
    """The row's time; copies of the same moment are cited with it."""
    time = choice.row.time if choice.row.time is not None else 0.0
    same = [
        v.row.row_index
        for v in node.verdicts
        if v.row.time is not None and abs(v.row.time - time) <= _SAME_MOMENT and v.cost < KEEP_COST
    ]
    rows = tuple(dict.fromkeys([choice.row.row_index, *same]))
    before = (
        "the text gave no time" if entry.time is None else f"the text alone said {entry.time:.1f} h"
    )
    return Entry(
        uid=entry.uid,
        time=time,
        lower=time - _ROW_PRECISION,
        upper=time + _ROW_PRECISION,
        known=True,
        context=entry.context,
        decided_by="rules: evidence row",
        reason=f"{choice.row.time_kind.value} row at {time:.1f} h: {choice.reason}; {before}",
        adopted_rows=rows,
        link=RowLink.MATCHED,
    )


def _place_without_row(
    case: _Case, entry: Entry, anchors: Mapping[str, Anchored], discharge: float | None
) -> Entry:
    reading = case.readings[entry.uid]
    recorded = case.window.discharge
    if recorded is not None and _happens_at_discharge(reading, entry, discharge):
        return _make_entry(
            entry,
            recorded,
            "rules: discharge time",
            f"mentioned with the discharge, recorded at {recorded:.1f} h",
            known=True,
        )
    tie = find_tie(entry, anchors)
    if (
        tie is None
        or entry.time is None
        or entry.time < -24.0
        or abs(tie.shift) < 0.05
        or (reading.section == "hpi" and entry.time < 0 < entry.time + tie.shift)
    ):
        return move_with_arrival(entry, case.arrival) or replace(
            entry, decided_by=entry.decided_by or "rules: text", reason=_explain_unchanged(entry)
        )
    time = entry.time + tie.shift
    if recorded is not None and time > recorded >= entry.time:
        time = recorded
    return _shift(entry, time - entry.time, case.inventory.by_uid[tie.uid])


def _explain_unchanged(entry: Entry) -> str:
    return (
        f"no row is the same occurrence; {entry.reason}"
        if entry.reason
        else "no row is the same occurrence; the time from the text is kept"
    )


def _shift(entry: Entry, shift: float, tie: Occurrence) -> Entry:
    """Move time and bounds together.

    They describe a distance to the occurrence that it is tied to.
    """
    moved = [None if v is None else v + shift for v in (entry.time, entry.lower, entry.upper)]
    return Entry(
        uid=entry.uid,
        time=moved[0],
        lower=moved[1],
        upper=moved[2],
        known=entry.known,
        context=tuple(dict.fromkeys([tie.uid, *entry.context]))[:MAX_CONTEXT],
        decided_by="rules: moved with neighbours",
        reason=f"no row of its own; moved {shift:+.1f} h with “{tie.mention}”; {entry.reason}",
    )


def _make_entry(entry: Entry, time: float, decided_by: str, reason: str, *, known: bool) -> Entry:
    return Entry(entry.uid, time, time, time, known, entry.context, decided_by, reason)


def _text_discharge(case: _Case) -> float | None:
    """Return the time of discharge according to the text alone.

    It is the time of the occurrence that reports the discharge, the last one if several do.
    """
    times = [
        n.text_time
        for n in case.nodes
        if n.text_time is not None
        and n.topic == "discharge"
        and case.readings[n.uid].section not in ("hpi", "pmh")
    ]
    return max(times) if times else None


def _happens_at_discharge(reading: Reading, entry: Entry, text_discharge: float | None) -> bool:
    if reading.section in PLAN_SECTIONS:
        return (
            entry.time is None or text_discharge is None or abs(entry.time - text_discharge) < 12.0
        )
    return (
        text_discharge is not None
        and entry.time is not None
        and entry.time > 0
        and abs(entry.time - text_discharge) < 0.01
    )
