"""The timer's estimate of one occurrence, before it becomes an entry."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

from timelines.domain import MAX_CONTEXT, Entry

#: Ways of decision by which all occurrences of a section share a moment: its heading says which
#: section it is, or only its words and place do.
SECTION, CONTENT = "section", "content"
#: The way of decision of a plan: it is at the hour it was made (protocol section 1).
PLAN = "plan"


class Strength(IntEnum):
    """How well a time is supported.

    A stronger mention of the same occurrence may date a weaker one.
    """

    DEFAULT = 0  # the convention for such occurrences, nothing is stated
    INHERITED = 1  # from its neighbours in the narrative
    PLACE = 2  # from its place (emergency department, unit)
    RELATIVE = 3  # from an offset or relation to something dated
    EXPLICIT = 4  # from a named day, clock time, or distance from t = 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A time in hours from admission with bounds; `time` None means N/A.

    `rule` names the deciding rule, `reason` explains it to a clinician, `context` has the UIDs it
    relies on.
    """

    time: float | None
    low: float | None
    high: float | None
    strength: Strength
    rule: str
    reason: str
    known: bool = False
    context: tuple[str, ...] = ()

    def shift(self, hours: float, low: float, high: float | None) -> Estimate:
        """The estimate moved by an amount whose bounds widen it."""
        time = None if self.time is None else self.time + hours
        lower = None if self.low is None else self.low + low
        upper = None if self.high is None or high is None else self.high + high
        return replace(self, time=time, low=lower, high=upper)

    def add_context(self, uids: tuple[str, ...]) -> Estimate:
        """Return the same estimate with further context UIDs at the end."""
        return replace(self, context=tuple(dict.fromkeys((*self.context, *uids))))


@dataclass(frozen=True, slots=True)
class Doubt:
    """Readings that suit the story nearly as well as the chosen one.

    They are up to `before` hours earlier and `after` hours later; `words` name them.
    """

    before: float
    after: float
    words: str

    def widen(self, estimate: Estimate) -> Estimate:
        """Return the estimate with bounds that contain all readings, not as known."""
        return replace(
            estimate,
            low=None if estimate.low is None else estimate.low - self.before,
            high=None if estimate.high is None else estimate.high + self.after,
            reason=f"{estimate.reason}; {self.words}",
            known=False,
        )


def entry(uid: str, estimate: Estimate) -> Entry:
    """Return the timeline entry of an estimate.

    Numbers are finite, bounds contain the point, and there are at most five context UIDs.
    """
    time = None if estimate.time is None else _round(estimate.time)
    low = None if estimate.low is None else _round(estimate.low)
    high = None if estimate.high is None else _round(estimate.high)
    if time is not None:
        low = None if low is None else min(low, time)
        high = None if high is None else max(high, time)
    elif low is not None and high is not None and low > high:
        low = high = None
    context = tuple(dict.fromkeys(c for c in estimate.context if c != uid))[:MAX_CONTEXT]
    return Entry(
        uid=uid,
        time=time,
        lower=low,
        upper=high,
        known=estimate.known and time is not None,
        context=context,
        decided_by=estimate.rule,
        reason=estimate.reason,
    )


def _round(hours: float) -> float:
    """Three decimals: a few seconds, finer than any clinical time."""
    return round(hours, 3) + 0.0
