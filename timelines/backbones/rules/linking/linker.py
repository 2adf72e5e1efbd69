"""Link the notes of a chart by the rules. Deterministic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from timelines.backbones.rules.linking.sameness import Mentioned, compare, states_same_value
from timelines.backbones.rules.querying.reading import read_note
from timelines.backbones.rules.timing.calibration import narrow
from timelines.domain import TaggedNote, Timeline
from timelines.pipeline.backbone import Check, never_stop
from timelines.pipeline.linking.values import Decider, Link, Pair

#: What equal values add to the strength of a link, and what a day between the times takes.
_SAME_VALUE, _A_DAY = 0.5, 0.5


@dataclass(frozen=True)
class RuleLinker:
    """Linker of the rules backbone."""

    check: Check = never_stop

    def find_links(self, note: TaggedNote, timeline: Timeline, pairs: Sequence[Pair]) -> list[Link]:
        """Return the pairs that are one event, each with its reason."""
        readings = read_note(note, self.check)
        known = {uid: Mentioned(r, narrow(timeline.by_uid[uid])) for uid, r in readings.items()}
        links = []
        for pair in pairs:
            self.check()
            first, second = known[pair.first], known[pair.second]
            verdict = compare(first, second, pair.similarity)
            if verdict.same:
                strength = _weigh(first, second, pair.similarity)
                links.append(Link(pair.first, pair.second, verdict.reason, Decider.RULES, strength))
        return links


def _weigh(first: Mentioned, second: Mentioned, similarity: float) -> float:
    """Return the strength of a link: likeness, equal values, near times."""
    one, other = first.entry.time, second.entry.time
    days = 1.0 if one is None or other is None else min(1.0, abs(one - other) / 24.0)
    value = _SAME_VALUE if states_same_value(first, second) else 0.0
    return similarity + value - _A_DAY * days
