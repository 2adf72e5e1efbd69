"""The rule-based text timer: every occurrence of a note on the time axis, from the text alone (protocol stage 3).

It reads the whole note, its spans and the clock time of t = 0, and no structured row. The note is
read more than once, so that a reference to something told later ("line placed after the ERCP")
finds it, and repeats of one occurrence agree.
"""

from __future__ import annotations

import re
from dataclasses import replace

from timelines.backbones.rules.sections import Section
from timelines.backbones.rules.text import Analysis, Sentence, analyse
from timelines.backbones.rules.timing.clock import Calendar
from timelines.backbones.rules.timing.concepts import concepts, numbers
from timelines.backbones.rules.timing.cursor import Cursor
from timelines.backbones.rules.timing.discharge import COUNTED, discharge_estimate
from timelines.backbones.rules.timing.estimate import Estimate, Strength, entry
from timelines.backbones.rules.timing.expressions import find_expressions
from timelines.backbones.rules.timing.frames import Frame, frame_of
from timelines.backbones.rules.timing.kinds import is_lab
from timelines.backbones.rules.timing.milestones import Milestones, Place, place_in
from timelines.backbones.rules.timing.narrative import Narrator
from timelines.backbones.rules.timing.operations import operation
from timelines.backbones.rules.timing.references import ReferenceIndex
from timelines.backbones.rules.timing.resolver import Moment, Resolver
from timelines.backbones.rules.timing.terms import Basis, TimeExpression
from timelines.domain import Anchor, Occurrence, TaggedNote, Timeline, TimelineKind

_PASSES = 3
_AGE = re.compile(r"\b(\d{1,3})[\s-]*(?:y/?o\b|yo\b|years?[\s-]*old|year-old|yr[\s-]*old|[MF]\b)")


class RuleTimer:
    """Text-only temporal inference by rules; deterministic."""

    def infer(self, note: TaggedNote, anchor: Anchor) -> Timeline:
        """A complete text-only timeline of the note, times in hours from `anchor`. Never raises on odd text."""
        reading = _Reading(note, anchor)
        estimates: dict[str, Estimate] = {}
        for _ in range(_PASSES):
            estimates = reading.read(estimates)
        entries = [entry(o.uid, reading.final(o, estimates)) for o in note.inventory]
        return Timeline.complete(note.inventory, entries, TimelineKind.TEXT_ONLY)


class _Reading:
    """The state of reading one note several times."""

    def __init__(self, note: TaggedNote, anchor: Anchor) -> None:
        self.note = note
        self.analysis: Analysis = analyse(note.text)
        self.calendar = Calendar(anchor)
        self.milestones = Milestones(anchor)
        self.expressions = _located(self.analysis)
        self.occurrences = tuple(sorted((o for o in note.inventory if o.start is not None), key=lambda o: (o.start or 0, o.ordinal)))
        match = _AGE.search(note.text)
        self.age = float(match[1]) if match and 0 < int(match[1]) < 120 else None
        course = [s for s in self.analysis.sections if frame_of(s) is Frame.COURSE]
        self.course = (course[0].start, course[-1].end) if course else (0, len(note.text))
        self.by_problem = len(course) > 2
        self.numbered = any(note.text[s.start : s.start + 1] == "#" for s in course)
        self._last: dict[int, tuple[TimeExpression, int, float]] = {}

    def read(self, before: dict[str, Estimate]) -> dict[str, Estimate]:
        """One pass over the note with the estimates of the pass before."""
        known = dict(before)
        self.milestones.reached = {p: e for p, e in self.milestones.reached.items() if p is Place.DISCHARGE}
        index = ReferenceIndex(self.note, known)
        resolver = _Recording(self.calendar, self.milestones, index, self.age)
        told = operation(index, self.analysis.sections[0].start if self.analysis.sections else 0, self.course[1])
        if told is not None:
            resolver.surgery = replace(told[1], reason=f"“{told[0].mention}”", context=(told[0].uid,))
            if self.by_problem or told[1].strength >= Strength.RELATIVE:
                resolver.surgery_day = self.calendar.day_of(told[1].time or 0.0)
        narrator = Narrator(self.analysis, resolver, self.occurrences, self.expressions)
        cursor = self._start(resolver)
        for section in self.analysis.sections:
            self._section(section, narrator, resolver, cursor)
            known.update(narrator.estimates)
        self._link(narrator, known)
        dated = [(e, day, hours) for e, day, hours in resolver.seen.values()]
        self.milestones.reached[Place.DISCHARGE] = discharge_estimate(
            self.analysis,
            self.calendar,
            dated,
            self.by_problem and self.numbered,
            self.course,
            self._disposition(narrator),
            self._same_labs(narrator),
        )
        return narrator.estimates

    def final(self, occurrence: Occurrence, estimates: dict[str, Estimate]) -> Estimate:
        """The estimate of an occurrence, N/A where the note gives no hold, with its neighbours as context."""
        estimate = estimates.get(occurrence.uid)
        if estimate is None:
            return Estimate(None, None, None, Strength.DEFAULT, "none", "the occurrence has no place in the note")
        return estimate.with_context(self._neighbours(occurrence))

    def _neighbours(self, occurrence: Occurrence) -> tuple[str, ...]:
        sentence = self.analysis.sentence_at(occurrence.start or 0)
        if sentence is None:
            return ()
        near = [o for o in self.occurrences if o.uid != occurrence.uid and sentence.start <= (o.start or 0) < sentence.end]
        near.sort(key=lambda o: abs((o.start or 0) - (occurrence.start or 0)))
        return tuple(o.uid for o in near[:3])

    def _start(self, resolver: Resolver) -> Cursor:
        time = self.milestones.at(Place.EMERGENCY).time or 0.0
        return Cursor(time, time - 2, 0.0 if time <= 0 else time, self.calendar.day_of(time))

    # Sections

    def _section(self, section: Section, narrator: Narrator, resolver: Resolver, cursor: Cursor) -> None:
        frame = frame_of(section)
        if frame is Frame.PRESENTING:
            narrator.presenting(section, cursor)
        elif frame in (Frame.STATIC, Frame.HISTORY):
            narrator.history(section)
        elif frame is Frame.EXAM:
            self._fixed(section, narrator, self._exam_time(section, cursor), resolver)
        elif frame is Frame.RESULTS:
            self._results(section, narrator, resolver)
        elif frame is Frame.COURSE:
            self._course(section, narrator, resolver, cursor)
        elif frame is Frame.OPINIONS:
            leaving = self.milestones.at(Place.DISCHARGE).time or 72.0
            self._fixed(
                section,
                narrator,
                Estimate(leaving * 0.5, 0.0, leaving, Strength.DEFAULT, "section", "undated advice during the stay"),
                resolver,
            )
        elif frame is Frame.LEAVING:
            self._leaving(section, narrator, resolver, cursor)
        else:
            self._fixed(section, narrator, self._recap_time(section), resolver)
        self._heading(section, narrator)

    def _course(self, section: Section, narrator: Narrator, resolver: Resolver, cursor: Cursor) -> None:
        if self.by_problem or cursor.time < -24:
            start = self._arrival()
            cursor.set(start, resolver.arrival_day(start.time or 0.0), source="arrival")
            cursor.uid = ""
        self._titled(section, resolver, cursor)
        narrator.course(section, cursor)

    def _titled(self, section: Section, resolver: Resolver, cursor: Cursor) -> None:
        """A heading may name the day that its text speaks of ("carried forward from HD#7 note")."""
        for e in self.expressions:
            if section.start <= e.start < section.body_start and e.day is not None:
                moment = resolver.resolve(e, cursor, past=False)
                if moment:
                    cursor.set(moment.estimate, moment.day, moment.day_only, e.text)

    def _arrival(self) -> Estimate:
        text = self.note.text
        unit = re.search(r"\b(?:[A-Z]{0,4}ICU|CCU|intensive care)\b", text)
        place = Place.FLOOR if Place.FLOOR in self.milestones.reached or not unit else Place.UNIT
        return replace(
            self.milestones.at(place), rule="section", reason="the beginning of the hospital course", strength=Strength.DEFAULT, known=False
        )

    def _exam_time(self, section: Section, cursor: Cursor) -> Estimate:
        title = self.note.text[section.start : section.body_start]
        place = place_in(title)
        if place in (None, Place.ADMISSION) and section.kind == "exam":
            earlier = [s for s in self.analysis.sections if s.end == section.start and frame_of(s) is Frame.EXAM]
            place = place_in(self.note.text[earlier[0].start : earlier[0].body_start]) if earlier else None
        if place in (None, Place.ADMISSION, Place.DISCHARGE):
            time = max(min(cursor.time, 6.0), -2.0)
            return Estimate(time, -3.0, 6.0, Strength.PLACE, "section", "examination on admission", known=True)
        estimate = self.milestones.at(place)
        return replace(estimate.shifted(0.1, -0.5, 1.5), rule="section", reason=f"examination: {estimate.reason}")

    def _recap_time(self, section: Section) -> Estimate:
        if section.kind in ("chief_complaint", "admission_diagnosis"):
            return replace(
                self.milestones.at(Place.EMERGENCY),
                low=None,
                rule="section",
                reason="presenting problem",
                strength=Strength.DEFAULT,
                known=False,
            )
        start = self._arrival()
        leaving = self.milestones.at(Place.DISCHARGE).time or 72.0
        return replace(start, high=max(leaving, start.high or 0.0), reason="named in a list, undated")

    def _fixed(self, section: Section, narrator: Narrator, estimate: Estimate, resolver: Resolver) -> None:
        """Everything of a section at one time, except what names a day of its own."""
        for sentence in narrator.sentences(section):
            self._fixed_sentence(sentence, narrator, Moment(estimate, self.calendar.day_of(estimate.time or 0.0)), resolver)

    def _fixed_sentence(self, sentence: Sentence, narrator: Narrator, fixed: Moment, resolver: Resolver) -> None:
        estimate = fixed.estimate
        for clause in narrator._clauses(sentence):
            cursor = Cursor(
                estimate.time or 0.0, estimate.low or estimate.time or 0.0, estimate.high, self.calendar.day_of(estimate.time or 0.0)
            )
            named = [e for e in clause.expressions if e.day is not None and e.day.basis is not Basis.CURRENT]
            moments = [(e, m) for e in named if (m := resolver.resolve(e, cursor, past=False))]
            for occurrence in narrator.within(clause.start, clause.end):
                placed = (
                    narrator._placed(occurrence, narrator._nearest(occurrence, moments)) if moments else narrator._placed(occurrence, fixed)
                )
                narrator.estimates[occurrence.uid] = placed

    # Results

    def _results(self, section: Section, narrator: Narrator, resolver: Resolver) -> None:
        """Result lines: a label at the head of a line dates the whole line; later unlabelled lines are undated."""
        base = self._results_time(section.kind, self.note.text[section.start : section.body_start])
        line, moment = -1, Moment(base, self.calendar.day_of(base.time or 0.0))
        first = moment
        for sentence in narrator.sentences(section):
            labelled = self._labelled(sentence, resolver)
            if labelled is not None or sentence.line != line:
                if labelled is None and line >= 0 and re.match(r"[^\s:][^:\n]{0,30}:\s", self.note.text[sentence.start : sentence.end]):
                    undated = self._results_time("results", "")
                    labelled = Moment(undated, self.calendar.day_of(undated.time or 0.0))
                moment, line = labelled or first, sentence.line
            self._fixed_sentence(sentence, narrator, moment, resolver)

    def _results_time(self, kind: str, title: str) -> Estimate:
        if kind == "results_discharge":
            leaving = self.milestones.at(Place.DISCHARGE)
            day = self.calendar.day_of(leaving.time or 72.0)
            time = max(self.calendar.midnight(day) + 6.0, 0.0)
            return Estimate(
                time,
                max(time - 30, 0.0),
                max(leaving.time or time, time),
                Strength.PLACE,
                "section",
                "last results before discharge",
                known=leaving.known,
            )
        if kind == "results_admission" or place_in(title) in (Place.ADMISSION, Place.EMERGENCY):
            time = (self.milestones.at(Place.EMERGENCY).time or 0.0) * 0.5
            return Estimate(time, -6.0, 2.0, Strength.PLACE, "section", "first results on arrival", known=True)
        leaving = self.milestones.at(Place.DISCHARGE).time or 72.0
        return Estimate(min(24.0, leaving / 2), -3.0, leaving, Strength.DEFAULT, "section", "undated result of the stay")

    def _labelled(self, sentence: Sentence, resolver: Resolver) -> Moment | None:
        """A line of results may begin with its time or occasion: "HD4 AM", "ED", "CSF:", "TTE (HD2):"."""
        label = re.match(r"\s*([^\s:][^:\n]{0,40}?)(?::|\s{3,})", self.note.text[sentence.start : sentence.end])
        if label is None:
            return None
        words = label[1]
        for e in self.expressions:
            if sentence.start <= e.start < sentence.start + label.end() and e.day is not None:
                moment = resolver.resolve(e, Cursor(0.0, 0.0, None, 0), past=False)
                if moment is not None:
                    return moment
        estimate = self._occasion(words, sentence, resolver)
        return None if estimate is None else Moment(estimate, self.calendar.day_of(estimate.time or 0.0))

    def _occasion(self, words: str, sentence: Sentence, resolver: Resolver) -> Estimate | None:
        if re.match(r"(?:disch|d/?c\b|final)", words, re.IGNORECASE):
            return self._results_time("results_discharge", words)
        if re.match(r"(?:adm|ed\b|initial|arrival|presentation)", words, re.IGNORECASE):
            return self._results_time("results_admission", words)
        place = place_in(words)
        if place in (Place.UNIT, Place.FLOOR, Place.OUTSIDE):
            return replace(self.milestones.at(place).shifted(1.0, 0.0, 3.0), rule="section", reason=f"results labelled “{words}”")
        found = resolver.index.find(words, sentence.start, whole=True)
        if found is None or found[1].strength < Strength.INHERITED or (found[0].start or 0) in range(sentence.start, sentence.end):
            return None
        return replace(
            found[1],
            strength=Strength.DEFAULT,
            rule="event",
            known=False,
            reason=f"result of “{found[0].mention}”",
            context=(found[0].uid,),
        )

    # Leaving

    def _leaving(self, section: Section, narrator: Narrator, resolver: Resolver, cursor: Cursor) -> None:
        leaving = self.milestones.at(Place.DISCHARGE)
        if section.kind == "disposition" and not self.by_problem:
            leaving = self._told_leaving(section, narrator, resolver, cursor, leaving)
        elif section.kind == "disposition" and any(
            e.day is not None and e.day.basis in COUNTED for e in narrator.found(section.body_start, section.end)
        ):
            told = Cursor(
                leaving.time or 72.0, leaving.low or 0.0, leaving.high, self.calendar.day_of(leaving.time or 72.0), source="discharge"
            )
            narrator.course(section, told)
            return
        planned = replace(leaving, rule="section", reason=f"at discharge: {leaving.reason}", strength=Strength.PLACE)
        self._fixed(section, narrator, planned, resolver)

    def _told_leaving(self, section: Section, narrator: Narrator, resolver: Resolver, cursor: Cursor, leaving: Estimate) -> Estimate:
        """A story that ends with leaving tells its hour: "She went home late that afternoon"."""
        sentences = narrator.sentences(section)
        for e in narrator.found(section.start, sentences[0].end) if sentences else []:
            if e.part is not None:
                day = self.calendar.day_of(leaving.time or 0.0)
                here = Cursor(self.calendar.midnight(day), self.calendar.midnight(day), None, day, day_only=True)
                moment = resolver.resolve(e, here, past=False)
                if moment and moment.estimate.time is not None:
                    self.milestones.reached[Place.DISCHARGE] = replace(moment.estimate, rule="discharge")
                    return moment.estimate
        return leaving

    def _disposition(self, narrator: Narrator) -> Estimate | None:
        """The latest dated statement of a disposition told by day is the leaving itself."""
        found: Estimate | None = None
        for section in self.analysis.sections:
            named = [e for e in narrator.found(section.body_start, section.end) if e.day is not None and e.day.basis in COUNTED]
            if section.kind != "disposition" or not named:
                continue
            for occurrence in narrator.within(section.body_start, section.end):
                estimate = narrator.estimates.get(occurrence.uid)
                if (
                    estimate
                    and estimate.time
                    and estimate.strength is Strength.EXPLICIT
                    and estimate.time > (found.time if found and found.time else 0.0)
                ):
                    found = replace(estimate, rule="discharge")
        return found

    def _same_labs(self, narrator: Narrator) -> frozenset[int]:
        """Days of the course on which a value was told that the discharge labs repeat."""
        days: set[int] = set()
        final = [o for o in self.occurrences if self.analysis.section_at(o.start or 0).kind == "results_discharge" and is_lab(o)]
        told = [o for o in self.occurrences if frame_of(self.analysis.section_at(o.start or 0)) is Frame.COURSE and is_lab(o)]
        for one in final:
            for other in told:
                estimate = narrator.estimates.get(other.uid)
                alike = numbers(one.mention) & numbers(other.mention) and concepts(one.mention) & concepts(other.mention)
                if alike and estimate and estimate.time is not None and estimate.strength is Strength.EXPLICIT:
                    days.add(self.calendar.day_of(estimate.time))
        return frozenset(days)

    # Headings and repeats

    def _heading(self, section: Section, narrator: Narrator) -> None:
        """Occurrences inside a heading: the problem itself, at the first dated statement beneath it."""
        inside = narrator.within(section.start, section.body_start)
        if not inside:
            return
        body = [narrator.estimates[o.uid] for o in narrator.within(section.body_start, section.end) if o.uid in narrator.estimates]
        estimate = self._arrival()
        if frame_of(section) is Frame.COURSE and body:
            estimate = replace(
                body[0], strength=Strength.DEFAULT, rule="heading", reason=f"the problem of this part: {body[0].reason}", known=False
            )
        for occurrence in inside:
            narrator.estimates[occurrence.uid] = (
                estimate if frame_of(section) is Frame.COURSE else narrator.estimates.get(occurrence.uid, estimate)
            )

    def _link(self, narrator: Narrator, known: dict[str, Estimate]) -> None:
        """A weakly dated name of something takes the time of its better dated mention."""
        index = ReferenceIndex(self.note, dict(narrator.estimates))
        for occurrence in self.occurrences:
            estimate = narrator.estimates.get(occurrence.uid)
            if estimate is None:
                continue
            section = self.analysis.section_at(occurrence.start or 0)
            heading = (occurrence.start or 0) < section.body_start
            frame = frame_of(section)
            retold = (
                frame is Frame.COURSE and self.by_problem and re.search(r"summary|carried|recap", section.title, re.IGNORECASE) is not None
            )
            if estimate.strength > (Strength.INHERITED if retold else Strength.DEFAULT):
                continue
            if not (heading or retold or frame in (Frame.RECAP, Frame.RESULTS, Frame.PRESENTING)):
                continue
            among = self._candidates(narrator, section, heading)
            background = frame is Frame.PRESENTING and not heading
            found = index.same(
                occurrence,
                among - {occurrence.uid},
                frame is not Frame.RESULTS,
                1.6 if background else 1.2,
                figures_needed=frame is Frame.RESULTS,
            )
            if found is not None:
                other, better = found
                narrator.estimates[occurrence.uid] = replace(
                    better,
                    strength=Strength.INHERITED,
                    rule="repeat",
                    known=False,
                    reason=f"the same as “{other.mention}”",
                    context=(other.uid,),
                )

    def _candidates(self, narrator: Narrator, section: Section, heading: bool) -> set[str]:
        """Which estimates may date a repeat: well founded ones, before admission for what brought the patient in."""
        frame = frame_of(section)
        least = Strength.PLACE if frame is Frame.RESULTS else Strength.INHERITED
        last = (
            6.0
            if section.kind in ("chief_complaint", "admission_diagnosis")
            else 0.5
            if frame is Frame.PRESENTING and not heading
            else None
        )
        return {
            u
            for u, e in narrator.estimates.items()
            if e.strength >= least and e.rule != "repeat" and (last is None or (e.time or 0.0) < last)
        }


class _Recording(Resolver):
    """A resolver that remembers which expressions it resolved to which day, for the end of the stay."""

    def __init__(self, calendar: Calendar, milestones: Milestones, index: ReferenceIndex, age: float | None) -> None:
        super().__init__(calendar, milestones, index, age)
        self.seen: dict[int, tuple[TimeExpression, int, float]] = {}

    def resolve(self, expression: TimeExpression, cursor: Cursor, past: bool):  # type: ignore[no-untyped-def]
        moment = super().resolve(expression, cursor, past)
        if moment is not None and moment.estimate.time is not None:
            self.seen[expression.start] = (expression, moment.day, moment.estimate.time)
        return moment


def _located(analysis: Analysis) -> list[TimeExpression]:
    """Expressions of every sentence, with offsets of the note."""
    found = []
    for sentence in analysis.sentences:
        for e in find_expressions(analysis.text[sentence.start : sentence.end]):
            found.append(replace(e, start=e.start + sentence.start, end=e.end + sentence.start))
    return found
