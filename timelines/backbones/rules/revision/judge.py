"""Judge whether a row is the same occurrence.

Each evidence row gets a verdict with the reason in a clinician's words. A row passes if it is about
the same thing (one vocabulary for querying and judging), has the stated value, records the right
act (an order is not an administration, a charted dressing not an insertion) and is within the
text's limits. Source: protocol section 2, stage 6.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from timelines.backbones.rules.querying.reading import (
    PLACES,
    Reading,
    names_in_span,
    opens_with_act,
)
from timelines.backbones.rules.querying.vocabulary import Concept, EventName, Hit, Kind, event_name
from timelines.backbones.rules.revision.match import REACH_ACT, REACH_WEAK, Match
from timelines.backbones.rules.revision.measurements import match_measurement, match_specimen
from timelines.backbones.rules.revision.medications import Medications
from timelines.backbones.rules.revision.places import match_move
from timelines.backbones.rules.revision.procedures import match_order, match_procedure
from timelines.backbones.rules.revision.scope import (
    compute_reach,
    may_follow_arrival,
    may_have_rows,
)
from timelines.backbones.rules.revision.stated import find_equal, stated_values
from timelines.domain import Entry, Polarity, SourceRow
from timelines.pipeline.expansion import distance_to_bounds

#: Costs of the distance beyond the bounds, as a share of the reach, and of the hours from the point
#: time inside them.
_DISTANCE_COST = 0.8
_INSIDE_COST, _INSIDE_HOURS = 0.35, 8.0
#: The same where the text states a clock time: an act two hours away is another act.
_CLOCK_COST, _CLOCK_HOURS = 0.7, 2.0
#: Rules of the text timer that read a clock time or a part of the day; a clock time is narrower.
_CLOCK_RULES = frozenset({"clock", "hour"})
_CLOCK_WIDTH = 5.0
#: Rules that conclude the day of a clock time; how far its row may be, and what that costs.
_DAY_CONCLUDED = frozenset({"hour", "next day", "relative"})
_MOST_DAYS, _SAME_CLOCK = 4, 0.5
_ANOTHER_DAY, _EACH_DAY = 0.2, 0.06
#: A row within these hours of a stated clock time costs less.
_AT_CLOCK_HOURS, _AT_CLOCK = 0.1, 0.5
#: Rows whose name repeats words of the occurrence cost up to this less.
_SAME_WORDS = 0.1
#: What a row of a subject costs more that was only named in other words of the note.
_NAMED_ELSEWHERE = 0.15
#: Notes name the output of a drain or a patient as such; "traumatic Foley" is not an output.
_PUT_OUT = re.compile(
    r"\b(?:out(?:put)?|uop|urine|drain\w*|put|dump\w*|emesis|vomit\w*|stool\w*|melena|blood\w*|cc|ml)\b",
    re.IGNORECASE,
)
#: Hours beyond the bounds at which a row may be what was named before.
_TOPIC_REACH = 2.0
_TOPIC_COST, _RANK_COST = 0.1, 0.05
_WORD = re.compile(r"[a-z0-9%+&]+")
#: What an order changes by itself: no other row says that it was done.
_BY_ORDER = frozenset({"oral intake"})
#: Rows that document the monitoring, not the patient.
_NOT_EVENTS = frozenset({"alarm", "dressing", "goal"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """A row that may be the occurrence, with its cost and reason.

    `cost` is in the units of `assign`: 0 fits perfectly, `KEEP_COST` is as good as no row.
    `repeats`: the act recurs, so that one row is one occurrence.
    """

    row: SourceRow
    cost: float
    reason: str
    repeats: bool = False


class Judge:
    """Judges the rows of one case.

    Any row that was found may be an occurrence, also one that was found for another.
    """

    def __init__(self, rows: Iterable[SourceRow]) -> None:
        self._rows: dict[str, list[SourceRow]] = defaultdict(list)
        for row in rows:
            self._rows[row.event].append(row)
        self._medications = Medications(self._rows)

    def rows_about(self, reading: Reading) -> list[SourceRow]:
        """Return the rows of the subject of an occurrence."""
        concepts = [*(hit.concept for hit in _find_subject(reading)), *reading.topics]
        return [
            row
            for event, rows in self._rows.items()
            if any(concept.matches(event_name(event)) for concept in concepts)
            for row in rows
        ]

    def verdicts(self, reading: Reading, entry: Entry, rows: Sequence[SourceRow]) -> list[Verdict]:
        """Return rows that may be this occurrence, best first.

        An empty list keeps the text time.
        """
        if not may_have_rows(reading, entry):
            return []
        matches = [
            (row, match)
            for row in rows
            if row.time is not None
            and may_follow_arrival(reading, entry, row)
            and (match := self._match(reading, row)) is not None
        ]
        subject = _find_subject(reading)[:1]
        sure = not subject or not _named_elsewhere(subject[0].concept, reading)
        if sure and any(match.exact and not match.borrowed for _, match in matches):
            matches = [(row, match) for row, match in matches if not match.borrowed]
        unique = _single_moment([row for row, match in matches if match.exact])
        placed = (
            _other_day(match, row, reading, entry)
            or _add_distance(match, compute_reach(match, reading, entry, unique=unique), row, entry)
            for row, match in ((row, _prefer_named(match, reading, row)) for row, match in matches)
        )
        return sorted((v for v in placed if v is not None), key=lambda v: (v.cost, v.row.row_index))

    def _match(self, reading: Reading, row: SourceRow) -> Match | None:
        name = event_name(row.event)
        if _NOT_EVENTS & set(name.words):
            return None
        for hit in _find_subject(reading):
            if hit.concept.matches(name):
                match = self._match_concept(hit.concept, reading, row, name, implied=hit.implied)
                if match is None or not _named_elsewhere(hit.concept, reading):
                    return match
                return replace(match, cost=match.cost + _NAMED_ELSEWHERE)
        return self._match_topic(reading, row, name) or self._match_carrier(reading, row, name)

    def _match_topic(self, reading: Reading, row: SourceRow, name: EventName) -> Match | None:
        """Return the match with what was named before.

        "Na 161, 159 at noon": the value must be equal and tell one row from others. A drug needs
        an act ("the first 2 mg went in at seven") or its dose.
        """
        for rank, topic in enumerate(reading.topics):
            if not topic.matches(name):
                continue
            match = self._match_concept(topic, reading, row, name, implied=False)
            if match is None or not self._is_topic(topic, match, reading, row):
                return None
            return replace(
                match,
                cost=match.cost + _TOPIC_COST + _RANK_COST * rank,
                reach=min(match.reach, _TOPIC_REACH),
                borrowed=True,
            )
        return None

    def _is_topic(self, topic: Concept, match: Match, reading: Reading, row: SourceRow) -> bool:
        if topic.kind is Kind.MEASUREMENT:
            return match.exact and row.numeric_value is not None and _tells(row.numeric_value)
        values = stated_values(reading.text)
        if values and row.numeric_value is not None:
            return find_equal(values, row.numeric_value, row.unit, row.event) is not None
        return opens_with_act(reading) and not reading.subjects

    def _match_carrier(self, reading: Reading, row: SourceRow, name: EventName) -> Match | None:
        carrier = reading.carrier
        if (
            carrier is None
            or not carrier.matches(name)
            or (reading.subjects and not reading.implied)
        ):
            return None
        match = self._match_concept(carrier, reading, row, name, implied=False)
        return (
            None
            if match is None
            else Match(match.cost + 0.1, match.reach, f"{match.reason}; the finding is part of it")
        )

    def _match_concept(
        self, concept: Concept, reading: Reading, row: SourceRow, name: EventName, *, implied: bool
    ) -> Match | None:
        if concept.kind is Kind.MEASUREMENT:
            return match_measurement(reading, row, implied=implied)
        if name.category == "order" and concept.name in _BY_ORDER:
            return match_order(reading, name)
        if name.category in ("med", "order"):
            return self._medications.match(concept, reading, row, name)
        if concept.name in PLACES or concept.name == "death":
            return match_move(concept, reading, row, name)
        if name.category == "micro":
            return match_specimen(reading, row)
        if name.category == "procedure":
            return match_procedure(concept, reading, name)
        is_output = (
            name.category == "output"
            and _PUT_OUT.search(reading.text)
            and reading.occurrence.polarity is Polarity.PRESENT
        )
        return Match(0.6, REACH_WEAK, f"{row.event}: charted with it") if is_output else None


def _tells(value: float) -> bool:
    """Return whether a value has the digits to tell one row from others."""
    return value >= 10 or value % 1 != 0


def _named_elsewhere(concept: Concept, reading: Reading) -> bool:
    """Return whether a subject is neither of the span nor its likeliest topic."""
    topics = [t for t in reading.topics if t.kind is concept.kind]
    return bool(topics) and topics[0] is not concept and not names_in_span(reading, concept)


def _find_subject(reading: Reading) -> tuple[Hit, ...]:
    """Return the subject that rows are compared with.

    A second concept is added only if the first is a condition or a whole class of drugs.
    """
    first = reading.subjects[:1]
    if first and (first[0].implied or first[0].concept.kind is Kind.DRUG_CLASS):
        return tuple(h for h in reading.subjects[:2] if h.concept.name not in PLACES) or first
    return first


def _single_moment(rows: Sequence[SourceRow]) -> bool:
    """Return whether all rows with the value are within 0.3 h.

    Rows with the value come before others in evidence, so one moment among them means one in the
    record.
    """
    times = [row.time for row in rows if row.time is not None]
    return bool(times) and max(times) - min(times) < 0.3


def _prefer_named(match: Match, reading: Reading, row: SourceRow) -> Match:
    """Return the match, cheaper by the words that name and text share."""
    words = {w for w in event_name(row.event).words if len(w) > 2}
    shared = len(words & set(_WORD.findall(reading.text.lower()))) / len(words) if words else 0.0
    return replace(match, cost=match.cost - min(match.cost, _SAME_WORDS * shared))


def _other_day(match: Match, row: SourceRow, reading: Reading, entry: Entry) -> Verdict | None:
    """Return the verdict on a row at the stated clock time of another day.

    Words state the clock time more often than the day, which was concluded. Weak matches and
    what was named before do not reach another day.
    """
    if not reading.clock or entry.decided_by not in _DAY_CONCLUDED or entry.time is None:
        return None
    away = (row.time or 0.0) - entry.time
    days = round(abs(away) / 24.0)
    off = abs((away + 12.0) % 24.0 - 12.0)
    if not 1 <= days <= _MOST_DAYS or off > _SAME_CLOCK or match.reach < REACH_ACT:
        return None
    cost = match.cost + _ANOTHER_DAY + _EACH_DAY * days
    return Verdict(row, cost, f"{match.reason}, at this hour of another day", match.repeats)


def _add_distance(match: Match, within: float, row: SourceRow, entry: Entry) -> Verdict | None:
    """Add the cost of the distance to the text's bounds.

    Beyond the reach of the match there is no verdict.
    """
    time = row.time if row.time is not None else 0.0
    if entry.time is None and entry.lower is None and entry.upper is None:
        return Verdict(row, match.cost + 0.2, match.reason, match.repeats)
    distance = distance_to_bounds(time, entry)
    if distance > within:
        return None
    cost = match.cost + _DISTANCE_COST * distance / within + _inside_cost(match, time, entry)
    return Verdict(row, cost, match.reason, match.repeats)


def _inside_cost(match: Match, time: float, entry: Entry) -> float:
    """Return the cost of the hours from the point.

    At a stated clock time it is less than 0.
    """
    if entry.time is None:
        return 0.0
    away = abs(time - entry.time)
    if not _states_clock(entry):
        return _INSIDE_COST * min(1.0, away / _INSIDE_HOURS)
    if away <= _AT_CLOCK_HOURS:
        return -min(_AT_CLOCK, match.cost)
    if match.exact:
        return _INSIDE_COST * min(1.0, away / _INSIDE_HOURS)
    return _CLOCK_COST * min(1.0, away / _CLOCK_HOURS)


def _states_clock(entry: Entry) -> bool:
    width = None if entry.lower is None or entry.upper is None else entry.upper - entry.lower
    return entry.decided_by in _CLOCK_RULES and width is not None and width <= _CLOCK_WIDTH
