"""Date tables and lists of results by the labels of their lines.

Examples: "HD4 AM", "ED", "CSF:", "TTE (HD2):".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from timelines.backbones.rules.sections.headings import Section
from timelines.backbones.rules.text import Sentence
from timelines.backbones.rules.timing.anchors.cursor import Cursor
from timelines.backbones.rules.timing.anchors.milestones import Place, find_place
from timelines.backbones.rules.timing.anchors.points import Moment
from timelines.backbones.rules.timing.anchors.resolver import Resolver
from timelines.backbones.rules.timing.estimate import SECTION, Estimate, Strength
from timelines.backbones.rules.timing.narrative import Narrator

_LABEL = re.compile(r"\s*([^\s:][^:\n]{0,40}?)(?::|\s{3,})")
_OTHER_LABEL = re.compile(r"[^\s:][^:\n]{0,30}:\s")
_AT_DISCHARGE = re.compile(r"(?:disch|d/?c\b|final)", re.IGNORECASE)
_AT_ADMISSION = re.compile(r"(?:adm|ed\b|initial|arrival|presentation)", re.IGNORECASE)
#: Clock hour of the last bloods before discharge.
_LAST_HOUR = 6.0
#: The latest time of an undated result of the stay (hours).
_UNDATED = 24.0


def place_results(
    section: Section,
    narrator: Narrator,
    resolver: Resolver,
    place: Callable[[Sentence, Moment], None],
) -> None:
    """Date a section of results with `place`, line by line.

    A label at the head of a line dates the whole line.
    """
    text = narrator.analysis.text
    first = _moment(
        resolver, _estimate_time(resolver, section.kind, text[section.start : section.body_start])
    )
    line, moment = -1, first
    for sentence in narrator.sentences(section):
        labelled = _find_label_moment(sentence, narrator, resolver, heads=sentence.line != line)
        if labelled is not None or sentence.line != line:
            if (
                labelled is None
                and line >= 0
                and _OTHER_LABEL.match(text[sentence.start : sentence.end])
            ):
                labelled = _moment(resolver, _estimate_time(resolver, "results", ""))
            moment, line = labelled or first, sentence.line
        place(sentence, moment)


def place_rows(section: Section, narrator: Narrator, resolver: Resolver) -> None:
    """Date the entries of tables by the date of their row or column.

    An entry whose date cannot be read is undated.
    """
    default = _estimate_time(resolver, section.kind, "")
    for row in narrator.analysis.rows:
        if not section.start <= row.start < section.end:
            continue
        for item in row.items:
            estimate = _row_moment(item.when, narrator, resolver) or default
            for occurrence in narrator.find_occurrences(item.start, item.end):
                narrator.estimates[occurrence.uid] = (
                    narrator.estimate_moment(occurrence, estimate)
                    if isinstance(estimate, Moment)
                    else estimate
                )


def _row_moment(
    when: tuple[tuple[int, int], ...], narrator: Narrator, resolver: Resolver
) -> Moment | None:
    """Return the moment of a date, with the clock time of another cell."""
    times = [e for start, end in when for e in narrator.find_times(start, end)]
    day = next((e for e in times if e.day is not None), None)
    if day is None:
        return None
    if day.part is None:
        day = replace(day, part=next((e.part for e in times if e.part is not None), None))
    return resolver.resolve(day, Cursor(0.0, 0.0, None, 0), past=False)


def _moment(resolver: Resolver, estimate: Estimate) -> Moment:
    return Moment(estimate, resolver.calendar.day_of(estimate.time or 0.0))


def _estimate_time(resolver: Resolver, kind: str, title: str) -> Estimate:
    leaving = resolver.milestones.at(Place.DISCHARGE)
    end = max(leaving.time or 72.0, 0.0)
    if kind == "results_discharge":
        time = max(resolver.calendar.midnight(resolver.calendar.day_of(end)) + _LAST_HOUR, 0.0)
        reason = "last results before discharge"
        return Estimate(
            time,
            max(time - 30, 0.0),
            max(end, time),
            Strength.PLACE,
            SECTION,
            reason,
            known=leaving.known,
        )
    if kind == "results_admission" or find_place(title) in (Place.ADMISSION, Place.EMERGENCY):
        time = (resolver.milestones.at(Place.EMERGENCY).time or 0.0) * 0.5
        return Estimate(
            time,
            min(-6.0, time),
            max(2.0, time),
            Strength.PLACE,
            SECTION,
            "first results on arrival",
            known=True,
        )
    return Estimate(
        min(_UNDATED, end / 2), -3.0, end, Strength.DEFAULT, SECTION, "undated result of the stay"
    )


def _find_label_moment(
    sentence: Sentence, narrator: Narrator, resolver: Resolver, *, heads: bool
) -> Moment | None:
    """Return the moment that a label names.

    An occurrence named by a label dates only the line that the label begins.
    """
    label = _LABEL.match(narrator.analysis.text[sentence.start : sentence.end])
    if label is None:
        return None
    for e in narrator.find_times(sentence.start, sentence.start + label.end()):
        moment = (
            resolver.resolve(e, Cursor(0.0, 0.0, None, 0), past=False)
            if e.day is not None or (e.part is not None and not e.linked)
            else None
        )
        if moment is not None:
            return moment
    estimate = _occasion(label[1], sentence, resolver, heads=heads)
    return None if estimate is None else _moment(resolver, estimate)


def _occasion(
    words: str, sentence: Sentence, resolver: Resolver, *, heads: bool
) -> Estimate | None:
    """Return the time of an occasion that a label names.

    It is a station of the stay, or a dated occurrence ("CSF" and the puncture).
    """
    if _AT_DISCHARGE.match(words):
        return _estimate_time(resolver, "results_discharge", words)
    if _AT_ADMISSION.match(words):
        return _estimate_time(resolver, "results_admission", words)
    place = find_place(words)
    if place in (Place.UNIT, Place.FLOOR, Place.OUTSIDE):
        return replace(
            resolver.milestones.at(place).shift(1.0, 0.0, 3.0),
            rule=SECTION,
            reason=f"results labelled “{words}”",
        )
    found = resolver.index.find(words, sentence.start, whole=True) if heads else None
    if (
        found is None
        or found[1].strength < Strength.INHERITED
        or sentence.start <= (found[0].start or 0) < sentence.end
    ):
        return None
    other, estimate = found
    reason = f"result of “{other.mention}”"
    return replace(
        estimate,
        strength=Strength.DEFAULT,
        rule="event",
        known=False,
        reason=reason,
        context=(other.uid,),
    )
