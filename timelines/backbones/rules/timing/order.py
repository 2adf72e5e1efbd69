"""Show where the order of a story disagrees with its times.

An occurrence without a time follows what is mentioned before it. If the next time of its part of
the note is earlier, the story went back, perhaps already before it, and its bounds reach there. A
day or an hour that the note states is not doubted: dates out of order are right.
"""

from __future__ import annotations

from dataclasses import replace

from timelines.backbones.rules.timing.estimate import Estimate
from timelines.backbones.rules.timing.frames import Frame, find_frame
from timelines.backbones.rules.timing.narrative import Narrator
from timelines.domain import Occurrence

#: Ways of decision that give an occurrence of a story its own time.
_TIMED = frozenset({"clock", "day", "event", "hour", "next day", "relative"})
#: Hours by which a time is earlier if the story went back.
_BACK = 1.0


def show_disagreements(narrator: Narrator) -> None:
    """Widen the bounds of what is mentioned before an earlier time."""
    for section in narrator.analysis.sections:
        if find_frame(section) not in (Frame.COURSE, Frame.PRESENTING):
            continue
        following: tuple[Occurrence, float] | None = None
        for occurrence in reversed(narrator.find_occurrences(section.body_start, section.end)):
            estimate = narrator.estimates.get(occurrence.uid)
            if estimate is None or estimate.time is None:
                continue
            if estimate.rule in _TIMED:
                following = occurrence, estimate.time
            elif (
                estimate.rule == "narrative"
                and following is not None
                and following[1] < estimate.time - _BACK
            ):
                narrator.estimates[occurrence.uid] = _widen(estimate, *following)


def _widen(estimate: Estimate, other: Occurrence, time: float) -> Estimate:
    reason = f"{estimate.reason}, but “{other.mention}”, mentioned next, is earlier"
    low = None if estimate.low is None else min(estimate.low, time)
    return replace(estimate, low=low, reason=reason)
