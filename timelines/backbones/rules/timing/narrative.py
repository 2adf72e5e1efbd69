"""Date each occurrence of running text.

The sentences of a section are read in order. The clause, its neighbours or the cursor date an
occurrence.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from timelines.backbones.rules.sections.headings import Section
from timelines.backbones.rules.text import Analysis, Sentence
from timelines.backbones.rules.timing.anchors.cursor import Cursor
from timelines.backbones.rules.timing.anchors.kinds import is_lab, usual_hour, usual_morning
from timelines.backbones.rules.timing.anchors.milestones import (
    Place,
    find_arrival,
    find_place,
    find_setting,
    says_on_arrival,
)
from timelines.backbones.rules.timing.anchors.operations import states_operation
from timelines.backbones.rules.timing.anchors.points import Moment
from timelines.backbones.rules.timing.anchors.resolver import Resolver
from timelines.backbones.rules.timing.attachment import Dated, attach
from timelines.backbones.rules.timing.entries import ENTRY
from timelines.backbones.rules.timing.estimate import PLAN, Estimate, Strength
from timelines.backbones.rules.timing.frames import (
    begins_presentation,
    describes_patient,
    is_negative,
)
from timelines.backbones.rules.timing.phrases.clauses import Clause, clauses
from timelines.backbones.rules.timing.phrases.passages import (
    PASSAGE,
    ends_state,
    is_copied,
    is_demographic,
    same_line,
)
from timelines.backbones.rules.timing.phrases.terms import (
    Anchoring,
    Basis,
    Kind,
    TimeExpression,
    states_hour,
)
from timelines.backbones.rules.timing.remarks import (
    Remark,
    is_planned,
    read_remark,
    settle,
    spans_stay,
)
from timelines.domain import DAY, Occurrence
from timelines.pipeline.backbone import Check, never_stop

#: Source of the cursor at the head of each part of a course, before any statement.
OPENING = "arrival"
#: Source of the cursor in an entry of a chart.
WRITTEN = "the time of the entry"
#: Hours by which an undated clause or sentence follows the one before it.
_CLAUSE_STEP, _SENTENCE_STEP = 0.05, 0.15
#: How much earlier or later than its neighbour an undated clause may have happened, at least
#: (hours).
_EARLIER, _LATER = 1.0, 2.0
#: The same if another sentence of the stay named the time: stories also go back and run ahead.
_MUCH_EARLIER, _MUCH_LATER = 12.0, 6.0
#: An offset this far ahead of the story is a plan ("chemotherapy in four weeks"), after which the
#: story goes on (hours).
_PLANNED = 10 * DAY
#: Hours between values joined by an arrow ("K 6.2 -> 4.1").
_ARROW_STEP = 5.0
#: The act of coming to hospital, which is not as old as the complaint that led to it.
_COMES = re.compile(
    r"^(?:(?:he|she|who|then|was|were|is|being|been|initially|first)\s+)*"
    r"(?:re-?)?(?:present(?:s|ed|ing)?|came|comes|coming|admitted|brought|transferred|referred|arriv(?:es|ed|ing)|sent)\b",
    re.IGNORECASE,
)
_AT_ADMISSION = Estimate(0.0, -2.0, 2.0, Strength.RELATIVE, "", "", known=True)
_COMPLAINT = "the arrival at hospital; the duration is that of the complaint"


@dataclass
class Narrator:
    """Date occurrences of running text.

    `expressions` are those of the whole note, in order.
    """

    analysis: Analysis
    resolver: Resolver
    occurrences: tuple[Occurrence, ...]
    expressions: list[TimeExpression]
    estimates: dict[str, Estimate] = field(default_factory=dict)
    check: Check = never_stop

    def sentences(self, section: Section) -> list[Sentence]:
        """Sentences that begin in the body of `section`, without tables."""
        inside = self.analysis.sentences_in(section.body_start, section.end)
        return [s for s in inside if self.analysis.row_at(s.start) is None]

    def find_occurrences(self, start: int, end: int) -> list[Occurrence]:
        """Occurrences that begin in `[start, end)`, in order."""
        return list(
            self.occurrences[bisect_left(self._starts, start) : bisect_left(self._starts, end)]
        )

    def find_times(self, start: int, end: int) -> list[TimeExpression]:
        """Time expressions that begin in `[start, end)`."""
        return self.expressions[
            bisect_left(self._expression_starts, start) : bisect_left(self._expression_starts, end)
        ]

    @cached_property
    def _starts(self) -> list[int]:
        return [o.start or 0 for o in self.occurrences]

    @cached_property
    def _expression_starts(self) -> list[int]:
        return [e.start for e in self.expressions]

    def course(self, section: Section, cursor: Cursor) -> None:
        """The stay in order: a clause without a time follows the one before it.

        Sentences about the patient's past, the family or the discharge do not belong to the order.
        """
        sentences = self.sentences(section)
        for sentence, remark in zip(sentences, self._remarks(sentences), strict=True):
            if remark is None:
                self.next_sentence(sentence, cursor)
            else:
                self._remark(sentence, remark)

    def next_sentence(self, sentence: Sentence, cursor: Cursor) -> None:
        """Place one sentence of the stay after the one before it."""
        self._advance(cursor, _SENTENCE_STEP)
        self._sentence(sentence, cursor, past=False)

    def entry_sentence(self, sentence: Sentence, cursor: Cursor) -> None:
        """Place one sentence of an entry from when that was written."""
        self._sentence(sentence, cursor, past=False)

    def place_presentation(self, section: Section, cursor: Cursor) -> None:
        """Place the story up to admission.

        Background comes first, then events in order, then the stations of arrival.
        """
        background = True
        sentences = self.sentences(section)
        remarks = self._remarks(sentences, presenting=True)
        for sentence, remark in zip(sentences, remarks, strict=True):
            text = self.analysis.text[sentence.start : sentence.end]
            if is_negative(text) and not self.find_times(sentence.start, sentence.end):
                self._negatives(sentence)
                continue
            background = background and describes_patient(text)
            if background:
                background = self._background(sentence, cursor)
                continue
            if remark is not None:
                self._remark(sentence, remark)
                continue
            self._advance(cursor, _SENTENCE_STEP)
            self._sentence(sentence, cursor, past=True)

    def _remarks(
        self, sentences: Sequence[Sentence], presenting: bool = False
    ) -> list[Remark | None]:
        text = self.analysis.text
        return settle(
            [
                read_remark(
                    text[s.start : s.end],
                    self.analysis.tokens(s.start, s.end),
                    self.find_times(s.start, s.end),
                    presenting=presenting,
                )
                for s in sentences
            ]
        )

    def _remark(self, sentence: Sentence, remark: Remark) -> None:
        """Place a sentence that does not belong to the order of the story."""
        if remark is Remark.HISTORY:
            self.items(sentence)
            return
        if remark is Remark.LEAVING:
            self._leave(sentence)
            return
        for occurrence in self.find_occurrences(sentence.start, sentence.end):
            self.static(occurrence)

    def _leave(self, sentence: Sentence) -> None:
        """Place a sentence at discharge.

        Clauses that name an earlier day are placed on that day.
        """
        leaving = self._at_leaving()
        time = leaving.time or 0.0
        cursor = Cursor(time, time, None, self.resolver.calendar.day_of(time))
        for clause in self.find_clauses(sentence):
            named = [
                e
                for e in clause.expressions
                if e.day is not None and e.day.basis is not Basis.CURRENT
            ]
            own = [(e, m) for e in named if (m := self.resolver.resolve(e, cursor, past=False))]
            own = [(e, m) for e, m in own if (m.estimate.time or 0.0) < time]
            for occurrence in self.find_occurrences(clause.start, clause.end):
                moment = self.nearest(occurrence, own) if own else None
                self._record(
                    occurrence, self.estimate_moment(occurrence, moment) if moment else leaving
                )

    def _at_leaving(self) -> Estimate:
        leaving = self.resolver.milestones.at(Place.DISCHARGE)
        return replace(
            leaving,
            rule="discharge",
            reason=f"said of the discharge: {leaving.reason}",
            strength=Strength.PLACE,
        )

    def history(self, section: Section) -> None:
        """Past history: each item by its own time, else 0."""
        for sentence in self.sentences(section):
            self.items(sentence)

    def items(self, sentence: Sentence) -> None:
        """Date independent clauses: dated ones count back, others are at 0."""
        before: list[Occurrence] = []
        for clause in self.find_clauses(sentence):
            cursor = Cursor(-2.0, -2.0, 0.0, 0)
            resolved = self._resolve(clause, cursor, past=True)
            inside = self.find_occurrences(clause.start, clause.end)
            if resolved and not inside and self.analysis.text[clause.start] in "([":
                inside = [
                    o
                    for o in before
                    if self.estimates[o.uid].rule == "static" and not is_demographic(o)
                ]
            before = inside
            for occurrence in inside:
                own = resolved or self._inside(occurrence, clause, cursor)
                if own and not is_demographic(occurrence):
                    self._record(
                        occurrence, self.estimate_moment(occurrence, self.nearest(occurrence, own))
                    )
                else:
                    self.static(occurrence)

    def _inside(
        self, occurrence: Occurrence, clause: Clause, cursor: Cursor
    ) -> list[tuple[TimeExpression, Moment]]:
        """Return moments inside an occurrence's span, after its first clause."""
        behind = self.find_times(clause.end, occurrence.end or 0)
        return [(e, m) for e in behind if (m := self.resolver.resolve(e, cursor, past=True))]

    def static(self, occurrence: Occurrence) -> None:
        """Place a state without a date at 0 (protocol section 1)."""
        demographic = is_demographic(occurrence)
        reason = (
            "a fact about the patient: static, at 0"
            if demographic
            else "an undated or chronic state is placed at 0"
        )
        self._record(
            occurrence,
            Estimate(0.0, 0.0 if demographic else None, 0.0, Strength.DEFAULT, "static", reason),
        )

    # One sentence

    def _sentence(self, sentence: Sentence, cursor: Cursor, past: bool) -> None:
        parts = self.find_clauses(sentence)
        self.resolver.shared_base, cursor.recent = None, False
        dated: list[Dated] = []
        for i, clause in enumerate(parts):
            dated.append(self._date(clause, cursor, past, first=i == 0))
        attach(
            dated,
            self.analysis.text,
            lambda clause: not self.find_occurrences(clause.start, clause.end),
        )
        whole_stay = named_here = False
        for item in dated:
            named_here = named_here or bool(item.own)
            words = self.analysis.text[item.clause.start : item.clause.end]
            whole_stay = not past and not item.own and spans_stay(words, whole_stay)
            for occurrence in self.find_occurrences(item.clause.start, item.clause.end):
                if whole_stay:
                    self._record(occurrence, self._whole_stay())
                    continue
                moment = self.nearest(occurrence, item.own) if item.own else item.moment
                estimate = self.estimate_moment(occurrence, moment)
                if self._comes_with_complaint(occurrence, item.own):
                    came = (
                        _AT_ADMISSION
                        if "admitted" in occurrence.mention
                        else self.resolver.milestones.at(Place.EMERGENCY)
                    )
                    estimate = replace(came, rule="arrival", reason=_COMPLAINT)
                if item.inherited and estimate.rule != ENTRY:
                    estimate = self._inherit(estimate, near=named_here or past)
                self._record(occurrence, estimate)
        spoken = self.find_occurrences(sentence.start, sentence.end)
        if spoken:
            cursor.uid, cursor.source = spoken[-1].uid, spoken[-1].mention

    def _whole_stay(self) -> Estimate:
        """Place what was so during the whole stay at its start (protocol)."""
        leaving = self.resolver.milestones.at(Place.DISCHARGE)
        end = max(leaving.high or leaving.time or 0.0, 0.0)
        reason = "said of the whole stay, which begins at 0"
        return Estimate(0.0, 0.0, end, Strength.RELATIVE, "stay", reason)

    def _date(self, clause: Clause, cursor: Cursor, past: bool, first: bool) -> Dated:
        text = self.analysis.text[clause.start : clause.end]
        bracketed = not self.find_occurrences(
            clause.start, clause.end
        ) and text.lstrip().startswith("(")
        alone = clause.expressions and (bracketed or is_copied(text))
        working = cursor.copy() if clause.aside and not alone else cursor
        self._station(text, clause, working, past)
        own = self._resolve(clause, working, past)
        # How long a complaint has lasted does not say when the patient came.
        lasted = bool(own) and own[-1][0].kind is Kind.SPAN
        if not lasted:
            self._register(text, own[-1][1] if own else self._here(working), past)
        here = own[-1][1] if own else self._here(working)
        if (
            self.resolver.reported_surgery_day is None
            and (here.estimate.time or 0.0) > -DAY
            and states_operation(text)
        ):
            self.resolver.reported_surgery_day = here.day
        if own:
            return Dated(clause, own[-1][1], tuple(own), inherited=False)
        if not first:
            step = (
                _ARROW_STEP
                if clause.arrow
                and any(is_lab(o) for o in self.find_occurrences(clause.start, clause.end))
                else _CLAUSE_STEP
            )
            self._advance(working, step)
        return Dated(clause, self._here(working))

    def _resolve(
        self, clause: Clause, cursor: Cursor, past: bool
    ) -> list[tuple[TimeExpression, Moment]]:
        """Return the moments of the clause's expressions; move the cursor.

        A named day has precedence over a relation.
        """
        events = [
            e
            for e in clause.expressions
            if e.kind is Kind.EVENT
            and not (past and find_place(e.reference) in (Place.EMERGENCY, Place.OUTSIDE))
        ]
        timed = [
            e
            for e in clause.expressions
            if e.kind is not Kind.EVENT and not ends_state(e, self.analysis.text)
        ]
        resolved: list[tuple[TimeExpression, Moment]] = []
        if not any(e.day is not None for e in timed):
            for e in events:
                self._follow(e, cursor, past, resolved)
        if timed and resolved:
            resolved = []
        for e in timed:
            self._follow(e, cursor, past, resolved)
        return resolved

    def _follow(
        self,
        e: TimeExpression,
        cursor: Cursor,
        past: bool,
        resolved: list[tuple[TimeExpression, Moment]],
    ) -> None:
        ahead = [] if e.day is not None or past else self.find_times(e.end, e.end + PASSAGE)
        self.resolver.ahead = same_line(e, ahead, self.analysis.text)
        line = self.analysis.text.rfind("\n", 0, e.start) + 1
        self.resolver.new_line = not self.find_times(line, e.start)
        moment = self.resolver.resolve(e, cursor, past)
        if moment is None or moment.estimate.time is None:
            return
        if not past and is_planned(e, self._clause_text(e)):
            moment = self._planned(cursor, moment)
        resolved.append((e, moment))
        if moment.estimate.rule != PLAN and not self._looks_back(e, moment, cursor, past):
            vague = cursor.day_only and e.kind is not Kind.POINT and moment.day == cursor.day
            day_only = moment.day_only or vague
            cursor.set(moment.estimate, moment.day, day_only, e.text, moment.doubt)

    def _clause_text(self, e: TimeExpression) -> str:
        sentence = self.analysis.sentence_at(e.start)
        return "" if sentence is None else self.analysis.text[sentence.start : sentence.end]

    def _planned(self, cursor: Cursor, moment: Moment) -> Moment:
        """Place a plan at the hour it was made (protocol section 1).

        Its date is the upper bound.
        """
        here = self._here(cursor)
        high = moment.estimate.high or moment.estimate.time or cursor.time
        estimate = replace(
            here.estimate,
            high=max(high, cursor.time),
            strength=Strength.INHERITED,
            rule=PLAN,
            reason=f"a plan, made then; {here.estimate.reason}",
        )
        return Moment(estimate, here.day, here.day_only)

    def _looks_back(self, e: TimeExpression, moment: Moment, cursor: Cursor, past: bool) -> bool:
        """Return whether an expression should not move the narrative.

        Such expressions look back ("71 kg on admission", "the day before") or state an age, a year
        or a plan.
        """
        if e.start in self.resolver.log_days:
            return False
        back = (moment.estimate.time or 0.0) < cursor.time - 12
        if (
            not past
            and (moment.estimate.time or 0.0) > cursor.time + _PLANNED
            and e.kind is Kind.OFFSET
        ):
            return True
        if e.kind in (Kind.AGE, Kind.YEAR) or (not past and e.anchoring is Anchoring.ADMISSION):
            return True
        if past and e.anchoring is not Anchoring.CURSOR:
            return False
        if e.kind is Kind.POINT and e.day is None and back:
            return True
        if e.kind is Kind.POINT and e.day is not None:
            return (e.day.basis is Basis.CURRENT and e.day.number < 0) or (
                e.day.basis is Basis.EVENT and back
            )
        if e.kind in (Kind.EVENT, Kind.OFFSET) and e.anchoring is not Anchoring.ADMISSION:
            return (moment.estimate.time or 0.0) < cursor.time - (
                12 if e.kind is Kind.EVENT and e.direction >= 0 else 0.02
            )
        return False

    def _station(self, text: str, clause: Clause, cursor: Cursor, past: bool) -> None:
        """Move the cursor to a station that the clause reaches.

        It does not move if the narrative has already passed the station.
        """
        place = find_arrival(text) or (find_setting(text) if past else None)
        if place is None and past and self._comes(text, cursor):
            place = Place.EMERGENCY
        if place is None or any(
            e.day is not None or e.anchoring is Anchoring.ADMISSION for e in clause.expressions
        ):
            return
        if cursor.time < -2 * DAY and place in (Place.OUTSIDE, Place.ADMISSION):
            return
        if not past and (place in (Place.OUTSIDE, Place.EMERGENCY) or cursor.time > 12):
            return
        milestone = self.resolver.milestones.at(place)
        if milestone.time is None:
            return
        if (
            past
            and place in (Place.UNIT, Place.FLOOR)
            and any(e.part is not None for e in clause.expressions)
        ):
            cursor.time, cursor.low, cursor.day, cursor.day_only = (
                max(cursor.time, -0.3),
                -0.3,
                self.resolver.arrival_day(0.0),
                False,
            )
            return
        time = max(milestone.time, cursor.time + 0.1)
        if place is Place.OUTSIDE and cursor.time <= -DAY:
            time = milestone.time
        estimate = Estimate(
            time,
            min(milestone.low or time, time),
            max(milestone.high or time, time),
            Strength.PLACE,
            "place",
            milestone.reason,
            known=True,
        )
        cursor.set(estimate, self.resolver.arrival_day(time), source=place.value)

    def _comes(self, text: str, cursor: Cursor) -> bool:
        """Return whether a story before the arrival says "on arrival"."""
        arrival = self.resolver.milestones.at(Place.EMERGENCY).time or 0.0
        return cursor.time < arrival and says_on_arrival(text)

    def _register(self, text: str, moment: Moment, past: bool) -> None:
        place = find_arrival(text) or (
            find_setting(text) if past and moment.estimate.strength is Strength.EXPLICIT else None
        )
        if place is not None and not past and moment.estimate.strength >= Strength.RELATIVE:
            self.resolver.arrived = moment.estimate
        if place is not None and not moment.day_only:
            self.resolver.milestones.reach(place, replace(moment.estimate, rule="place"))

    # Placing one occurrence

    def nearest(
        self,
        occurrence: Occurrence,
        own: tuple[tuple[TimeExpression, Moment], ...] | list[tuple[TimeExpression, Moment]],
    ) -> Moment:
        """Return the moment whose expression is nearest to the occurrence.

        Of two inside it, the one that states the hour: "overnight melena at 03:00".
        """
        start, end = occurrence.start or 0, occurrence.end or 0

        def distance(pair: tuple[TimeExpression, Moment]) -> tuple[int, bool]:
            e = pair[0]
            return max(e.start - end, start - e.end, 0), not states_hour(e)

        return min(own, key=distance)[1]

    def _comes_with_complaint(
        self, occurrence: Occurrence, own: tuple[tuple[TimeExpression, Moment], ...]
    ) -> bool:
        """Return whether the days of a clause belong to the complaint.

        In "presented with three days of chest pain" they date the pain, not the arrival.
        """
        if not own or occurrence.end is None or not _COMES.search(occurrence.mention):
            return False
        behind = [e for e, _ in own if e.start >= occurrence.end]
        return len(behind) == len(own) and behind[0].kind is Kind.SPAN

    def estimate_moment(self, occurrence: Occurrence, moment: Moment) -> Estimate:
        """Return the estimate of a moment for one occurrence.

        If the note names only the day, the hour is the usual one for such occurrences.
        """
        estimate = self._choose_hour(occurrence, moment)
        return estimate if moment.doubt is None else moment.doubt.widen(estimate)

    def _choose_hour(self, occurrence: Occurrence, moment: Moment) -> Estimate:
        estimate = moment.estimate
        if estimate.time is None:
            return estimate
        if moment.day_only and estimate.low is not None:
            start = self.resolver.calendar.midnight(moment.day)
            time = max(
                start + usual_hour(occurrence), estimate.low + min(1.0, DAY - estimate.low % DAY)
            )
            return replace(estimate, time=min(time, start + DAY))
        if moment.part is not None:
            return replace(estimate, time=estimate.time + usual_morning(occurrence, moment.part))
        return estimate

    def _inherit(self, estimate: Estimate, near: bool) -> Estimate:
        """Return a neighbour's estimate with wider bounds.

        The next statement may have happened some hours later, if it is not `near` also earlier.
        """
        time = abs(estimate.time or 0.0)
        before, after = (_EARLIER, _LATER) if near else (_MUCH_EARLIER, _MUCH_LATER)
        low = None if estimate.low is None else estimate.low - max(before, 0.05 * time)
        high = None if estimate.high is None else estimate.high + max(after, 0.1 * time)
        return replace(
            estimate,
            low=low,
            high=high,
            strength=min(estimate.strength, Strength.INHERITED),
            known=False,
        )

    def _here(self, cursor: Cursor) -> Moment:
        source = (
            "so when the entry was written"
            if cursor.source == WRITTEN
            else f"mentioned after “{cursor.source}”"
            if cursor.source
            else "mentioned at the beginning of its part of the note"
        )
        estimate = Estimate(
            cursor.time,
            min(cursor.low, cursor.time),
            None if cursor.high is None else max(cursor.high, cursor.time),
            Strength.DEFAULT if cursor.source == OPENING else Strength.INHERITED,
            ENTRY if cursor.source == WRITTEN else "narrative",
            source,
            context=(cursor.uid,) if cursor.uid else (),
        )
        return Moment(estimate, cursor.day, cursor.day_only, doubt=cursor.doubt)

    def _advance(self, cursor: Cursor, step: float) -> None:
        if not cursor.day_only and abs(cursor.time) < 10 * DAY:
            cursor.advance(step)

    def _negatives(self, sentence: Sentence) -> None:
        """Place findings that were absent on presentation at arrival."""
        arrival = self.resolver.milestones.at(Place.EMERGENCY)
        for occurrence in self.find_occurrences(sentence.start, sentence.end):
            time = arrival.time or 0.0
            self._record(
                occurrence,
                Estimate(
                    time,
                    None,
                    0.0 if time <= 0 else time,
                    Strength.INHERITED,
                    "negative",
                    "absent when the history was taken on arrival",
                ),
            )

    def _background(self, sentence: Sentence, cursor: Cursor) -> bool:
        """Place a sentence about the patient and chronic conditions.

        Return whether the background goes on after it.
        """
        parts = self.find_clauses(sentence)
        for i, clause in enumerate(parts):
            text = self.analysis.text[clause.start : clause.end]
            anaphoric = any(
                e.kind is Kind.OFFSET and e.anchoring is Anchoring.CURSOR
                for e in clause.expressions
            )
            if begins_presentation(text) or anaphoric:
                rest = Sentence(clause.start, sentence.end, sentence.line)
                self._sentence(rest, cursor, past=True)
                for occurrence in self.find_occurrences(clause.start, sentence.end):
                    if is_demographic(occurrence):
                        self.static(occurrence)
                return False
            self.items(Sentence(clause.start, clause.end, sentence.line))
            if any(e.kind is Kind.SPAN for e in clause.expressions) and i == len(parts) - 1:
                return False
        return (
            bool(parts)
            and bool(self.find_occurrences(sentence.start, sentence.end))
            and not self.find_times(sentence.start, sentence.end)
        )

    def find_clauses(self, sentence: Sentence) -> list[Clause]:
        """The clauses of a sentence with their time expressions."""
        self.check()
        return clauses(
            self.analysis.text,
            sentence.start,
            sentence.end,
            self.find_times(sentence.start, sentence.end),
        )

    def _record(self, occurrence: Occurrence, estimate: Estimate) -> None:
        self.estimates[occurrence.uid] = estimate
