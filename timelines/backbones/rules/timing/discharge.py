"""When the stay ended, as far as the note alone tells."""

from __future__ import annotations

import re

from timelines.backbones.rules.text import Analysis
from timelines.backbones.rules.timing.clock import Calendar
from timelines.backbones.rules.timing.estimate import Estimate, Strength
from timelines.backbones.rules.timing.terms import Basis, Kind, TimeExpression

#: Usual clock hour of leaving, and the hours it ranges over.
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
COUNTED = (Basis.HOSPITAL, Basis.POSTOP, Basis.DATE, Basis.UNIT)
_DEATH = re.compile(r"\b(?:expired|died|passed\s+away|pronounced|time\s+of\s+death)\b", re.IGNORECASE)
_HEADER_DATE = re.compile(r"discharge\s+date\s*:\s*|date\s+of\s+discharge\s*:\s*", re.IGNORECASE)


def discharge_estimate(
    analysis: Analysis,
    calendar: Calendar,
    dated: list[tuple[TimeExpression, int, float]],
    told_by_problem: bool,
    course: tuple[int, int],
    disposition: Estimate | None = None,
    same_labs: frozenset[int] = frozenset(),
) -> Estimate:
    """Discharge in hours from admission.

    `dated`: expressions that were resolved, with their calendar day and hours; `disposition`: the last
    dated statement of the disposition; `same_labs`: days whose values are those of the discharge labs.
    An explicit day of leaving decides; a chronological story ends on its last day; notes told by
    problem stop naming days before the end, so the day after the last one named.
    """
    text = analysis.text
    header = _header_day(text, dated)
    if header is not None:
        return _on_day(calendar, header, "the discharge date of the note", True)
    for e, day, hours in dated:
        sentence = analysis.sentence_at(e.start)
        if sentence is None or e.kind is not Kind.POINT or e.day is None or e.day.basis not in COUNTED:
            continue
        before = text[max(sentence.start, e.start - 60) : e.start]
        if day >= 0 and _LEAVING.search(before) and not re.search(r"[,;.].*[,;.]", before):
            if e.part is not None and (_DEATH.search(before) or hours >= 0):
                return Estimate(
                    hours, hours - 2, hours + 2, Strength.EXPLICIT, "discharge", f"“{e.text}” after a word of leaving", known=True
                )
            return _on_day(calendar, day, f"“{e.text}” after a word of leaving", True)
    if disposition is not None:
        return disposition
    inside = [(e, day) for e, day, hours in dated if course[0] <= e.start < course[1] and 0 <= day < 400]
    named = [day for e, day in inside if e.day is not None and e.day.basis in COUNTED]
    last = max(named or [day for _, day in inside], default=None)
    if last is None:
        return Estimate(72.0, 12.0, None, Strength.DEFAULT, "discharge", "no day of the stay is named: a usual length of stay")
    if told_by_problem and last not in same_labs:
        return _on_day(calendar, last + 1, "the day after the last one that the note names", False)
    return _on_day(calendar, last, "the last day that the course tells of", False)


def _header_day(text: str, dated: list[tuple[TimeExpression, int, float]]) -> int | None:
    for match in _HEADER_DATE.finditer(text):
        for e, day, _ in dated:
            if e.day is not None and e.day.basis is Basis.DATE and 0 <= e.start - match.end() <= 3 and 0 <= day < 400:
                return day
    return None


def _on_day(calendar: Calendar, day: int, words: str, sure: bool) -> Estimate:
    start = calendar.midnight(day)
    spread = 0.0 if sure else 24.0
    time = max(start + _HOUR, 2.0)
    return Estimate(
        time, max(start + _EARLY - spread, 0.0), start + _LATE + spread, Strength.RELATIVE, "discharge", f"discharge: {words}", known=sure
    )
