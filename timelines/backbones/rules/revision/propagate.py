"""Move occurrences without a row with the rows of what they are tied to.

The text ties an occurrence to another one: it counts from it ("two hours later", "after the scan"),
or has no time of its own and is mentioned with it. The findings of one examination share its
moment. If the record moves a tie by some hours, the occurrence moves by as many. Without a tie it
stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from timelines.backbones.rules.timing.estimate import CONTENT, SECTION
from timelines.domain import Entry

#: Ways of decision that tie an occurrence to its context.
_TIED = frozenset({"event", "narrative", "relative"})
#: The ways of decision whose occurrences share a moment.
_SHARED = frozenset({SECTION, CONTENT})
_SAME_MOMENT = 0.02
#: A row further away than this (hours) is a correction of its own.
_MAX_SHIFT = 6.0
#: Hours by which the context of an undated occurrence may be later than it.
_AHEAD = 1.0


@dataclass(frozen=True, slots=True)
class Anchored:
    """An occurrence whose time was taken from a row.

    It has the hour of the text and the hour of the row.
    """

    uid: str
    text_time: float
    row_time: float

    @property
    def shift(self) -> float:
        return self.row_time - self.text_time


def find_tie(entry: Entry, anchors: Mapping[str, Anchored]) -> Anchored | None:
    """Return what an occurrence moves with, by UID of the anchors.

    Of the context the most relevant, of one moment the middle shift.
    """
    tie = None
    if entry.decided_by in _TIED:
        tie = next((anchors[uid] for uid in entry.context if uid in anchors), None)
        tie = None if tie is not None and _is_later(tie, entry) else tie
    elif entry.decided_by in _SHARED and entry.time is not None:
        same = [a for a in anchors.values() if abs(a.text_time - entry.time) < _SAME_MOMENT]
        same.sort(key=lambda a: (a.shift, a.uid))
        tie = same[(len(same) - 1) // 2] if same else None
    return None if tie is None or abs(tie.shift) > _MAX_SHIFT else tie


def _is_later(tie: Anchored, entry: Entry) -> bool:
    """Return whether the context is later than what the text puts after it.

    Then another note of the chart gave it another time, and its shift is from that.
    """
    return (
        entry.decided_by == "narrative"
        and entry.time is not None
        and tie.text_time > entry.time + _AHEAD
    )
