"""The narrative position, which time expressions move."""

from __future__ import annotations

from dataclasses import dataclass

from timelines.backbones.rules.timing.estimate import Doubt, Estimate


@dataclass
class Cursor:
    """The time last spoken of.

    `time` in hours from admission; `day` is the calendar day spoken of (day 0 = that of admission),
    which stays the same through the night after it; `day_only`: the day was named, not the hour.
    `uid` is the occurrence at the cursor, for context.
    """

    time: float
    low: float
    high: float | None
    day: int
    day_only: bool = False
    uid: str = ""
    source: str = ""
    #: Whether the cursor was set in the current sentence.
    recent: bool = False
    #: How far undated clauses have moved `time` on since it was last set.
    drift: float = 0.0
    #: What else the last stated time may mean, and with it all that counts from it.
    doubt: Doubt | None = None

    def set(
        self,
        estimate: Estimate,
        day: int,
        day_only: bool = False,
        source: str = "",
        doubt: Doubt | None = None,
    ) -> None:
        """Move to an estimate; N/A does not move the cursor."""
        if estimate.time is None:
            return
        self.time = estimate.time
        self.low = estimate.low if estimate.low is not None else estimate.time
        self.high = estimate.high
        self.day, self.day_only, self.recent, self.drift = day, day_only, True, 0.0
        self.doubt = doubt
        if source:
            self.source = source

    def advance(self, step: float) -> None:
        """Move on by a little for the next undated statement."""
        self.time += step
        self.drift += step
        self.high = None if self.high is None else max(self.high, self.time)

    def copy(self) -> Cursor:
        """An independent cursor at the same place, for asides."""
        return Cursor(
            self.time,
            self.low,
            self.high,
            self.day,
            self.day_only,
            self.uid,
            self.source,
            self.recent,
            self.drift,
            self.doubt,
        )
