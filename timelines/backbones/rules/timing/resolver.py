"""Turns one time expression into hours from admission, given the cursor, the calendar and what is already dated."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from timelines.backbones.rules.timing.clock import Calendar
from timelines.backbones.rules.timing.cursor import Cursor
from timelines.backbones.rules.timing.daypart import Part
from timelines.backbones.rules.timing.estimate import Estimate, Strength
from timelines.backbones.rules.timing.milestones import Milestones, Place, place_in, unit_in
from timelines.backbones.rules.timing.operations import assumed_operation, refers_to_operation
from timelines.backbones.rules.timing.references import ReferenceIndex
from timelines.backbones.rules.timing.terms import Anchoring, Basis, Day, Kind, TimeExpression
from timelines.domain import DAY, YEAR

#: Offsets count from the last told time while undated clauses have moved the cursor by less than this (hours).
_SMALL_DRIFT = 0.5
#: How far before the cursor a part of the day may lie and still mean the same day.
_SLACK = 2.5
#: From this cursor on (hours), the story of a presentation has come into the hospital.
_ARRIVED = -0.6
_PRESENTATION = re.compile(r"presentation|presenting|arrival|admission|transfer", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Moment:
    """A resolved expression: its estimate, the calendar day it names, and whether only the day was named."""

    estimate: Estimate
    day: int
    day_only: bool = False
    part: Part | None = None


@dataclass
class Resolver:
    """Resolves expressions of one note. `age` is the patient's age in years, where the note gives it."""

    calendar: Calendar
    milestones: Milestones
    index: ReferenceIndex
    age: float | None = None
    surgery_day: int | None = None
    #: The unit that the note names first; the stations tell of that one.
    unit_name: str = ""
    surgery: Estimate | None = None
    #: The calendar day on which the story first tells of an operation.
    told_surgery_day: int | None = None
    #: What the last offset of the sentence counted from: "a week before surgery … and two days before".
    shared_base: Estimate | None = None
    #: Every resolved expression with its calendar day and hours, by offset: what is known of the end of the stay.
    seen: dict[int, tuple[TimeExpression, int, float]] = field(default_factory=dict)

    def resolve(self, expression: TimeExpression, cursor: Cursor, past: bool) -> Moment | None:
        """Hours for an expression; None when it cannot be resolved and should be ignored.

        `past`: the passage tells of the time before admission, where "two weeks prior" counts back from t = 0.
        """
        moment = self._moment(expression, cursor, past)
        if moment is None or moment.estimate.time is None:
            return None
        self.seen[expression.start] = (expression, moment.day, moment.estimate.time)
        return moment

    def _moment(self, expression: TimeExpression, cursor: Cursor, past: bool) -> Moment | None:
        past = past and cursor.time < _ARRIVED
        if expression.kind is Kind.POINT:
            return self._point(expression, cursor, past)
        if expression.kind is Kind.AGE:
            return self._age(expression)
        if expression.kind is Kind.YEAR:
            return self._year(expression)
        if expression.kind is Kind.SPAN:
            return self._span(expression, cursor, past)
        if expression.anchoring is Anchoring.ADMISSION:
            return self._ago(expression)
        if expression.anchoring is Anchoring.REFERENCE:
            return self._referred(expression, cursor, past)
        return self._from_cursor(expression, cursor, past)

    # Named days and clock times

    def _point(self, e: TimeExpression, cursor: Cursor, past: bool) -> Moment | None:
        day = self._day(e.day, e, cursor, past) if e.day else None
        if e.day and day is None:
            return None
        if e.part is None:
            return None if day is None else self._whole_day(day, e, cursor)
        if day is None:
            day = self._day_for_part(e, e.part, cursor, past)
        part = self._early_part(e, e.part)
        time, low, high = self._clock(e, part, day, cursor)
        if e.linked == "that" and part.point >= 20.5 and time < cursor.time - 3.0:
            time, high = cursor.time, max(high, cursor.time)
        if e.linked == "first":
            reached = self.milestones.at(Place.UNIT).time or 0.0
            time = min(max(time, reached + 0.5), high)
        arriving = e.day is not None and e.day.basis is Basis.EVENT and e.day.number <= 0 and _PRESENTATION.search(e.day.reference)
        if past and time > 1.0 and arriving:
            day, time, low, high = day - 1, time - DAY, low - DAY, high - DAY
        reason = f"“{e.text}”: {self._day_words(e, day)}, about {_hhmm(self.calendar.hour_of_day(time))}"
        strength = Strength.EXPLICIT
        return Moment(Estimate(time, low, high, strength, "clock", reason, known=True), day, part=part)

    def _clock(self, e: TimeExpression, part: Part, day: int, cursor: Cursor) -> tuple[float, float, float]:
        time, low, high = self.calendar.at(day, part)
        if e.ambiguous_clock and part.point < 12 and not e.day and time < cursor.time - 3.0:
            return time + 12, low + 12, high + 12
        return time, low, high

    def _early_part(self, e: TimeExpression, part: Part) -> Part:
        """ "Just after midnight HD5" begins that day, and "overnight into POD 2" is the night before it."""
        if e.day is None or e.day.until is not None or e.day.basis is Basis.EVENT:
            return part
        if "after midnight" in part.label or (part.point >= 24 and re.search(r"\binto\b", e.text)):
            return part.shifted(-DAY)
        return part

    def _day(self, named: Day, e: TimeExpression, cursor: Cursor, past: bool) -> int | None:
        if named.basis is Basis.HOSPITAL:
            return named.number - 1
        if named.basis is Basis.POSTOP:
            return (self.surgery_day if self.surgery_day is not None else self._guessed_surgery(cursor, named.number)) + named.number
        if named.basis is Basis.UNIT:
            unit = self.milestones.at(Place.UNIT)
            return self.calendar.day_of(unit.time or 0.0) + named.number - 1
        if named.basis is Basis.DATE:
            return self.calendar.date_day(named)
        if named.basis is Basis.WEEKDAY:
            return self.calendar.weekday_day(named.number, 0 if past else cursor.day, forward=not past)
        if named.basis is Basis.CURRENT:
            if past and named.number < 0:
                return self.calendar.day_of(self.milestones.at(Place.EMERGENCY).time or 0.0) + named.number
            return cursor.day + named.number
        return self._event_day(named, e, past)

    def _guessed_surgery(self, cursor: Cursor, number: int) -> int:
        """The first postoperative day that a note names counts from the told operation, else it follows the day last spoken of."""
        if self.told_surgery_day is not None:
            self.surgery_day = self.told_surgery_day
            return self.surgery_day
        self.surgery_day = max(0, cursor.day - max(0, number - 1)) if number > 0 else max(0, cursor.day)
        return self.surgery_day

    def operation(self) -> Estimate:
        """The operation of this stay, as told or assumed."""
        return self.surgery or assumed_operation(self.calendar, self.surgery_day)

    def _event_day(self, named: Day, e: TimeExpression, past: bool) -> int | None:
        if refers_to_operation(named.reference):
            return self.calendar.day_of(self.operation().time or 0.0) + named.number
        place = place_in(named.reference)
        if past and _PRESENTATION.search(named.reference):
            return self.calendar.day_of(0.0) + named.number
        if place is None:
            found = self.index.find(named.reference, e.start)
            if found is None or found[1].time is None:
                return 0 + named.number if past else None
            return self.calendar.day_of(found[1].time) + named.number
        time = self.milestones.at(place).time or 0.0
        return self.calendar.day_of(time) + named.number

    def _day_for_part(self, e: TimeExpression, part: Part, cursor: Cursor, past: bool) -> int:
        """Which day "that evening", "the next morning" or a bare "by noon" belongs to."""
        midnight = self.calendar.midnight
        crossed = cursor.time >= midnight(cursor.day + 1) - 0.01
        today = cursor.day + 1 if crossed and part.point < 20.5 else cursor.day
        if past:
            return self._past_day(e, part, cursor)
        if e.linked == "that":
            return today
        if e.linked == "next":
            return cursor.day + 1
        if e.linked == "previous":
            return cursor.day - 1
        if e.linked in ("first", "second"):
            day = 0
            while midnight(day) + part.high < 0.5:
                day += 1
            return day + (1 if e.linked == "second" else 0)
        if cursor.day_only:
            return cursor.day
        if (
            part.point >= 26
            and re.match(r"\W*over", e.text, re.IGNORECASE) is not None
            and 3.5 <= self.calendar.hour_of_day(cursor.time) < 11
        ):
            return self.calendar.day_of(cursor.time) - 1
        day = (today if not crossed else cursor.day) - 1
        for _ in range(4):
            hour = part.point + (12 if e.ambiguous_clock and part.point < 12 else 0)
            earliest = cursor.time - (3.0 if e.ambiguous_clock else _SLACK)
            if not crossed_bounds(cursor):
                earliest = min(earliest, cursor.low)
            late_enough = midnight(day) + hour >= earliest
            if late_enough:
                break
            day += 1
        return day

    def _past_day(self, e: TimeExpression, part: Part, cursor: Cursor) -> int:
        """Before admission, a part of the day belongs to the day spoken of, or to the last such time before t = 0."""
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
        words = f"“{e.text}”: {self._day_words(e, day)}"
        estimate = Estimate(point, low, start + DAY, Strength.EXPLICIT, "day", words, known=True)
        return Moment(estimate, day, day_only=True)

    def _day_words(self, e: TimeExpression, day: int) -> str:
        if day >= 0:
            return f"hospital day {day + 1}"
        return "the day before admission" if day == -1 else f"{-day} days before admission"

    # Amounts of time

    def _ago(self, e: TimeExpression) -> Moment | None:
        if e.quantity is None:
            return None
        base = self.milestones.at(Place.EMERGENCY) if e.quantity.hours < DAY else Estimate(0.0, 0.0, 0.0, Strength.EXPLICIT, "", "")
        return self._moved(base, e, -1, "ago", f"“{e.text}”: before admission", Strength.EXPLICIT, known=True)

    def _span(self, e: TimeExpression, cursor: Cursor, past: bool) -> Moment | None:
        """How long a state has lasted: before admission its start counts back; in the stay it says nothing of the start."""
        if e.quantity is None or not past or (e.quantity.hours < DAY and cursor.time < -2 * DAY):
            return None
        base = self.milestones.at(Place.EMERGENCY) if e.quantity.hours < DAY else Estimate(0.0, 0.0, 0.0, Strength.EXPLICIT, "", "")
        return self._moved(base, e, -1, "span", f"“{e.text}”: an interval takes its start", Strength.EXPLICIT, known=True)

    def _from_cursor(self, e: TimeExpression, cursor: Cursor, past: bool) -> Moment | None:
        if e.quantity is None:
            return None
        told = cursor.time - cursor.drift if cursor.drift < _SMALL_DRIFT else cursor.time
        base = Estimate(told, min(cursor.low, told), cursor.high, Strength.RELATIVE, "", "", context=(cursor.uid,) if cursor.uid else ())
        if self.shared_base is not None and e.direction < 0 and re.search(r"\bbefore$", e.text):
            return self._moved(self.shared_base, e, -1, "event", f"“{e.text}”: {self.shared_base.reason}", Strength.RELATIVE, known=False)
        if past and e.direction < 0 and cursor.time > -DAY and e.quantity.hours >= DAY:
            base = replace(base, time=0.0, low=0.0, high=0.0)
        after = "after" if e.direction > 0 else "before"
        source = f" “{cursor.source}”" if cursor.source else " what was told last"
        moment = self._moved(base, e, e.direction, "relative", f"“{e.text}” {after}{source}", Strength.RELATIVE, known=False)
        if moment and e.quantity.hours >= DAY and cursor.day_only:
            return replace(moment, day_only=True)
        return moment and replace(moment, day=self.spoken_day(moment.estimate.time or 0.0, cursor.day))

    def _referred(self, e: TimeExpression, cursor: Cursor, past: bool) -> Moment | None:
        base = self.reference(e.reference, e.start, cursor, past)
        if base is None:
            return self._from_cursor(e, cursor, past) if e.quantity is not None and e.kind is Kind.OFFSET else None
        known = base.known and base.rule == "place"
        self.shared_base = base
        if e.quantity is None or e.direction == 0:
            reason = f"“{e.text}”: {base.reason}"
            estimate = replace(
                base, strength=max(Strength.RELATIVE, min(base.strength, Strength.EXPLICIT)), rule="event", reason=reason, known=known
            )
            return Moment(estimate, self.arrival_day(base.time or 0.0))
        moment = self._moved(base, e, e.direction, "event", f"“{e.text}”: {base.reason}", Strength.RELATIVE, known=known)
        return moment and replace(moment, day=self.arrival_day(moment.estimate.time or 0.0))

    def reference(self, phrase: str, at: int, cursor: Cursor, past: bool) -> Estimate | None:
        """What a phrase refers to: a station of the stay, the operation, or a dated occurrence."""
        bare = re.fullmatch(
            r"(?:(?:the|her|his|initial)\s+)*(?:arrival|arriving|presentation|admission|he\s+arrived|she\s+arrived)",
            phrase.strip(),
            re.IGNORECASE,
        )
        place = place_in(phrase)
        if past and re.fullmatch(r"(?:the\s+|his\s+|her\s+)?transfer", phrase.strip(), re.IGNORECASE):
            return self.milestones.at(Place.EMERGENCY)
        if place is Place.UNIT and unit_in(phrase) not in ("", self.unit_name):
            return None
        if place in (Place.UNIT, Place.FLOOR) and place not in self.milestones.reached and cursor.time > 12:
            return None
        if bare and not past and re.search("arriv", phrase, re.IGNORECASE):
            place = Place.UNIT if Place.UNIT in self.milestones.reached or Place.FLOOR not in self.milestones.reached else Place.FLOOR
        if place is not None and (
            bare or re.search(r"arriv|admi|transfer|reach|present|discharge|d/c|\btx\b|return", phrase, re.IGNORECASE)
        ):
            return self.milestones.at(place)
        if refers_to_operation(phrase):
            return self.operation()
        if place in (Place.EMERGENCY, Place.OUTSIDE) and not past:
            return self.milestones.at(place)
        found = self.index.find(phrase, at, near=cursor.time, recent=not past)
        if found is None:
            return self.milestones.at(place) if place is not None and place is not Place.ADMISSION else None
        occurrence, estimate = found
        return replace(
            estimate,
            strength=Strength.RELATIVE,
            reason=f"“{occurrence.mention}” stands at {_hours(estimate.time)}",
            rule="event",
            known=False,
            context=(occurrence.uid,),
        )

    def spoken_day(self, time: float, day: int) -> int:
        """The day that people speak of at a time: the small hours still belong to the day before when it was spoken of."""
        late = 0.0 <= time - self.calendar.midnight(day + 1) < 5.0
        return day if late else self.calendar.day_of(time)

    def arrival_day(self, time: float) -> int:
        """The day spoken of when the story reaches a station in the small hours is the day before."""
        day = self.calendar.day_of(time)
        return day - 1 if self.calendar.hour_of_day(time) < 5.0 else day

    def _moved(
        self, base: Estimate, e: TimeExpression, direction: int, rule: str, reason: str, strength: Strength, known: bool
    ) -> Moment | None:
        quantity = e.quantity
        if quantity is None or base.time is None:
            return None
        high = None if quantity.high is None else direction * quantity.high
        near, far = direction * quantity.low, high
        low, top = (near, far) if direction > 0 else (far, near)
        moved = base.shifted(direction * quantity.hours, low if low is not None else 0.0, top)
        estimate = replace(moved, low=None if low is None else moved.low, strength=strength, rule=rule, reason=reason, known=known)
        return Moment(estimate, self.calendar.day_of(estimate.time or 0.0))

    # Ages and years

    def _age(self, e: TimeExpression) -> Moment | None:
        if e.age is None or self.age is None or self.age < e.age[0]:
            return None
        low, high = -(self.age - e.age[0] + 1) * YEAR, min(0.0, -(self.age - e.age[1]) * YEAR)
        estimate = Estimate((low + high) / 2, low, high, Strength.EXPLICIT, "age", f"“{e.text}” at age {self.age:g} now", known=True)
        return Moment(estimate, self.calendar.day_of((low + high) / 2))

    def _year(self, e: TimeExpression) -> Moment | None:
        triple = None if e.year is None else self.calendar.year_hours(e.year)
        if triple is None:
            return None
        estimate = Estimate(*triple, Strength.EXPLICIT, "year", f"“{e.text}”: the middle of the year", known=True)
        return Moment(estimate, self.calendar.day_of(triple[0]))


def crossed_bounds(cursor: Cursor) -> bool:
    """True where the bounds of the cursor are too wide, or unknown, to say which times it may mean."""
    return cursor.high is None or cursor.high - cursor.low > 12.0


def _hhmm(hour: float) -> str:
    minutes = round(hour * 60) % 1440
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _hours(time: float | None) -> str:
    return "N/A" if time is None else f"{time:+.1f} h"
