"""Resolve one time expression as hours from admission.

The cursor, the calendar and the dated occurrences decide.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from timelines.backbones.rules.timing.anchors.cursor import Cursor
from timelines.backbones.rules.timing.anchors.milestones import Place, find_place, find_unit
from timelines.backbones.rules.timing.anchors.operations import refers_to_operation
from timelines.backbones.rules.timing.anchors.points import Moment, PointResolver
from timelines.backbones.rules.timing.estimate import PLAN, Estimate, Strength
from timelines.backbones.rules.timing.phrases.terms import Anchoring, Kind, TimeExpression
from timelines.domain import DAY, YEAR

#: Offsets count from the last stated time while undated clauses have moved the cursor by less than
#: this (hours).
_SMALL_DRIFT = 0.5
#: From this cursor on (hours), the story of a presentation has come into the hospital.
_ARRIVED = -0.6
#: How long after a stated arrival "on arrival" still means it (hours).
_SINCE_ARRIVAL = 18.0
#: Hours after the discharge that a time of the stay may be stated to have.
_SHORTLY = 12.0
#: Hours after the writing of an entry that its times may still have.
_WRITTEN_AFTER = 0.75
#: Words of an amount of time that has passed, in contrast to "in two weeks".
_FOLLOWED = re.compile(r"\b(?:later|after\w*|follow\w*)\b", re.IGNORECASE)


@dataclass
class Resolver(PointResolver):
    """Resolve expressions of one note.

    Points, amounts of time, relations, ages and years.
    """

    def resolve(self, expression: TimeExpression, cursor: Cursor, past: bool) -> Moment | None:
        """Return the hours of an expression.

        None if it cannot be resolved and should be ignored. `past`: the passage is about the time
        before admission, so "two weeks prior" counts back from t = 0.
        """
        moment = self._moment(expression, cursor, past)
        if moment is None or moment.estimate.time is None:
            return None
        if self.writing is not None and moment.estimate.time > self.writing + _WRITTEN_AFTER:
            return self._ordered(moment, self.writing)
        self.seen[expression.start] = (expression, moment.day, moment.estimate.time)
        return self._within_stay(expression, moment, cursor)

    def _ordered(self, moment: Moment, writing: float) -> Moment:
        """Place what an entry plans at its hour of writing (protocol)."""
        reason = f"a plan, made when the entry was written; {moment.estimate.reason}"
        high = moment.estimate.high or moment.estimate.time
        estimate = Estimate(writing, writing, high, Strength.RELATIVE, PLAN, reason, known=False)
        return Moment(estimate, self.calendar.day_of(writing))

    def _within_stay(self, e: TimeExpression, moment: Moment, cursor: Cursor) -> Moment:
        """Return the moment, or that of the plan for a time after discharge.

        The planned time becomes the upper bound. A time shortly after the discharge is at the
        discharge. "Two weeks later she walked" is a visit after the stay and not a plan.
        """
        end, estimate, time = self.milestones.discharge, moment.estimate, moment.estimate.time
        if end is None or time is None or time <= end:
            return moment
        low: float = time if estimate.low is None else estimate.low
        if e.kind is Kind.POINT and (low <= end or time < end + _SHORTLY):
            estimate = replace(estimate, time=end, low=min(low, end))
            return Moment(estimate, self.calendar.day_of(end))
        if e.kind is Kind.OFFSET and _FOLLOWED.search(e.text) and time >= end + DAY:
            return moment
        made = min(cursor.time, end)
        reason = f"{estimate.reason}, after the discharge: a plan has the hour at which it was made"
        estimate = replace(
            estimate, time=made, low=min(cursor.low, made), reason=reason, known=False
        )
        return Moment(estimate, self.calendar.day_of(made))

    def _moment(self, expression: TimeExpression, cursor: Cursor, past: bool) -> Moment | None:
        past = past and cursor.time < _ARRIVED
        if expression.kind is Kind.POINT:
            return self.point(expression, cursor, past)
        if expression.kind is Kind.AGE:
            return self._age(expression)
        if expression.kind is Kind.YEAR:
            return self._year(expression)
        if expression.kind is Kind.SPAN:
            return self._span(expression, cursor, past)
        if expression.anchoring is Anchoring.ADMISSION:
            return self._ago(expression)
        if expression.anchoring is Anchoring.REFERENCE:
            return self._resolve_reference(expression, cursor, past)
        return self._resolve_from_cursor(expression, cursor, past)

    # Amounts of time

    def _ago(self, e: TimeExpression) -> Moment | None:
        if e.quantity is None:
            return None
        base = Estimate(0.0, 0.0, 0.0, Strength.EXPLICIT, "", "before admission")
        if e.quantity.hours < DAY:
            base = self.milestones.at(Place.EMERGENCY)
        return self._move(
            base, e, -1, "ago", f"“{e.text}”: {base.reason}", Strength.EXPLICIT, known=True
        )

    def _span(self, e: TimeExpression, cursor: Cursor, past: bool) -> Moment | None:
        """Return the start of a state from its duration.

        Before admission the start counts back; during the stay a duration says nothing about the
        start.
        """
        if e.quantity is None or not past or (e.quantity.hours < DAY and cursor.time < -2 * DAY):
            return None
        base = (
            self.milestones.at(Place.EMERGENCY)
            if e.quantity.hours < DAY
            else Estimate(0.0, 0.0, 0.0, Strength.EXPLICIT, "", "")
        )
        return self._move(
            base,
            e,
            -1,
            "span",
            f"“{e.text}”: an interval takes its start",
            Strength.EXPLICIT,
            known=True,
        )

    def _resolve_from_cursor(self, e: TimeExpression, cursor: Cursor, past: bool) -> Moment | None:
        if e.quantity is None:
            return None
        last = cursor.time - cursor.drift if cursor.drift < _SMALL_DRIFT else cursor.time
        base = Estimate(
            last,
            min(cursor.low, last),
            cursor.high,
            Strength.RELATIVE,
            "",
            "",
            context=(cursor.uid,) if cursor.uid else (),
        )
        if self.shared_base is not None and e.direction < 0 and re.search(r"\bbefore$", e.text):
            return self._move(
                self.shared_base,
                e,
                -1,
                "event",
                f"“{e.text}”: {self.shared_base.reason}",
                Strength.RELATIVE,
                known=False,
            )
        if past and e.direction < 0 and cursor.time > -DAY and e.quantity.hours >= DAY:
            base = replace(base, time=0.0, low=0.0, high=0.0)
        after = "after" if e.direction > 0 else "before"
        source = f" “{cursor.source}”" if cursor.source else " what was mentioned last"
        moment = self._move(
            base,
            e,
            e.direction,
            "relative",
            f"“{e.text}” {after}{source}",
            Strength.RELATIVE,
            known=False,
        )
        if moment and e.quantity.hours >= DAY and cursor.day_only:
            return replace(moment, day_only=True, doubt=cursor.doubt)
        return moment and replace(
            moment,
            day=self.spoken_day(moment.estimate.time or 0.0, cursor.day),
            doubt=cursor.doubt,
        )

    def _resolve_reference(self, e: TimeExpression, cursor: Cursor, past: bool) -> Moment | None:
        base = self.reference(e.reference, e.start, cursor, past)
        if base is None:
            return (
                self._resolve_from_cursor(e, cursor, past)
                if e.quantity is not None and e.kind is Kind.OFFSET
                else None
            )
        known = base.known and base.rule == "place"
        self.shared_base = base
        if e.quantity is None or e.direction == 0:
            reason = f"“{e.text}”: {base.reason}"
            estimate = replace(
                base,
                strength=max(Strength.RELATIVE, min(base.strength, Strength.EXPLICIT)),
                rule="event",
                reason=reason,
                known=known,
            )
            return Moment(estimate, self.arrival_day(base.time or 0.0))
        moment = self._move(
            base,
            e,
            e.direction,
            "event",
            f"“{e.text}”: {base.reason}",
            Strength.RELATIVE,
            known=known,
        )
        return moment and replace(moment, day=self.arrival_day(moment.estimate.time or 0.0))

    def reference(self, phrase: str, at: int, cursor: Cursor, past: bool) -> Estimate | None:
        """Return the time that a phrase refers to.

        It refers to a station of the stay, the operation, or a dated occurrence.
        """
        bare = re.fullmatch(
            r"(?:(?:the|her|his|initial)\s+)*(?:arrival|arriving|presentation|admission|he\s+arrived|she\s+arrived)",
            phrase.strip(),
            re.IGNORECASE,
        )
        place = find_place(phrase)
        if past and re.fullmatch(
            r"(?:the\s+|his\s+|her\s+)?transfer", phrase.strip(), re.IGNORECASE
        ):
            return self.milestones.at(Place.EMERGENCY)
        if place is Place.UNIT and find_unit(phrase) not in ("", self.unit_name):
            return None
        if (
            place in (Place.UNIT, Place.FLOOR)
            and place not in self.milestones.reached
            and cursor.time > 12
        ):
            return None
        if bare and not past and re.search("arriv", phrase, re.IGNORECASE):
            arrived = self.arrived.time if self.arrived else None
            if (
                self.arrived is not None
                and arrived is not None
                and 0 <= cursor.time - arrived < _SINCE_ARRIVAL
            ):
                return replace(self.arrived, rule="place", known=False)
            place = (
                Place.UNIT
                if Place.UNIT in self.milestones.reached
                or Place.FLOOR not in self.milestones.reached
                else Place.FLOOR
            )
        if place is not None and (
            bare
            or re.search(
                r"arriv|admi|transfer|reach|present|discharge|d/c|\btx\b|return",
                phrase,
                re.IGNORECASE,
            )
        ):
            return self.milestones.at(place)
        if refers_to_operation(phrase):
            return self.operation()
        if place in (Place.EMERGENCY, Place.OUTSIDE) and not past:
            return self.milestones.at(place)
        found = self.index.find(phrase, at, near=cursor.time, recent=not past)
        if found is None:
            return (
                self.milestones.at(place)
                if place is not None and place is not Place.ADMISSION
                else None
            )
        occurrence, estimate = found
        return replace(
            estimate,
            strength=Strength.RELATIVE,
            reason=f"“{occurrence.mention}” is at {_hours(estimate.time)}",
            rule="event",
            known=False,
            context=(occurrence.uid,),
        )

    def _move(
        self,
        base: Estimate,
        e: TimeExpression,
        direction: int,
        rule: str,
        reason: str,
        strength: Strength,
        known: bool,
    ) -> Moment | None:
        quantity = e.quantity
        if quantity is None or base.time is None:
            return None
        high = None if quantity.high is None else direction * quantity.high
        near, far = direction * quantity.low, high
        low, top = (near, far) if direction > 0 else (far, near)
        moved = base.shift(direction * quantity.hours, low if low is not None else 0.0, top)
        estimate = replace(
            moved,
            low=None if low is None else moved.low,
            strength=strength,
            rule=rule,
            reason=reason,
            known=known,
        )
        return Moment(estimate, self.calendar.day_of(estimate.time or 0.0))

    # Ages and years

    def _age(self, e: TimeExpression) -> Moment | None:
        if e.age is None or self.age is None or self.age < e.age[0]:
            return None
        low, high = -(self.age - e.age[0] + 1) * YEAR, min(0.0, -(self.age - e.age[1]) * YEAR)
        estimate = Estimate(
            (low + high) / 2,
            low,
            high,
            Strength.EXPLICIT,
            "age",
            f"“{e.text}” at age {self.age:g} now",
            known=True,
        )
        return Moment(estimate, self.calendar.day_of((low + high) / 2))

    def _year(self, e: TimeExpression) -> Moment | None:
        if e.month is not None:
            triple, words = self.calendar.month_hours(e.month, e.year), "month"
        else:
            triple = None if e.year is None else self.calendar.year_hours(e.year)
            words = "year"
        if triple is None:
            return None
        reason = f"“{e.text}”: the middle of the {words}"
        estimate = Estimate(*triple, Strength.EXPLICIT, "year", reason, known=True)
        return Moment(estimate, self.calendar.day_of(triple[0]))


def _hours(time: float | None) -> str:
    return "N/A" if time is None else f"{time:+.1f} h"
