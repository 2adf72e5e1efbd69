"""Date the occurrences of one section by its frame.

The frame is a story, an examination, results, a list, or the discharge.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from timelines.backbones.rules.sections.headings import Section
from timelines.backbones.rules.text import Sentence
from timelines.backbones.rules.timing.anchors.cursor import Cursor
from timelines.backbones.rules.timing.anchors.milestones import Place, find_place
from timelines.backbones.rules.timing.anchors.points import Moment
from timelines.backbones.rules.timing.anchors.resolver import Resolver
from timelines.backbones.rules.timing.discharge import counts_days, names_days
from timelines.backbones.rules.timing.entries import ENTRY, DatedEntry
from timelines.backbones.rules.timing.estimate import (
    CONTENT,
    PLAN,
    SECTION,
    Estimate,
    Strength,
)
from timelines.backbones.rules.timing.frames import Frame, find_frame, reads_as_story
from timelines.backbones.rules.timing.narrative import OPENING, WRITTEN, Narrator
from timelines.backbones.rules.timing.phrases.clauses import Clause
from timelines.backbones.rules.timing.phrases.passages import is_copied, is_demographic
from timelines.backbones.rules.timing.phrases.terms import Anchoring, Basis, Kind, TimeExpression
from timelines.backbones.rules.timing.results import place_results, place_rows
from timelines.domain import DAY, Polarity

#: Frames whose undated statements have one time.
_FIXED = (Frame.EXAM, Frame.RESULTS, Frame.RECAP)
#: Hours before the admission from which "for a month" is not about the stay.
_LONG_BEFORE = 14 * DAY
_UNIT_NAMED = re.compile(r"\b(?:[A-Z]{0,4}ICU|CCU|intensive care)\b")
_EXAM_LABEL = re.compile(r"\s*([^:\n]{3,40}):")
#: An examination "on admission" belongs to the end of the story of arrival, within these hours.
_EXAM_EARLIEST, _EXAM_LATEST = -2.0, 6.0
#: How long before its writing the first entry may report what has no time (hours).
_ENTRY_BACK = 24.0
#: Hours around the stated discharge that are still its day.
_LEAVING_DAY = 12.0
_WRITTEN_PLAN = "a plan, made when the entry was written"


def _after(moment: Moment, latest: float | None) -> bool:
    return latest is not None and (moment.estimate.time or 0.0) > latest


@dataclass
class Placement:
    """Place the sections of one note in one reading.

    `by_problem`: the course has a part for each problem or system.
    """

    narrator: Narrator
    resolver: Resolver
    by_problem: bool
    entries: Sequence[DatedEntry] = ()

    def place(self, section: Section, cursor: Cursor) -> None:
        """Date every occurrence of a section.

        The cursor carries the story from section to section.
        """
        text = self.narrator.analysis.text
        said = [text[s.start : s.end] for s in self.narrator.sentences(section)]
        frame = Frame.PRESENTING if reads_as_story(section, said) else find_frame(section)
        titled = self._dated_title(section) if frame in _FIXED else None
        if titled is not None:
            for sentence in self.narrator.sentences(section):
                self.fixed_sentence(sentence, titled)
        elif frame is Frame.PRESENTING:
            self.narrator.place_presentation(section, cursor)
        elif frame in (Frame.STATIC, Frame.HISTORY):
            self.narrator.history(section)
        elif frame is Frame.EXAM:
            self._place_examination(section, self._exam(section, cursor))
        elif frame is Frame.RESULTS:
            place_results(section, self.narrator, self.resolver, self.fixed_sentence)
        elif frame is Frame.COURSE:
            self._course(section, cursor)
        elif frame is Frame.ENTRY:
            self._entry(section, cursor)
        elif frame is Frame.LEAVING:
            self._place_leaving(section)
        elif frame is Frame.OPINIONS:
            self._opinions(section)
        else:
            self._place_fixed(section, self._recap(section), remote=True)
        self._heading(section)
        place_rows(section, self.narrator, self.resolver)

    def fixed_sentence(
        self,
        sentence: Sentence,
        fixed: Moment,
        latest: float | None = None,
        remote: bool = False,
    ) -> None:
        """Place one sentence at one moment.

        Clauses that name a day of their own, not after `latest`, are placed on that day. A day
        alone at the head of the sentence ("12/3 - CT chest") dates the rest of the sentence. A day
        in brackets dates the words before it. `remote`: what has lasted for long is as old as it
        says.
        """
        time, low = fixed.estimate.time or 0.0, fixed.estimate.low
        led: Moment | None = None
        for clause in self.narrator.find_clauses(sentence):
            cursor = Cursor(
                time,
                time if low is None else low,
                fixed.estimate.high,
                self.resolver.calendar.day_of(time),
            )
            named = [
                e
                for e in clause.expressions
                if (e.day is not None and e.day.basis is not Basis.CURRENT)
                or (fixed.day_only and e.part is not None)
            ]
            cursor.day_only = fixed.day_only
            moments = [
                (e, m)
                for e in named
                if (m := self.resolver.resolve(e, cursor, past=False)) and not _after(m, latest)
            ]
            moments += self._long_before(clause) if remote else []
            inside = self.narrator.find_occurrences(clause.start, clause.end)
            for occurrence in inside:
                moment = self.narrator.nearest(occurrence, moments) if moments else led or fixed
                self.narrator.estimates[occurrence.uid] = self.narrator.estimate_moment(
                    occurrence, moment
                )
            if moments:
                led = moments[-1][1] if not inside and clause.start <= sentence.start else None

    def _long_before(self, clause: Clause) -> list[tuple[TimeExpression, Moment]]:
        """Return the moments of a clause that are long before the admission.

        Examples: "for 18 years", "since 2195", "two months ago".
        """
        past = Cursor(-2.0, -2.0, 0.0, 0)
        long = [
            e
            for e in clause.expressions
            if e.kind in (Kind.AGE, Kind.YEAR, Kind.SPAN)
            or (e.kind is Kind.OFFSET and e.anchoring is Anchoring.ADMISSION)
        ]
        found = [(e, m) for e in long if (m := self.resolver.resolve(e, past, past=True))]
        return [(e, m) for e, m in found if (m.estimate.time or 0.0) < -_LONG_BEFORE]

    def _dated_title(self, section: Section) -> Moment | None:
        """Return the day that a heading names ("OPERATION 11.12.", "Labs 4/3")."""
        named = [
            e
            for e in self.narrator.find_times(section.start, section.body_start)
            if e.day is not None and e.day.basis is not Basis.CURRENT
        ]
        if len(named) != 1:
            return None
        found = self.resolver.resolve(named[0], Cursor(0.0, 0.0, None, 0), past=False)
        arriving = found is not None and found.day == 0 and find_frame(section) is Frame.EXAM
        return None if arriving else found

    def _place_fixed(
        self,
        section: Section,
        estimate: Estimate,
        latest: float | None = None,
        remote: bool = False,
    ) -> None:
        moment = Moment(estimate, self.resolver.calendar.day_of(estimate.time or 0.0))
        for sentence in self.narrator.sentences(section):
            self.fixed_sentence(sentence, moment, latest, remote)

    # The stay

    def _entry(self, section: Section, cursor: Cursor) -> None:
        """Place an entry that was written during the stay.

        What has no time was so when it was written, as far back as the entry before it.
        """
        index = max(i for i, e in enumerate(self.entries) if e.start <= section.start)
        entry = self.entries[index]
        low = self.entries[index - 1].time if index else entry.time - _ENTRY_BACK
        self.resolver.writing = entry.time
        for sentence in self.narrator.sentences(section):
            here = Cursor(entry.time, low, entry.time, entry.day, source=WRITTEN)
            self.narrator.entry_sentence(sentence, here)
            self._plans(sentence, entry.time)
            for occurrence in self.narrator.find_occurrences(sentence.start, sentence.end):
                if is_demographic(occurrence):
                    self.narrator.static(occurrence)
        self.resolver.writing = None
        at = Estimate(entry.time, low, entry.time, Strength.PLACE, ENTRY, "the time of the entry")
        cursor.set(at, entry.day, source=WRITTEN)

    def _plans(self, sentence: Sentence, written: float) -> None:
        """Place the plans of a sentence when they were written."""
        for occurrence in self.narrator.find_occurrences(sentence.start, sentence.end):
            found = self.narrator.estimates.get(occurrence.uid)
            if occurrence.polarity is Polarity.PLANNED and (found is None or found.rule != PLAN):
                self.narrator.estimates[occurrence.uid] = Estimate(
                    written, written, written, Strength.RELATIVE, PLAN, _WRITTEN_PLAN
                )

    def _course(self, section: Section, cursor: Cursor) -> None:
        if self.by_problem or cursor.time < -24:
            start = self._arrival()
            cursor.set(start, self.resolver.arrival_day(start.time or 0.0), source=OPENING)
            cursor.uid = ""
        self._follow_title(section, cursor)
        self.narrator.course(section, cursor)
        self.resolver.copied_day = None

    def _follow_title(self, section: Section, cursor: Cursor) -> None:
        """Move the cursor to the day that a heading names.

        Example: "carried forward from HD#7 note".
        """
        for e in self.narrator.find_times(section.start, section.body_start):
            moment = self.resolver.resolve(e, cursor, past=False) if e.day is not None else None
            if moment:
                cursor.set(moment.estimate, moment.day, moment.day_only, e.text)
                copied = is_copied(self.narrator.analysis.text[section.start : section.body_start])
                self.resolver.copied_day = moment.day if copied else None

    def _arrival(self) -> Estimate:
        """Return where the course begins.

        It is the floor if the note says that it was reached, else the unit that the note names.
        """
        milestones = self.resolver.milestones
        unit = _UNIT_NAMED.search(self.narrator.analysis.text)
        place = Place.FLOOR if Place.FLOOR in milestones.reached or not unit else Place.UNIT
        return replace(
            milestones.at(place),
            rule=SECTION,
            reason="the beginning of the hospital course",
            strength=Strength.DEFAULT,
            known=False,
        )

    def _heading(self, section: Section) -> None:
        """Date occurrences inside a heading.

        They are the problem itself and take the time of the first statement below it.
        """
        body = [
            self.narrator.estimates[o.uid]
            for o in self.narrator.find_occurrences(section.body_start, section.end)
            if o.uid in self.narrator.estimates
        ]
        course = find_frame(section) is Frame.COURSE
        estimate = self._arrival()
        if course and body:
            reason = f"the problem of this part: {body[0].reason}"
            estimate = replace(
                body[0], strength=Strength.DEFAULT, rule="heading", reason=reason, known=False
            )
        for occurrence in self.narrator.find_occurrences(section.start, section.body_start):
            if course or occurrence.uid not in self.narrator.estimates:
                self.narrator.estimates[occurrence.uid] = estimate

    # Examinations, lists, opinions

    def _exam(self, section: Section, cursor: Cursor) -> Estimate:
        analysis = self.narrator.analysis
        place = find_place(analysis.text[section.start : section.body_start])
        if place in (None, Place.ADMISSION) and section.kind == "exam":
            earlier = [
                s
                for s in analysis.sections
                if s.end == section.start and find_frame(s) is Frame.EXAM
            ]
            place = (
                find_place(analysis.text[earlier[0].start : earlier[0].body_start])
                if earlier
                else None
            )
        if place is None or place in (Place.ADMISSION, Place.DISCHARGE):
            time = max(min(cursor.time, _EXAM_LATEST), _EXAM_EARLIEST)
            return Estimate(
                time,
                -3.0,
                _EXAM_LATEST,
                Strength.PLACE,
                SECTION if section.is_named else CONTENT,
                "examination on admission",
                known=place is not None or section.kind == "exam_admission",
            )
        estimate = self.resolver.milestones.at(place)
        return replace(
            estimate.shift(0.1, -0.5, 1.5),
            rule=SECTION,
            reason=f"examination: {estimate.reason}",
        )

    def _place_examination(self, section: Section, estimate: Estimate) -> None:
        """Place an examination.

        Lines whose label names a later station ("Exam on MICU arrival: …") are placed there.
        """
        first = Moment(estimate, self.resolver.calendar.day_of(estimate.time or 0.0))
        moment, line = first, -1
        for sentence in self.narrator.sentences(section):
            label = _EXAM_LABEL.match(self.narrator.analysis.text, sentence.start, sentence.end)
            place = find_place(label[1]) if label else None
            if place in (Place.UNIT, Place.FLOOR):
                reached = replace(
                    self.resolver.milestones.at(place).shift(0.1, -0.5, 1.5), rule=SECTION
                )
                moment = Moment(reached, self.resolver.calendar.day_of(reached.time or 0.0))
            elif sentence.line != line:
                moment = first
            line = sentence.line
            self.fixed_sentence(sentence, moment)

    def _recap(self, section: Section) -> Estimate:
        if section.kind in ("chief_complaint", "admission_diagnosis"):
            arrival = self.resolver.milestones.at(Place.EMERGENCY)
            return replace(
                arrival,
                low=None,
                rule=SECTION,
                reason="presenting problem",
                strength=Strength.DEFAULT,
                known=False,
            )
        start = self._arrival()
        leaving = self.resolver.milestones.at(Place.DISCHARGE).time or 72.0
        return replace(
            start, high=max(leaving, start.high or 0.0), reason="named in a list, undated"
        )

    def _opinions(self, section: Section) -> None:
        """Place advice, which is undated until a sentence names a day.

        From a counted or dated day on, its paragraph is read in order.
        """
        leaving = max(self.resolver.milestones.at(Place.DISCHARGE).time or 72.0, 0.0)
        undated = Estimate(
            leaving * 0.5,
            0.0,
            leaving,
            Strength.DEFAULT,
            SECTION,
            "undated advice during the stay",
        )
        moment = Moment(undated, self.resolver.calendar.day_of(leaving * 0.5))
        cursor, line = None, -1
        for sentence in self.narrator.sentences(section):
            if sentence.line != line:
                cursor, line = None, sentence.line
            if cursor is None and counts_days(self.narrator, sentence.start, sentence.end):
                cursor = Cursor(leaving * 0.5, 0.0, leaving, moment.day, source=OPENING)
            if cursor is None:
                self.fixed_sentence(sentence, moment)
            else:
                self.narrator.next_sentence(sentence, cursor)

    # Leaving

    def _place_leaving(self, section: Section) -> None:
        leaving = self.resolver.milestones.at(Place.DISCHARGE)
        if section.kind == "disposition" and not self.by_problem:
            leaving = self._find_stated_leaving(section, leaving)
        elif section.kind == "disposition" and names_days(self.narrator, section):
            time = leaving.time or 72.0
            day = self.resolver.calendar.day_of(time)
            self.narrator.course(
                section, Cursor(time, leaving.low or 0.0, leaving.high, day, source="discharge")
            )
            return
        at_leaving = replace(
            leaving,
            rule=SECTION if section.is_named else CONTENT,
            reason=f"at discharge: {leaving.reason}",
            strength=Strength.PLACE,
            known=leaving.known and section.is_named,
        )
        # Plans for a later day are made at discharge.
        planned = section.kind != "disposition" and leaving.time is not None
        self._place_fixed(
            section, at_leaving, (leaving.time or 0.0) + _LEAVING_DAY if planned else None
        )

    def _find_stated_leaving(self, section: Section, leaving: Estimate) -> Estimate:
        """Return the hour of leaving if it is not given and the story states it.

        Example: "She went home late that afternoon".
        """
        if self.resolver.milestones.discharge is not None:
            return leaving
        sentences = self.narrator.sentences(section)
        day = self.resolver.calendar.day_of(leaving.time or 0.0)
        start = self.resolver.calendar.midnight(day)
        for e in self.narrator.find_times(section.start, sentences[0].end) if sentences else []:
            moment = (
                self.resolver.resolve(e, Cursor(start, start, None, day, day_only=True), past=False)
                if e.part is not None
                else None
            )
            if moment:
                self.resolver.milestones.reached[Place.DISCHARGE] = replace(
                    moment.estimate, rule="discharge"
                )
                return moment.estimate
        return leaving
