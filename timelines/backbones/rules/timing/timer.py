"""The rule-based text timer (protocol stage 3).

It places every occurrence of a note on the time axis from the whole note, its spans and the clock
time of t = 0, without structured rows. The note is read more than once, so that a reference to a
later passage ("line placed after the ERCP") resolves, and repeats of one occurrence agree.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace

from timelines.backbones.rules.text import Analysis, analyse
from timelines.backbones.rules.timing.anchors.clock import Calendar
from timelines.backbones.rules.timing.anchors.cursor import Cursor
from timelines.backbones.rules.timing.anchors.milestones import Milestones, Place, find_unit
from timelines.backbones.rules.timing.anchors.operations import operation
from timelines.backbones.rules.timing.anchors.references import ReferenceIndex
from timelines.backbones.rules.timing.anchors.resolver import Resolver
from timelines.backbones.rules.timing.calibration import Margins, calibrate
from timelines.backbones.rules.timing.chart import entries_of_parts, sections_of_parts
from timelines.backbones.rules.timing.discharge import discharge_estimate
from timelines.backbones.rules.timing.entries import ENTRY, find_entries, with_entries
from timelines.backbones.rules.timing.estimate import Estimate, Strength, entry
from timelines.backbones.rules.timing.frames import Frame, find_frame
from timelines.backbones.rules.timing.narrative import Narrator
from timelines.backbones.rules.timing.order import show_disagreements
from timelines.backbones.rules.timing.phrases.bare_dates import bare_dates, dotted_dates
from timelines.backbones.rules.timing.phrases.expressions import find_expressions
from timelines.backbones.rules.timing.phrases.manner import (
    Manner,
    writes_full_day,
    writes_plain_clocks,
)
from timelines.backbones.rules.timing.phrases.passages import (
    find_first_days,
    find_log_days,
    find_writing,
)
from timelines.backbones.rules.timing.phrases.terms import Basis, TimeExpression
from timelines.backbones.rules.timing.placement import Placement
from timelines.backbones.rules.timing.repeats import link_repeats
from timelines.domain import (
    DAY,
    Anchor,
    Occurrence,
    Polarity,
    TaggedNote,
    Timeline,
    TimelineKind,
)
from timelines.pipeline.backbone import Check, never_stop

_PASSES = 3
_AGE = re.compile(r"\b(\d{1,3})[\s-]*(?:y/?o\b|yo\b|years?[\s-]*old|year-old|yr[\s-]*old|[MF]\b)")
#: An undated history is a state, wherever it is mentioned (protocol section 1).
_PAST = re.compile(
    r"(?:past |prior |remote |longstanding |known )?(?:medical )?history of\b|h/o\b", re.IGNORECASE
)
#: Sections in which a number may be a year of the patient's past.
_PAST_FRAMES = (Frame.HISTORY, Frame.STATIC, Frame.RECAP)
#: From this many sections on, a hospital course is ordered by problem or system, not by time.
_BY_PROBLEM = 3


@dataclass(frozen=True)
class RuleTimer:
    """Text-only temporal inference by rules; deterministic."""

    check: Check = never_stop
    #: Margins of the bounds by way of decision; those learned if None, none if empty.
    margins: Mapping[str, Margins] | None = None

    def infer(self, note: TaggedNote, anchor: Anchor, discharge: float | None = None) -> Timeline:
        """Return a complete text-only timeline of the note.

        Times are hours from `anchor`. Nothing of the stay is placed after `discharge`; without it
        the rules read the discharge from the note. Occurrences without a span are N/A, because
        the note does not support a time.
        """
        reading = _Reading(note, anchor, discharge, self.check)
        estimates: dict[str, Estimate] = {}
        for _ in range(_PASSES):
            estimates = reading.read(estimates)
        entries = [
            entry(o.uid, calibrate(reading.final(o, estimates), reading.latest(o), self.margins))
            for o in note.inventory
        ]
        return Timeline.complete(note.inventory, entries, TimelineKind.TEXT_ONLY)


class _Reading:
    """State that stays the same while one note is read several times.

    Only the time of discharge is carried over.
    """

    def __init__(
        self, note: TaggedNote, anchor: Anchor, discharge: float | None, check: Check
    ) -> None:
        self.check = check
        self.discharge = discharge
        self.analysis: Analysis = analyse(note.text, check)
        note = self.note = replace(note, text=self.analysis.text)
        self.calendar = Calendar(anchor)
        self.milestones = Milestones(anchor, discharge)
        self.expressions = _locate_expressions(self.analysis, self.calendar, check)
        if note.parts:
            self.entries = entries_of_parts(note.parts, self.calendar.day_of)
            sections = sections_of_parts(note.text, note.parts, check)
        else:
            self.entries = find_entries(
                note.text, self.expressions, self._stated_day, self.calendar.midnight
            )
            sections = with_entries(note.text, self.analysis.sections, self.entries)
        self.analysis = replace(self.analysis, sections=sections)
        spanned = [o for o in note.inventory if o.start is not None]
        self.occurrences = tuple(sorted(spanned, key=lambda o: (o.start or 0, o.ordinal)))
        self.written = find_writing(note.text, self._dates())
        self.written = sorted([*self.written, *((e.start, e.day) for e in self.entries)])
        self.log_days = find_log_days(
            note.text, self.expressions, self._stated_day, self.calendar.clock
        )
        self.first_days = find_first_days(note.text, self._dates())
        self.starts = [o.start or 0 for o in self.occurrences]
        match = _AGE.search(note.text)
        self.age = float(match[1]) if match and 0 < int(match[1]) < 120 else None
        course = [s for s in self.analysis.sections if find_frame(s) is Frame.COURSE]
        self.course = (course[0].start, course[-1].end) if course else (0, len(note.text))
        self.by_problem = len(course) >= _BY_PROBLEM
        self.numbered = any(note.text[s.start : s.start + 1] == "#" for s in course)

    def _stated_day(self, e: TimeExpression) -> int | None:
        """Return the calendar day of a date or hospital day; None for other days."""
        if e.day is None:
            return None
        if e.day.basis is Basis.HOSPITAL:
            return e.day.number - 1
        dated = e.day.basis is Basis.DATE and e.day.month is not None
        return self.calendar.date_day(e.day) if dated else None

    def _dates(self) -> list[tuple[TimeExpression, int]]:
        """Return the dates of the note with their calendar days."""
        named = [(e, e.day) for e in self.expressions if e.day is not None]
        return [
            (e, day)
            for e, d in named
            if d.basis is Basis.DATE
            and d.month is not None
            and (day := self.calendar.date_day(d)) is not None
        ]

    def read(self, earlier: dict[str, Estimate]) -> dict[str, Estimate]:
        """Read the note once, with earlier estimates for references to later text."""
        known = dict(earlier)
        self.milestones.reached = {
            p: e for p, e in self.milestones.reached.items() if p is Place.DISCHARGE
        }
        resolver = self._resolver(ReferenceIndex(self.note, known))
        narrator = Narrator(
            self.analysis, resolver, self.occurrences, self.expressions, check=self.check
        )
        placement = Placement(narrator, resolver, self.by_problem, self.entries)
        cursor, before = self._start(), ""
        for section in self.analysis.sections:
            if self.note.parts and before == ENTRY != section.kind:
                cursor = self._start()  # a summary does not go on where a progress note ended
            placement.place(section, cursor)
            before = section.kind
            known.update(narrator.estimates)
        link_repeats(self.note, narrator, self.by_problem)
        show_disagreements(narrator)
        if self.milestones.discharge is None:
            leaving = discharge_estimate(narrator, self.by_problem and self.numbered, self.course)
            self.milestones.reached[Place.DISCHARGE] = leaving
        return narrator.estimates

    def final(self, occurrence: Occurrence, estimates: dict[str, Estimate]) -> Estimate:
        """Return the estimate of an occurrence, with neighbours as context.

        N/A if the note does not support a time.
        """
        self.check()
        estimate = estimates.get(occurrence.uid)
        if estimate is None:
            return self._estimate_outside(occurrence, estimates)
        if estimate.strength <= Strength.INHERITED and _PAST.match(occurrence.mention):
            reason = "history without a date: it is placed at 0"
            estimate = Estimate(0.0, None, 0.0, Strength.DEFAULT, "static", reason)
        return self._limit(occurrence, estimate).add_context(self._neighbours(occurrence))

    def latest(self, occurrence: Occurrence) -> float | None:
        """Return the hour after which the occurrence's note reports nothing.

        The discharge, or when a note of a chart was written; None if neither is known.
        """
        end = self.discharge
        if occurrence.start is None or not self.note.parts:
            return end
        at = bisect_right(self.note.parts, occurrence.start, key=lambda p: p.start) - 1
        written = self.note.parts[at].written
        return written if end is None or (written is not None and written < end) else end

    def _limit(self, occurrence: Occurrence, estimate: Estimate) -> Estimate:
        """Return the estimate within the stay, if its end is known.

        Only a plan may be due later, and a follow-up visit may have happened later.
        """
        end = self.milestones.discharge
        if end is None or estimate.time is None or estimate.time >= end + DAY:
            return estimate
        time, low, high = min(estimate.time, end), estimate.low, estimate.high
        if occurrence.polarity is not Polarity.PLANNED:
            high = end if high is None and time > 0 else high
            latest = self.latest(occurrence) if self.note.parts else end
            high = None if high is None else min(high, max(time, latest or end))
        return replace(estimate, time=time, low=None if low is None else min(low, end), high=high)

    def _estimate_outside(self, occurrence: Occurrence, estimates: dict[str, Estimate]) -> Estimate:
        """Return the estimate of a span outside every sentence.

        It takes the time of the nearest dated occurrence; without any it is N/A.
        """
        dated = (
            [o for o in self.occurrences if o.uid in estimates]
            if occurrence.start is not None
            else []
        )
        if not dated:
            return Estimate(
                None, None, None, Strength.DEFAULT, "none", "the note gives this occurrence no time"
            )
        near = min(dated, key=lambda o: abs((o.start or 0) - (occurrence.start or 0)))
        reason = f"mentioned beside “{near.mention}”"
        return replace(
            estimates[near.uid],
            strength=Strength.INHERITED,
            rule="narrative",
            known=False,
            reason=reason,
            context=(near.uid,),
        )

    def _resolver(self, index: ReferenceIndex) -> Resolver:
        resolver = Resolver(
            self.calendar,
            self.milestones,
            index,
            self.age,
            unit_name=find_unit(self.note.text),
            written=self.written,
            first_days=self.first_days,
            log_days=self.log_days,
        )
        surgery = operation(index, self.course)
        if surgery is not None:
            resolver.surgery = replace(
                surgery[1], reason=f"“{surgery[0].mention}”", context=(surgery[0].uid,)
            )
            resolver.surgery_day = self.calendar.day_of(surgery[1].time or 0.0)
        return resolver

    def _start(self) -> Cursor:
        time = self.milestones.at(Place.EMERGENCY).time or 0.0
        return Cursor(time, time - 2, max(0.0, time), self.calendar.day_of(time))

    def _neighbours(self, occurrence: Occurrence) -> tuple[str, ...]:
        """The nearest occurrences of the same sentence."""
        start = occurrence.start or 0
        sentence = self.analysis.sentence_at(start)
        if sentence is None:
            return ()
        inside = self.occurrences[
            bisect_left(self.starts, sentence.start) : bisect_left(self.starts, sentence.end)
        ]
        near = [o for o in inside if o.uid != occurrence.uid]
        near.sort(key=lambda o: abs((o.start or 0) - start))
        return tuple(o.uid for o in near[:3])


def _locate_expressions(
    analysis: Analysis, calendar: Calendar, check: Check
) -> list[TimeExpression]:
    """Expressions of every sentence, with offsets of the note."""
    usual = Manner(
        is_date=bare_dates(analysis.text, calendar.date_day),
        is_dotted=dotted_dates(analysis.text, calendar.date_day),
        plain_clocks=writes_plain_clocks(analysis.text),
        full_day=writes_full_day(analysis.text),
    )
    past = replace(usual, is_year=calendar.is_past_year, plain_clocks=False)
    found = []
    for sentence in analysis.sentences:
        check()
        history = find_frame(analysis.section_at(sentence.start)) in _PAST_FRAMES
        text = analysis.text[sentence.start : sentence.end]
        for e in find_expressions(text, past if history else usual):
            found.append(replace(e, start=e.start + sentence.start, end=e.end + sentence.start))
    return found
