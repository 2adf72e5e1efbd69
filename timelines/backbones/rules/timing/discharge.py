"""Estimate when the stay ended, from the note alone."""

from __future__ import annotations

import re
from dataclasses import replace

from timelines.backbones.rules.sections.headings import Section
from timelines.backbones.rules.timing.anchors.clock import Calendar
from timelines.backbones.rules.timing.anchors.concepts import concepts, numbers
from timelines.backbones.rules.timing.anchors.kinds import is_lab
from timelines.backbones.rules.timing.estimate import Estimate, Strength
from timelines.backbones.rules.timing.frames import Frame, find_frame
from timelines.backbones.rules.timing.narrative import Narrator
from timelines.backbones.rules.timing.phrases.terms import Basis, Kind, TimeExpression

#: Usual clock hour of leaving, and its range.
_HOUR, _EARLY, _LATE = 14.5, 10.0, 19.0
_AWAY = r"(?:home|rehab\w*|snf|ltach?|hospice|(?:skilled\s+)?nursing\s+(?:facility|home)|extended\s+care|facility)"
_LEAVING = re.compile(
    rf"\b(?:discharged(?!\s+from\s+(?:the\s+)?\w*(?:unit|icu|ccu|pacu))|d/?c'?d?\s+(?:to\s+)?{_AWAY}|"
    rf"discharge(?:d)?\s+(?:to\s+)?{_AWAY}|day\s+of\s+d(?:ischarge|/c)|"
    rf"(?:went|sent|go|goes|to)\s+{_AWAY}|left\s+the\s+hospital|expired|died|passed\s+away|pronounced|"
    rf"time\s+of\s+death|^\W*(?:dispo\w*\W+)?{_AWAY}\b(?!\s+(?:meds?|medications?|dose|o2|oxygen|"
    rf"regimen)))",
    re.IGNORECASE,
)
_GONE = re.compile(
    rf"\b(?:discharged\s+(?:to\s+)?(?:the\s+|a\s+)?{_AWAY}|was\s+discharged(?!\s+from)|went\s+home|"
    rf"expired|died)\b",
    re.IGNORECASE,
)
#: Days that are counted or dated, as opposed to "the next day".
COUNTED = (Basis.HOSPITAL, Basis.POSTOP, Basis.DATE, Basis.UNIT)
_DEATH = re.compile(
    r"\b(?:expired|died|passed\s+away|pronounced|time\s+of\s+death)\b", re.IGNORECASE
)
_HEADER_DATE = re.compile(
    r"\b(?:(?:discharge|d/?c|disch)\s+date|date\s+of\s+(?:discharge|d/?c)|(?:discharged|disch|d/?c'?d?))\s*:\s*",
    re.IGNORECASE,
)


def discharge_estimate(narrator: Narrator, by_problem: bool, course: tuple[int, int]) -> Estimate:
    """Return the discharge in hours from admission.

    `narrator` has read the note; `course` are its offsets. An explicit day of leaving decides; a
    chronological story ends on its last day. Notes ordered by problem stop naming days before the
    end, so discharge is the day after the last named one, unless the discharge labs are of that
    day.
    """
    analysis, calendar = narrator.analysis, narrator.resolver.calendar
    dated = list(narrator.resolver.seen.values())
    text = analysis.text
    header = _header_day(text, dated)
    if header is not None:
        return _on_day(calendar, header, "the discharge date of the note", True)
    for e, day, hours in dated:
        sentence = analysis.sentence_at(e.start)
        if (
            sentence is None
            or e.kind is not Kind.POINT
            or e.day is None
            or e.day.basis not in COUNTED
        ):
            continue
        before = text[max(sentence.start, e.start - 60) : e.start]
        after = re.split(r"[,;.(]", text[e.end : min(sentence.end, e.end + 50)])[0]
        if (
            day >= 0
            and (_LEAVING.search(before) or _GONE.search(after))
            and not re.search(r"[,;.].*[,;.]", before)
        ):
            if e.part is not None and (_DEATH.search(before) or hours >= 0):
                return Estimate(
                    hours,
                    hours - 2,
                    hours + 2,
                    Strength.EXPLICIT,
                    "discharge",
                    f"“{e.text}” after a word of leaving",
                    known=True,
                )
            return _on_day(calendar, day, f"“{e.text}” after a word of leaving", True)
    disposition = disposition_estimate(narrator)
    if disposition is not None:
        return disposition
    inside = [
        (e, day) for e, day, hours in dated if course[0] <= e.start < course[1] and 0 <= day < 400
    ]
    named = [day for e, day in inside if e.day is not None and e.day.basis in COUNTED]
    last = max(named or [day for _, day in inside], default=None)
    if last is None:
        return Estimate(
            72.0,
            12.0,
            None,
            Strength.DEFAULT,
            "discharge",
            "no day of the stay is named: a usual length of stay",
        )
    if by_problem and last not in same_lab_days(narrator):
        return _on_day(calendar, last + 1, "the day after the last one that the note names", False)
    return _on_day(calendar, last, "the last day that the course names", False)


def _header_day(text: str, dated: list[tuple[TimeExpression, int, float]]) -> int | None:
    for match in _HEADER_DATE.finditer(text):
        for e, day, _ in dated:
            if (
                e.day is not None
                and e.day.basis is Basis.DATE
                and 0 <= e.start - match.end() <= 3
                and 0 <= day < 400
            ):
                return day
    return None


def _on_day(calendar: Calendar, day: int, words: str, sure: bool) -> Estimate:
    start = calendar.midnight(day)
    spread = 0.0 if sure else 24.0
    time = max(start + _HOUR, 2.0)
    return Estimate(
        time,
        max(start + _EARLY - spread, 0.0),
        start + _LATE + spread,
        Strength.RELATIVE,
        "discharge",
        f"discharge: {words}",
        known=sure,
    )


def disposition_estimate(narrator: Narrator) -> Estimate | None:
    """Return the latest dated disposition, if its section names a day.

    That is the patient's leaving.
    """
    found: Estimate | None = None
    for section in narrator.analysis.sections:
        if section.kind != "disposition" or not names_days(narrator, section):
            continue
        for occurrence in narrator.find_occurrences(section.body_start, section.end):
            estimate = narrator.estimates.get(occurrence.uid)
            if (
                estimate is None
                or estimate.time is None
                or estimate.strength is not Strength.EXPLICIT
            ):
                continue
            if estimate.time > (found.time if found and found.time else 0.0):
                found = replace(estimate, rule="discharge")
    return found


def names_days(narrator: Narrator, section: Section) -> bool:
    """Return whether a section counts or dates days.

    Example: "left TSICU HD5 evening".
    """
    return counts_days(narrator, section.body_start, section.end)


def counts_days(narrator: Narrator, start: int, end: int) -> bool:
    """Return whether the text between two offsets counts or dates a day."""
    return any(
        e.day is not None and e.day.basis in COUNTED for e in narrator.find_times(start, end)
    )


def same_lab_days(narrator: Narrator) -> frozenset[int]:
    """Calendar days of the course with a value that the discharge labs repeat."""
    days: set[int] = set()
    analysis, calendar = narrator.analysis, narrator.resolver.calendar
    labs = [o for o in narrator.occurrences if is_lab(o)]
    final = [o for o in labs if analysis.section_at(o.start or 0).kind == "results_discharge"]
    earlier = [o for o in labs if find_frame(analysis.section_at(o.start or 0)) is Frame.COURSE]
    for one in final:
        for other in earlier:
            estimate = narrator.estimates.get(other.uid)
            alike = numbers(one.mention) & numbers(other.mention) and concepts(
                one.mention
            ) & concepts(other.mention)
            if (
                alike
                and estimate
                and estimate.time is not None
                and estimate.strength is Strength.EXPLICIT
            ):
                days.add(calendar.day_of(estimate.time))
    return frozenset(days)
