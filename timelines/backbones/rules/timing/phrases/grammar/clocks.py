"""Clock times and parts of the day.

Examples: "at 0315", "shortly after three", "late that same afternoon".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from timelines.backbones.rules.timing.phrases.daypart import BASE, clock_part, find_part
from timelines.backbones.rules.timing.phrases.quantities import (
    QUANTITY,
    is_amount,
    number,
    parse_quantity,
)
from timelines.backbones.rules.timing.phrases.terms import Kind, TimeExpression

_I = re.IGNORECASE
_PART = re.compile(
    rf"(?<![\w-])(?:in\s+|on\s+|by\s+|until\s+|at\s+|from\s+|around\s+|about\s+|overnight\s+(?=into))?"
    rf"(?P<mod>very\s+early|early|first\s+thing|late|mid(?!\s*-?\s*night)|the\s+middle\s+of|"
    rf"middle\s+of|end\s+of|toward(?:s)?(?:\s+the\s+end\s+of)?|pre|(?:(?:just|shortly|soon|right|"
    rf"immediately|a\s+little|a\s+bit)\s+)?(?:before|after|past|prior\s+to))?(?:[\s-]+|(?<=mid)|"
    rf"(?<=pre)|(?<!\S))"
    rf"(?:in\s+|on\s+|of\s+)?(?P<link>(?:the\s+|that\s+|this\s+)?(?:next|following|subsequent|"
    rf"very\s+next|first|same|previous|prior|preceding|second)|that\s+very|that|this|the|each|"
    rf"every)?\s*"
    rf"(?P<mod2>early|late|mid(?!\s*-?\s*night)|very\s+early)?[\s-]*(?:\b|(?<=mid)|(?<=pre))(?P<base>{BASE})(?!\w)",
    _I,
)
_HOUR_WORD = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_NEAR = (
    r"(?P<near>just\s+before|shortly\s+before|a\s+little\s+before|before|just\s+after|shortly\s+after|"
    r"soon\s+after|a\s+little\s+after|after|past|by|until|around|about|approximately|at|~|@|"
    r"near|toward)?\s*(?:about\s+|around\s+|~\s*)?"
)
_MERIDIAN_CLOCK = re.compile(
    rf"(?:{_NEAR})(?<![\d.:/-])\b(?P<h>1[0-2]|0?[1-9]|{_HOUR_WORD})(?:[:.](?P<min>[0-5]\d))?\s*(?:o'?clock\s+)?(?:(?P<mer>[ap]\.?\s?m\b\.?)|"
    rf"(?:in\s+the|that|this|the\s+next|the\s+following)\s+(?P<day>(?:early\s+)?morning|afternoon|"
    rf"evening)|at\s+(?P<night>night))",
    _I,
)
_MILITARY = re.compile(
    r"(?P<near>at|by|around|about|until|from|before|after|since|~|@|approximately)\s*(?:about\s+|"
    r"around\s+|~\s*)?(?P<h>[01]\d|2[0-3]):?(?P<min>[0-5]\d)\b(?!\s*(?:ml|mg|cc|units?|kg|mcg|"
    r"g\b|/|%|k\b|cal))(?:\s*(?:h\b|hrs?\b|hours\b))?",
    _I,
)
_COLON_CLOCK = re.compile(
    r"(?P<near>)(?<![\d:/.])\b(?P<h>[01]?\d|2[0-3]):(?P<min>[0-5]\d)(?![\d:])", _I
)
#: Words that make an hour of them a number of something ("after two doses").
_COUNTED = (
    r"(?!\s*[-–/%]|\s+(?:hours?|hrs?|days?|weeks?|months?|years?|minutes?|mins?|of|out|or|to|doses?|units?|"
    r"m[lg]\b|l\b|lit(?:er|re)s?|percent|per|times|more|other|attempts?|runs?|beats?|cycles?|patients?|"
    r"\w+s\b(?<!was)(?<!his)(?<!is)(?<!has))|\s+\d)"
)
_SPOKEN = re.compile(
    rf"(?:(?P<near>just\s+before|shortly\s+before|a\s+little\s+before|just\s+after|shortly\s+after|"
    rf"soon\s+after|a\s+little\s+after|half\s+past)\s+(?:about\s+|around\s+)?(?P<h>{_HOUR_WORD})\b{_COUNTED}|"
    rf"(?P<near2>before|after|by|until|around|about|at|toward)\s+(?:about\s+|around\s+)?(?P<h2>{_HOUR_WORD})"
    rf"(?P<oclock>\s+o'?clock)?(?=\s*(?:[,.;)]|$|\s(?:and|that|on|the|he|she|they|it|his|her|but|when|with|"
    rf"for|from|was|were|had|showed|at|a|an|in\s+(?:the|his|her))\b)))",
    _I,
)
#: "a quarter past six", "ten to four", "a few minutes before six".
_PAST_HOUR = re.compile(
    rf"(?:\b(?:at|by|around|about|until|from)\s+)?\b(?P<q>(?:a\s+)?quarter|half|five|ten|twenty|twenty-five|"
    rf"(?:a\s+few|{_HOUR_WORD}|twenty)\s+minutes)\s+(?P<rel>past|to|before|after|of)\s+"
    rf"(?P<h>{_HOUR_WORD}|mid ?night|noon)\b{_COUNTED}",
    _I,
)
#: Four digits without a colon; the note's habit decides whether they are a clock time.
_PLAIN = re.compile(r"(?<![\w/.,:#+-])(?P<h>[01]\d|2[0-3])(?P<min>[0-5]\d)(?![\w/%:-]|[.,]\d)")
_AFTER_DAY = re.compile(
    r"[\s,]*(?:at\s+|@\s*|~\s*)?(?P<h>[01]\d|2[0-3])(?P<min>[0-5]\d)(?![\w/%:-]|[.,]\d)", _I
)
_UNIT_BEHIND = re.compile(r"\s*(?:ml|mg|cc|units?|kg|mcg|g\b|cal|kcal|l\b|meq)", _I)
_QUANTIFIED_CLOCK = re.compile(
    rf"(?P<q>{QUANTITY})\s+(?P<rel>before|after|past|prior\s+to)\s+(?P<base>mid ?night|noon|mid"
    r" ?day|dawn|sun ?rise)\b",
    _I,
)


def find_quantified_clocks(text: str) -> list[TimeExpression]:
    """Return clock times that are given by their distance from another.

    Example: "Half an hour before midnight".
    """
    found: list[TimeExpression] = []
    for m in _QUANTIFIED_CLOCK.finditer(text):
        quantity, part = parse_quantity(m["q"]), find_part("", m["base"])
        if quantity and part:
            sign = 1 if m["rel"].lower() in ("after", "past") else -1
            found.append(
                TimeExpression(
                    m.start(), m.end(), Kind.POINT, part=part.shift(sign * quantity.hours)
                )
            )
    return found


def find_clocks(text: str, full_day: bool = True) -> list[TimeExpression]:
    """Return stated clock times.

    A spoken hour without morning or evening is marked ambiguous, and "8:22" unless the note uses a
    24-hour clock (`full_day`).
    """
    found: list[TimeExpression] = []
    for pattern in (_MERIDIAN_CLOCK, _MILITARY, _COLON_CLOCK, _SPOKEN):
        for m in pattern.finditer(text):
            expression = _clock(m, pattern, full_day)
            if expression is not None:
                found.append(expression)
    return found


def find_plain_clocks(
    text: str, days: Sequence[TimeExpression], everywhere: bool
) -> list[TimeExpression]:
    """Return clock times of four digits without a colon.

    Those directly behind one of `days` ("13-APR 2100"), those with a leading zero, and the others
    if the note writes clock times this way (`everywhere`).
    """
    behind = [m for e in days if (m := _AFTER_DAY.match(text, e.end))]
    behind += [
        m
        for m in _PLAIN.finditer(text)
        if (everywhere or (m["h"].startswith("0"))) and not is_amount(text, m.start(), m.end())
    ]
    parts = [(m, int(m["h"]) + int(m["min"]) / 60) for m in behind]
    return [
        TimeExpression(
            m.start("h"), m.end(), Kind.POINT, part=clock_part(hour, hour - 0.25, hour + 0.25)
        )
        for m, hour in parts
        if not _UNIT_BEHIND.match(text, m.end())
    ]


def find_hours_past(text: str) -> list[TimeExpression]:
    """Return clock times such as "a quarter past six", "ten to four"."""
    found: list[TimeExpression] = []
    for m in _PAST_HOUR.finditer(text):
        words = re.sub(r"\s+", " ", m["q"].lower())
        minutes = (
            15.0
            if "quarter" in words
            else 30.0
            if words == "half"
            else 5.0
            if "few" in words
            else number(words.split()[0])
        )
        base = find_part("", m["h"])
        hour = base.point if base else number(m["h"])
        if minutes is None or hour is None:
            continue
        sign = 1 if m["rel"].lower() in ("past", "after") else -1
        point = hour + sign * minutes / 60
        part = clock_part(point, point - 0.25, point + 0.25)
        found.append(
            TimeExpression(m.start(), m.end(), Kind.POINT, part=part, ambiguous_clock=base is None)
        )
    return found


def _clock(m: re.Match[str], pattern: re.Pattern[str], full_day: bool) -> TimeExpression | None:
    groups = m.groupdict()
    spoken = groups.get("h") or groups.get("h2") or ""
    hour = number(spoken)
    if hour is None:
        return None
    hour += int(groups.get("min") or 0) / 60
    if (
        (groups.get("day") or groups.get("night"))
        and spoken.isdigit()
        and not groups.get("near")
        and ":" not in m.group()
    ):
        return None  # "metoprolol 25 the next morning", "up to 10 that evening": a dose, no hour
    meridian = re.sub(r"[^apm]", "", (groups.get("mer") or "").lower())
    day = (groups.get("day") or "").lower()
    afternoon = (
        meridian == "pm" or day in ("afternoon", "evening") or (groups.get("night") and hour >= 6)
    )
    short = pattern is _COLON_CLOCK and 1 <= hour < 13 and not spoken.startswith("0")
    ambiguous = pattern is _SPOKEN or (short and not full_day)
    if pattern is _MERIDIAN_CLOCK:
        hour = hour % 12 + (12 if afternoon else 0)
    near = groups.get("near") or groups.get("near2") or ""
    near = re.sub(r"\s+", " ", near.strip().lower())
    if not near and re.match(r"\s*(?:about|around|~)", m.group(), _I):
        near = "around"
    shift, slack = _nearness(near)
    if near == "half past":
        hour, shift = hour + 0.5, 0.0
    point = hour + shift
    linked = (
        "this"
        if re.search(r"\bthis\b", m.group(), _I)
        else "that"
        if re.search(r"\bthat\b", m.group(), _I)
        else "next"
        if re.search(r"\b(?:next|following)\b", m.group(), _I)
        else ""
    )
    part = clock_part(point, point - slack, point + slack)
    return TimeExpression(
        m.start(), m.end(), Kind.POINT, part=part, linked=linked, ambiguous_clock=ambiguous
    )


def _nearness(near: str) -> tuple[float, float]:
    """Return (offset from the stated hour, precision) of a wording.

    Both in hours.
    """
    if near in ("just before", "shortly before", "a little before"):
        return -0.2, 0.5
    if near in ("just after", "shortly after", "soon after", "a little after"):
        return 0.2, 0.5
    if near == "before":
        return -0.5, 1.5
    if near in ("after", "past"):
        return 0.4, 1.5
    return 0.0, 0.5 if near in ("around", "about", "~", "approximately", "near", "toward") else 0.25


def find_parts(text: str) -> list[TimeExpression]:
    """Return parts of the day with their modifiers.

    Each has its link to the current day ("that", "next", …).
    """
    found: list[TimeExpression] = []
    for m in _PART.finditer(text):
        base, raw = m["base"], m["base"].strip(".")
        if (
            raw.lower() in ("am", "pm", "eve")
            and not raw.isupper()
            and not re.search(
                r"(?:the|this|that|next|mid|early|late)[\s-]*$", text[: m.start("base")], _I
            )
        ):
            continue
        if re.fullmatch(r"each|every", m["link"] or "", _I):
            continue
        modifier = re.sub(
            r"\s+", " ", (m["mod2"] or m["mod"] or "").replace("the middle", "middle").lower()
        )
        part = find_part(modifier, re.sub(r"\s+", " ", base))
        if part is None:
            continue
        link = _link(m["link"] or "")
        found.append(
            TimeExpression(_find_start(text, m), m.end(), Kind.POINT, part=part, linked=link)
        )
    return found


def _find_start(text: str, m: re.Match[str]) -> int:
    return m.start() + len(m.group()) - len(m.group().lstrip())


def _link(words: str) -> str:
    words = words.lower()
    for key, link in (
        ("next", "next"),
        ("following", "next"),
        ("subsequent", "next"),
        ("first", "first"),
        ("second", "second"),
    ):
        if key in words:
            return link
    if re.search(r"previous|prior|preceding", words):
        return "previous"
    if re.match(r"this\b(?!.*same)", words):
        return "this"
    return "that" if re.search(r"that|this|same", words) else ""
