"""Resolve named days and clock times as hours from admission.

Hospital days, postoperative days, dates, "that evening", "by noon".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from timelines.backbones.rules.timing.anchors.clock import Calendar
from timelines.backbones.rules.timing.anchors.cursor import Cursor
from timelines.backbones.rules.timing.anchors.milestones import Milestones, Place, find_place
from timelines.backbones.rules.timing.anchors.operations import (
    assumed_operation,
    refers_to_operation,
)
from timelines.backbones.rules.timing.anchors.references import ReferenceIndex
from timelines.backbones.rules.timing.anchors.sequence import Choice, Passage
from timelines.backbones.rules.timing.estimate import Doubt, Estimate, Strength
from timelines.backbones.rules.timing.phrases.daypart import Part
from timelines.backbones.rules.timing.phrases.terms import Basis, Day, TimeExpression
from timelines.domain import DAY

#: How long before the admission a time of its day may be (hours).
_ARRIVING = 3.0
#: Days that the note states outright.
_STATED_DAYS = frozenset({Basis.HOSPITAL, Basis.DATE, Basis.POSTOP, Basis.WEEKDAY, Basis.UNIT})
_PRESENTATION = re.compile(r"presentation|presenting|arrival|admission|transfer", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Moment:
    """A resolved expression.

    It has its estimate, the calendar day it names, and whether only the day was named.
    `doubt` is what else it may mean.
    """

    estimate: Estimate
    day: int
    day_only: bool = False
    part: Part | None = None
    doubt: Doubt | None = None


@dataclass
class PointResolver:
    """Resolve points of one note.

    `age` is the patient's age in years, if the note states it.
    """

    calendar: Calendar
    milestones: Milestones
    index: ReferenceIndex
    age: float | None = None
    surgery_day: int | None = None
    #: The unit that the note names first; the stations refer to it.
    unit_name: str = ""
    surgery: Estimate | None = None
    #: The calendar day on which the story first reports an operation.
    reported_surgery_day: int | None = None
    #: The day of the note from which the passage was copied.
    copied_day: int | None = None
    #: When the entry that is being read was written (hours from admission); None outside one.
    writing: float | None = None
    #: Days of the clock times at the heads of a log's lines, by offset.
    log_days: Mapping[int, int] = field(default_factory=dict)
    #: First days that the note defines ("ICU day 1 = 22 May").
    first_days: Mapping[str, int] = field(default_factory=dict)
    #: Days of writing that the note states, by the offset from which they are meant.
    written: Sequence[tuple[int, int]] = ()
    #: The times that follow in the passage.
    ahead: Sequence[TimeExpression] = ()
    #: Whether the current time is the first of its line.
    new_line: bool = False
    #: The base of the last offset of the sentence: "a week before surgery … and two days
    #: before".
    shared_base: Estimate | None = None
    #: The last arrival at a station that the course reports; "on arrival" means it for a while.
    arrived: Estimate | None = None
    #: Every resolved expression with its calendar day and hours, by offset; they date the end of
    #: the stay.
    seen: dict[int, tuple[TimeExpression, int, float]] = field(default_factory=dict)

    def point(self, e: TimeExpression, cursor: Cursor, past: bool) -> Moment | None:
        day = self._day(e.day, e, cursor, past) if e.day else None
        if e.day and day is None:
            return None
        if e.part is None:
            return None if day is None else self._whole_day(day, e, cursor)
        choice = self._day_for_part(e, e.part, cursor, past) if day is None else Choice(day, e.part)
        day, part = choice.day, self._early_part(e, choice.part)
        time, low, high = self.calendar.at(day, part)
        if e.linked in ("that", "this") and part.point >= 20.5 and time < cursor.time - 3.0:
            time, high = cursor.time, max(high, cursor.time)
        if e.linked == "first":
            reached = self.milestones.at(Place.UNIT).time or 0.0
            time = min(max(time, reached + 0.5), high)
        arriving = (
            e.day is not None
            and e.day.basis is Basis.EVENT
            and e.day.number <= 0
            and _PRESENTATION.search(e.day.reference)
        )
        if past and time > 1.0 and arriving:
            day, time, low, high = day - 1, time - DAY, low - DAY, high - DAY
        reason = (
            f"“{e.text}”: {self._day_words(day)}, about {_hhmm(self.calendar.hour_of_day(time))}"
        )
        # The day of a bare hour is inferred, that of "the next day" depends on the story: they miss
        # more often than a date.
        rule = "hour" if e.day is None else "clock" if e.day.basis in _STATED_DAYS else "next day"
        estimate = Estimate(time, low, high, Strength.EXPLICIT, rule, reason, known=True)
        # Doubt about a day lasts until a day is named.
        doubt = self._doubt(time, e, choice.others)
        if doubt is None and (e.day is None or e.day.basis is Basis.CURRENT):
            doubt = cursor.doubt
        return Moment(estimate, day, part=part, doubt=doubt)

    def _doubt(
        self, time: float, e: TimeExpression, others: Sequence[tuple[int, Part]]
    ) -> Doubt | None:
        """Return what else an expression may mean that was placed at `time`."""
        if not others:
            return None
        times = [self.calendar.at(day, self._early_part(e, part))[0] for day, part in others]
        words = " or ".join(map(self._day_words, sorted({day for day, _ in others})))
        return Doubt(
            max(0.0, time - min(times)),
            max(0.0, max(times) - time),
            f"the order of the story allows {words} as well",
        )

    def _early_part(self, e: TimeExpression, part: Part) -> Part:
        """Return the part of the day, moved a day back for the early hours.

        "Just after midnight HD5" begins that day, and "overnight into POD 2" is the night before
        it.
        """
        if e.day is None or e.day.until is not None or e.day.basis is Basis.EVENT:
            return part
        if "after midnight" in part.label or (part.point >= 24 and re.search(r"\binto\b", e.text)):
            return part.shift(-DAY)
        return part

    def _day(self, named: Day, e: TimeExpression, cursor: Cursor, past: bool) -> int | None:
        if named.basis is Basis.HOSPITAL:
            return named.number - 1
        if named.basis is Basis.POSTOP:
            return (
                self.surgery_day
                if self.surgery_day is not None
                else self._guessed_surgery(cursor, named.number)
            ) + named.number
        if named.basis is Basis.UNIT:
            first = self._first_day(named.reference, e.start)
            return None if first is None else first + named.number - 1
        if named.basis is Basis.DATE:
            return self.calendar.date_day(named, near=cursor.day)
        if named.basis is Basis.WEEKDAY:
            return self.calendar.weekday_day(
                named.number, 0 if past else cursor.day, forward=not past
            )
        if named.basis is Basis.CURRENT:
            written = self._written_day(e, past) if named.writing else None
            if written is not None:
                return written + named.number
            if past and named.number < 0:
                return (
                    self.calendar.day_of(self.milestones.at(Place.EMERGENCY).time or 0.0)
                    + named.number
                )
            return cursor.day + named.number
        return self._event_day(named, e, cursor, past)

    def _first_day(self, counted: str, at: int) -> int | None:
        """Return the first day in the unit, on the ventilator or of antibiotics.

        It is as the note defines it. Without a stated arrival the unit counts from the admission.
        """
        if counted in self.first_days:
            return self.first_days[counted]
        if counted == "unit":
            reached = self.milestones.reached.get(Place.UNIT)
            stated = reached is not None and reached.strength is Strength.EXPLICIT
            return self.calendar.day_of(reached.time or 0.0) if reached and stated else 0
        found = self.index.find("intubated" if counted == "ventilator" else counted, at)
        if found is None or found[1].time is None:
            return None
        return self.calendar.day_of(found[1].time)

    def _guessed_surgery(self, cursor: Cursor, number: int) -> int:
        """Return the day of surgery from the first postoperative day named.

        It is the stated operation's day, else counted back from the current day.
        """
        if self.reported_surgery_day is not None:
            self.surgery_day = self.reported_surgery_day
            return self.surgery_day
        self.surgery_day = (
            max(0, cursor.day - max(0, number - 1)) if number > 0 else max(0, cursor.day)
        )
        return self.surgery_day

    def operation(self) -> Estimate:
        """The operation of this stay, as stated or assumed."""
        return self.surgery or assumed_operation(self.calendar, self.surgery_day)

    def _event_day(self, named: Day, e: TimeExpression, cursor: Cursor, past: bool) -> int | None:
        if refers_to_operation(named.reference):
            return self.calendar.day_of(self.operation().time or 0.0) + named.number
        place = find_place(named.reference)
        if past and _PRESENTATION.search(named.reference):
            return self.calendar.day_of(0.0) + named.number
        if place is None:
            found = self.index.find(named.reference, e.start, near=None if past else cursor.time)
            if found is None or found[1].time is None:
                if past:
                    return named.number
                return cursor.day + named.number if named.number > 0 else None
            return self.calendar.day_of(found[1].time) + named.number
        time = self.milestones.at(place).time or 0.0
        return self.calendar.day_of(time) + named.number

    def _day_for_part(self, e: TimeExpression, part: Part, cursor: Cursor, past: bool) -> Choice:
        """Return the day of a part of the day.

        The part is returned with its half of the day decided.

        Examples: "that evening", "the next morning" or a bare "by noon".
        """
        if e.start in self.log_days:
            return Choice(self.log_days[e.start], part)
        written = self._written_day(e, past) if e.linked == "this" else None
        if written is not None:
            return Choice(written, self._half(e, part, written, cursor))
        if past:
            return Choice(self._past_day(e, part, cursor), part)
        midnight = self.calendar.midnight
        crossed = cursor.time >= midnight(cursor.day + 1) - 0.01
        today = cursor.day + 1 if crossed and part.point < 20.5 else cursor.day
        named = {
            "that": today,
            "this": today,
            "next": cursor.day + 1,
            "previous": cursor.day - 1,
        }.get(e.linked)
        if named is not None:
            return Choice(named, self._half(e, part, named, cursor))
        if e.linked in ("first", "second"):
            day = 0
            while midnight(day) + part.high < 0.5:
                day += 1
            return Choice(day + (1 if e.linked == "second" else 0), part)
        passage = Passage(
            self.calendar,
            self._counted_day,
            self.milestones.discharge,
            self.ahead,
            self.new_line,
        )
        if cursor.day_only:
            # "HD 4: overnight she spiked": the first statement of a day is about the night that led
            # into it.
            before = part.point >= 24.5 or (part.point >= 23.5 and self._goes_on_early())
            day = cursor.day - 1 if before else cursor.day
            if day == 0 and midnight(day) + part.high < -_ARRIVING:
                day += 1
            return passage.confirm(self._half(e, part, day, cursor), day)
        if self.writing is not None:
            return self._before_writing(e, part, today)
        low = cursor.time if crossed_bounds(cursor) else min(cursor.low, cursor.time)
        return passage.choose(e, part, cursor.time, low)

    def _goes_on_early(self) -> bool:
        """Return whether the next clock time of the passage is before noon."""
        following = next((e for e in self.ahead if e.part is not None), None)
        return (
            following is not None
            and following.day is None
            and following.part is not None
            and following.part.point < 12
        )

    def _before_writing(self, e: TimeExpression, part: Part, today: int) -> Choice:
        """Return the last day on which a part had begun at the writing."""
        parts = [part, part.shift(12.0)] if e.ambiguous_clock and part.point < 12 else [part]
        writing = self.writing or 0.0
        last = min(today, self.calendar.day_of(writing))
        past = [
            (self.calendar.midnight(day) + p.point, day, p)
            for day in (last - 2, last - 1, last)
            for p in parts
            if self.calendar.midnight(day) + min(p.low + 0.25, p.point) <= writing
        ]
        _, day, chosen = max(past, key=lambda c: c[0])
        return Choice(day, chosen)

    def _written_day(self, e: TimeExpression, past: bool) -> int | None:
        """Return the day of writing of the text around an expression.

        Without a stated one it is that of the discharge, None before the admission (`past`).
        """
        days = [day for offset, day in self.written if offset <= e.start]
        if self.copied_day is not None:
            return self.copied_day
        if days:
            return days[-1]
        end = self.milestones.discharge
        return None if end is None or past else self.calendar.day_of(end)

    def _half(self, e: TimeExpression, part: Part, day: int, cursor: Cursor) -> Part:
        """Return the half of a known day that an hour without one means."""
        if not e.ambiguous_clock or part.point >= 12:
            return part
        late = self.calendar.midnight(day) + part.point < cursor.time - 3.0
        return part.shift(12.0) if late and not cursor.day_only else part

    def _counted_day(self, named: Day) -> int | None:
        """Return the calendar day of a hospital or postoperative day or a date."""
        if named.basis is Basis.HOSPITAL:
            return named.number - 1
        if named.basis is Basis.POSTOP:
            return None if self.surgery_day is None else self.surgery_day + named.number
        if named.basis is Basis.UNIT:
            first = self._first_day(named.reference, 0)
            return None if first is None else first + named.number - 1
        if named.basis is Basis.DATE and named.month is not None:
            return self.calendar.date_day(named)
        return None

    def _past_day(self, e: TimeExpression, part: Part, cursor: Cursor) -> int:
        """Return the day of a part of the day before admission.

        It is the current day of the story, or that of the last such time before t = 0.
        """
        if cursor.time < -DAY and (e.linked or cursor.recent):
            return cursor.day + (1 if e.linked == "next" else 0)
        day = self.calendar.day_of(0.0) + (1 if e.linked == "next" else 0)
        while self.calendar.midnight(day) + part.point > 0.5:
            day -= 1
        return day

    def _whole_day(self, day: int, e: TimeExpression, cursor: Cursor) -> Moment:
        start = self.calendar.midnight(day)
        low = max(start, 0.0) if day == 0 else start
        if (
            e.day is not None
            and e.day.basis is Basis.CURRENT
            and e.day.number == 0
            and not cursor.day_only
            and low <= cursor.time < start + DAY
        ):
            point = cursor.time
        else:
            point = max(start + 12.0, low + min(4.0, (start + DAY - low) / 2))
        words = f"“{e.text}”: {self._day_words(day)}"
        estimate = Estimate(point, low, start + DAY, Strength.EXPLICIT, "day", words, known=True)
        return Moment(estimate, day, day_only=True)

    def _day_words(self, day: int) -> str:
        if day >= 0:
            return f"hospital day {day + 1}"
        return "the day before admission" if day == -1 else f"{-day} days before admission"

    def spoken_day(self, time: float, day: int) -> int:
        """Return the day that a time counts to in ordinary speech.

        The small hours still belong to the day before if that was the current one.
        """
        late = 0.0 <= time - self.calendar.midnight(day + 1) < 5.0
        return day if late else self.calendar.day_of(time)

    def arrival_day(self, time: float) -> int:
        """Return the day of an arrival at a station.

        In the small hours it is the day before.
        """
        day = self.calendar.day_of(time)
        return day - 1 if self.calendar.hour_of_day(time) < 5.0 else day


def crossed_bounds(cursor: Cursor) -> bool:
    """Return whether the cursor's bounds are too wide, or unknown.

    Then they do not say which times it may mean.
    """
    return cursor.high is None or cursor.high - cursor.low > 12.0


def _hhmm(hour: float) -> str:
    minutes = round(hour * 60) % 1440
    return f"{minutes // 60:02d}:{minutes % 60:02d}"
