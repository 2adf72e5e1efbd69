"""Named days and dates.

Hospital and postoperative days, "the next day", weekdays and calendar dates.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from timelines.backbones.rules.sentences import DOTTED_DATE
from timelines.backbones.rules.timing.phrases.bare_dates import (
    BARE_DATE,
    is_share,
    parse_day,
)
from timelines.backbones.rules.timing.phrases.daypart import BASE, find_part
from timelines.backbones.rules.timing.phrases.quantities import number
from timelines.backbones.rules.timing.phrases.terms import Basis, Day, Kind, TimeExpression

_I = re.IGNORECASE
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH_NAME = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUM = (
    r"(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen)"
)
_ORD = (
    r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\d{1,2}(?:st|nd|rd|th))"
)
_ORDINALS = (
    "zeroth",
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
)
_UNIT_NAME = r"(?:[a-z]{0,6}icu|ccu|unit|cvicu|intensive care)"
_RANGE = rf"(?P<n>{_NUM})(?:\s*(?:-|–|to|into)\s*(?:hd|pod)?\s*#?\s*(?P<until>\d{{1,2}}))?"
_EVENT_DAY = (
    r"(?:her\s+|his\s+|the\s+|this\s+)?(?:admission|presentation|arrival|transfer|discharge|"
    r"d/?c|surgery|operation|procedure|the\s+operation|the\s+procedure|injury|accident|fall)"
)

_DAY_PATTERNS: tuple[tuple[re.Pattern[str], Basis], ...] = (
    (
        re.compile(
            rf"\b(?:hd|hospital\s+day|hosp\.?\s+day|day\s+of\s+hospitali[sz]ation|day\s+of\s+admission)\s*(?:\(hd\)\s*)?(?:number\s+|"
            rf"no\.?\s*)?#?\s*{_RANGE}\b(?![./]\d)",
            _I,
        ),
        Basis.HOSPITAL,
    ),
    (re.compile(rf"\b(?P<n>{_ORD})\s+(?:hospital|hosp\.?)\s+day\b", _I), Basis.HOSPITAL),
    (
        re.compile(
            rf"\b(?:pod|post-?\s?(?:op(?:erative)?|procedure|procedural|surgical)\s+day)\s*(?:\(pod\)\s*)?(?:number\s+|"
            rf"no\.?\s*)?#?\s*{_RANGE}\b",
            _I,
        ),
        Basis.POSTOP,
    ),
    (
        re.compile(
            rf"\b(?P<n>{_ORD})\s+post-?\s?(?:op(?:erative)?|procedure|procedural|surgical)\s+day\b",
            _I,
        ),
        Basis.POSTOP,
    ),
    (
        re.compile(
            rf"\b(?P<what>{_UNIT_NAME}|vent(?:ilator)?|abx|antibiotics?)\s+day\s*#?\s*{_RANGE}\b",
            _I,
        ),
        Basis.UNIT,
    ),
    (re.compile(rf"\bon\s+(?:the\s+)?(?P<n>{_ORD})\s+day\b(?!\s+of)", _I), Basis.HOSPITAL),
    (
        re.compile(rf"\b(?:since|by|until)\s+the\s+(?P<n>{_ORD})\s+day\b(?!\s+of)", _I),
        Basis.HOSPITAL,
    ),
    (re.compile(rf"\b(?:on\s+|by\s+)day\s+#?{_RANGE}\b(?!\s*(?:/|of))", _I), Basis.HOSPITAL),
)
_FULL_DATE = re.compile(r"(?:\[\*\*)?\b(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})\b(?:\*\*\])?")
_SLASH_DATE = re.compile(
    r"(?:\[\*\*\s*)?(?<![\d/.])\b(?P<m>1[0-2]|0?[1-9])(?:/|(?<=\*\*\d)-|(?<=\*\*\d\d)-)(?P<d>3[01]|"
    r"[12]\d|0?[1-9])(?:/(?P<y>\d{4}|\d{2}))?\b(?![/%]|\.\d)(?:\s*\*\*\])?"
)
_SLASH_CUE = re.compile(
    r"(?:\b(?:on|since|from|until|by|dated?|through|thru)\s+(?:the\s+)?|\[\*\*\s*|date:\s*)$", _I
)
_NAMED_DATE = re.compile(
    rf"\b(?P<m>{'|'.join(MONTHS)})[a-z]{{0,6}}\.?\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<y>\d{{4}}))?\b",
    _I,
)
#: "6 November", "14 March 2180", "13-APR", "13-APR-2153". After a hyphenated month, four digits
#: behind a space are a clock time.
_DAY_FIRST_DATE = re.compile(
    rf"(?<![\w/.:-])(?P<d>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?:"
    rf"-(?P<hm>{'|'.join(MONTHS)})[a-z]{{0,6}}(?:-(?P<hy>\d{{4}}|\d{{2}}))?|"
    rf"\s+(?:of\s+)?(?P<m>{MONTH_NAME})\.?(?:,?\s+(?P<y>(?:19|2[0-3])\d\d)(?!\s*(?:h\b|hours)))?)\b",
    _I,
)
#: "on the 9th", "the morning of the 8th": a day of the month of the stay.
_DAY_OF_MONTH = re.compile(
    r"\b(?:on|of|since|from|until|till|into|by|through|to|between|and|before|after)\s+the\s+(?P<d>\d{1,2})(?:st|nd|rd|th)\b"
    r"(?![\s-]+(?:hospital|hosp|post|day|dose|time|rib|nerve|cranial|intercostal|inter|meta|toe|finger|"
    r"digit|ventricle|vertebra\w*|lumbar|thoracic|cervical|sacral|percentile|floor|grade|week|month|year|"
    r"cycle|course|unit|admission|episode|degree|decade|century|generation|line|attempt|interspace|"
    r"trimester|ray|proximal|distal|(?:and|or|to)\s+\d{1,2}(?:st|nd|rd|th)\s+(?:rib|toe|finger|digit|meta)))",
    _I,
)
_WEEKDAY = re.compile(rf"\b(?:on\s+|last\s+|this\s+)?(?P<w>{'|'.join(_WEEKDAYS)})s?\b", _I)
_RELATIVE_DAY = re.compile(
    r"\b(?:(?:(?:on\s+)?the\s+)?(?P<same>(?:very\s+)?same\s+day)|(?P<that>(?:on|later|earlier|late|"
    r"early)?\s*(?:that|this)\s+(?:same\s+)?day)|(?P<today>today)|(?P<tomorrow>tomorrow)|(?P<yest>yesterday|"
    r"yest\b)|"
    r"(?:(?:on\s+|by\s+|late\s+|early\s+)?the\s+)?(?P<next>(?:next|following|subsequent)\s+day|"
    r"day\s+(?:after(?!\s+\w+\s*(?:ion|ge|al))|thereafter)|(?<=by\s)next\s+day)|"
    r"(?:on\s+)?the\s+(?P<prev>(?:previous|prior|preceding)\s+day|day\s+(?:before|prior|earlier|"
    r"previous)(?!\s+(?:admission|presentation|surgery|transfer|discharge|the\s))))",
    _I,
)
#: "final AM", "on the last morning", "the discharge morning": the day of leaving.
_FINAL_DAY = re.compile(
    r"\b(?:(?:the\s+)?final\s+(?P<what>day|am|morning|afternoon|evening|night)|(?:on|by|until|from)\s+the\s+"
    r"last\s+(?:hospital\s+)?(?P<last>day|morning|afternoon|evening)|(?:the\s+)?discharge\s+(?P<part>am|morning))\b"
    r"(?!\s+(?:of|before|prior))",
    _I,
)
_EVENT_DAY_PATTERN = re.compile(
    rf"\b(?:the\s+)?(?P<what>day|{BASE})\s+(?P<rel>of|before|prior\s+to|after|following)\s+(?P<ref>{_EVENT_DAY})\b",
    _I,
)
#: "the morning after the puncture"; an evening after something is still of its day.
_NEAR_EVENT = re.compile(
    rf"\b(?:on\s+|by\s+)?the\s+(?P<what>day|{BASE})\s+(?P<rel>before|after|following)\s+"
    rf"(?P<ref>(?:the|his|her|that|this)\s+(?!next\b|day\b|(?:{BASE})\b)[a-z][\w-]+(?:\s+(?:of\s+)?(?!(?:and|or|but|was|were|is|had|has|with|at|on|in|to|she|he|they)\b)[\w-]+)?)",
    _I,
)
_SAME_DAY_PARTS = re.compile(r"afternoon|evening|night|eve\b|dusk", _I)
_SHIFTED_PART = re.compile(
    rf"\b(?:on\s+)?the\s+(?:(?P<mod>early|late)\s+)?(?P<base>{BASE})\s+(?P<rel>before|prior|"
    rf"after)\b(?!\s+(?:the|that|this|his|her|an?|\w+(?:ion|ed|ing))\b)",
    _I,
)
_MODIFIED_DAY = re.compile(
    r"\b(?P<mod>early|late|mid|just\s+into|first\s+thing|end\s+of)\s*-?\s*(?:on\s+|in\s+)?(?:the\s+)?$",
    _I,
)


def find_days(text: str) -> list[TimeExpression]:
    """Return named days.

    Hospital, postoperative and unit days, days of events, and days relative to the current one.
    """
    found: list[TimeExpression] = []
    for pattern, basis in _DAY_PATTERNS:
        for m in pattern.finditer(text):
            value, until = _day_number(m["n"]), m.groupdict().get("until")
            what = counted_name(m.groupdict().get("what") or "")
            if value is not None:
                day = Day(basis, value, int(until) if until else None, reference=what)
                found.append(_add_modifier(text, m, day))
    for m in _FINAL_DAY.finditer(text):
        what = m["what"] or m["last"] or m["part"]
        part = None if what.lower() == "day" else find_part("", what)
        found.append(
            TimeExpression(
                m.start(),
                m.end(),
                Kind.POINT,
                day=Day(Basis.EVENT, 0, reference="discharge"),
                part=part,
            )
        )
    for m in _EVENT_DAY_PATTERN.finditer(text):
        shift = {"of": 0, "before": -1, "prior to": -1}.get(
            re.sub(r"\s+", " ", m["rel"].lower()), 1
        )
        what = m["what"] or m["part"]
        part = None if what.lower() == "day" else find_part("", what)
        found.append(
            TimeExpression(
                m.start(),
                m.end(),
                Kind.POINT,
                day=Day(Basis.EVENT, shift, reference=m["ref"]),
                part=part,
            )
        )
    for m in _NEAR_EVENT.finditer(text):
        if any(e.start < m.end() and m.start() < e.end for e in found):
            continue
        shift = -1 if m["rel"].lower() == "before" else 0 if _SAME_DAY_PARTS.match(m["what"]) else 1
        part = None if m["what"].lower() == "day" else find_part("", m["what"])
        day = Day(Basis.EVENT, shift, reference=m["ref"])
        found.append(TimeExpression(m.start(), m.end(), Kind.POINT, day=day, part=part))
    for m in _RELATIVE_DAY.finditer(text):
        shift = 1 if m["next"] or m["tomorrow"] else -1 if m["prev"] or m["yest"] else 0
        writing = bool(m["today"] or m["tomorrow"] or m["yest"])
        found.append(_add_modifier(text, m, Day(Basis.CURRENT, shift, writing=writing)))
    for m in _SHIFTED_PART.finditer(text):
        part = find_part(m["mod"] or "", m["base"])
        shift = 1 if m["rel"].lower() == "after" else -1
        found.append(
            TimeExpression(m.start(), m.end(), Kind.POINT, day=Day(Basis.CURRENT, shift), part=part)
        )
    return found


def counted_name(words: str) -> str:
    """Return what days are counted of, "" for nothing.

    It is "unit", "ventilator" or "antibiotics".
    """
    word = words.lower()
    if not word:
        return ""
    return "ventilator" if word.startswith("vent") else "antibiotics" if word[0] == "a" else "unit"


def _day_number(text: str) -> int | None:
    word = text.lower()
    if word in _ORDINALS:
        return _ORDINALS.index(word)
    value = number(re.sub(r"(?:st|nd|rd|th)$", "", word) if word[0].isdigit() else word)
    return None if value is None else int(value)


def _add_modifier(text: str, m: re.Match[str], day: Day) -> TimeExpression:
    before = _MODIFIED_DAY.search(text, max(0, m.start() - 20), m.start())
    part = find_part(before["mod"], "day") if before else None
    return TimeExpression(
        before.start() if before else m.start(), m.end(), Kind.POINT, day=day, part=part
    )


def find_dates(
    text: str,
    bare: Callable[[Day], bool] | None = None,
    dotted: Callable[[re.Match[str]], bool] | None = None,
) -> list[TimeExpression]:
    """Return calendar dates and weekdays.

    A bare "3/14" needs a word before it that makes it a date, or `bare` must accept it; "26.8." must
    be accepted by `dotted`.
    """
    found: list[TimeExpression] = []
    for m in DOTTED_DATE.finditer(text):
        if m["y"] or (dotted is not None and dotted(m)):
            dated = Day(
                Basis.DATE, int(m["d"]), month=int(m["m"]), year=int(m["y"]) if m["y"] else None
            )
            found.append(TimeExpression(m.start(), m.end(), Kind.POINT, day=dated))
    if bare is not None:
        dates = [
            m for m in BARE_DATE.finditer(text) if not is_share(text, m) and bare(parse_day(m))
        ]
        found += [TimeExpression(m.start(), m.end(), Kind.POINT, day=parse_day(m)) for m in dates]
    for m in _DAY_FIRST_DATE.finditer(text):
        month, year = (m["hm"] or m["m"]).lower(), m["hy"] or m["y"]
        day = Day(
            Basis.DATE,
            int(m["d"]),
            month=MONTHS.index(month[:3]) + 1,
            year=int(year) if year else None,
        )
        found.append(TimeExpression(m.start(), m.end(), Kind.POINT, day=day))
    for m in _DAY_OF_MONTH.finditer(text):
        if 1 <= int(m["d"]) <= 31:
            day = Day(Basis.DATE, int(m["d"]))
            found.append(TimeExpression(m.start(), m.end(), Kind.POINT, day=day))
    for pattern in (_FULL_DATE, _NAMED_DATE, _SLASH_DATE):
        for m in pattern.finditer(text):
            if pattern is _SLASH_DATE and not (
                m["y"]
                or m.group().startswith("[")
                or _SLASH_CUE.search(text, max(0, m.start() - 12), m.start())
            ):
                continue
            month = MONTHS.index(m["m"].lower()[:3]) + 1 if m["m"].isalpha() else int(m["m"])
            year = None if not m["y"] else int(m["y"])
            if 1 <= month <= 12 and 1 <= int(m["d"]) <= 31:
                found.append(
                    TimeExpression(
                        m.start(),
                        m.end(),
                        Kind.POINT,
                        day=Day(Basis.DATE, int(m["d"]), month=month, year=year),
                    )
                )
    for m in _WEEKDAY.finditer(text):
        found.append(
            TimeExpression(
                m.start(),
                m.end(),
                Kind.POINT,
                day=Day(Basis.WEEKDAY, _WEEKDAYS.index(m["w"].lower())),
            )
        )
    return found
