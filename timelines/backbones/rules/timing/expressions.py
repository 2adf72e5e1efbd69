"""The grammar of time expressions: finds them in text and says what they mean, without resolving them.

"late morning HD#2" is a point: hospital day 2 with the part of the day. "two hours after intubation"
is an offset from something named. "3-day history" is a span. Resolution against a cursor, the
anchor and other occurrences happens elsewhere; here only strings are looked at.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum

from timelines.backbones.rules.timing.daypart import BASE, Part, clock_part, part_of
from timelines.backbones.rules.timing.quantities import BARE_QUANTITY, QUANTITY, Quantity, number, parse_quantity


class Kind(StrEnum):
    """What an expression is."""

    POINT = "point"  # a day, a part of a day, a clock time, or their combination
    OFFSET = "offset"  # an amount of time before or after something
    EVENT = "event"  # before, after, at or during something named, without an amount
    SPAN = "span"  # how long something has lasted
    AGE = "age"  # at an age of the patient
    YEAR = "year"  # in a calendar year


class Basis(StrEnum):
    """What a named day counts from."""

    HOSPITAL = "hospital"  # number: hospital day, 1 = calendar day of admission
    POSTOP = "postop"  # number: days after the operation, 0 = its day
    UNIT = "unit"  # number: day in the unit, 1 = day of arrival there
    DATE = "date"  # month, day and perhaps year
    WEEKDAY = "weekday"  # number: Monday = 0
    CURRENT = "current"  # number: days after the day spoken of
    EVENT = "event"  # reference: the day of something named, plus number


class Anchoring(StrEnum):
    """What an offset or relation refers to when nothing is named."""

    ADMISSION = "admission"  # "ago", "PTA"
    CURSOR = "cursor"  # "two hours later"
    REFERENCE = "reference"  # "two hours after intubation"


@dataclass(frozen=True, slots=True)
class Day:
    """A named day, unresolved. `until` is the last number of a range ("HD5-6")."""

    basis: Basis
    number: int = 0
    until: int | None = None
    month: int | None = None
    year: int | None = None
    reference: str = ""


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """One time expression, `[start, end)` in the searched text.

    `direction` is −1 before, 0 at, +1 after. `reference` is the phrase that an offset or event
    expression refers to. `linked` marks anaphoric parts of the day: "that" (same day), "next",
    "previous", "first" (the first one in hospital). `loose` marks "within": anywhere inside.
    """

    start: int
    end: int
    kind: Kind
    text: str = ""
    day: Day | None = None
    part: Part | None = None
    linked: str = ""
    ambiguous_clock: bool = False
    quantity: Quantity | None = None
    direction: int = 0
    anchoring: Anchoring = Anchoring.CURSOR
    reference: str = ""
    loose: bool = False
    age: tuple[float, float] | None = None
    year: int | None = None


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_I = re.IGNORECASE

_NUM = r"(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen)"
_ORD = r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\d{1,2}(?:st|nd|rd|th))"
_ORDINALS = ("zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_UNIT_NAME = r"(?:[a-z]{0,6}icu|ccu|unit|cvicu|intensive care)"
_RANGE = rf"(?P<n>{_NUM})(?:\s*(?:-|–|to|into)\s*(?:hd|pod)?\s*#?\s*(?P<until>\d{{1,2}}))?"
_REFERENCE = r"(?P<ref>(?!(?:with|and|by|in|on|at|but)\b)[^\s,;:.()→][^,;:()→\n]{0,60}?)(?=[,;:()→\n]|\.(?:\s|$)|\s(?:and|but|with|while|which|for|in\s+the|then|he|she|they)\b|$)"
_EVENT_DAY = (
    r"(?:her\s+|his\s+|the\s+|this\s+)?(?:admission|presentation|arrival|transfer|discharge|d/?c|surgery|operation|procedure|the\s+operation|the\s+procedure|injury|accident|fall)"
)

_DAY_PATTERNS: tuple[tuple[re.Pattern[str], Basis], ...] = (
    (re.compile(rf"\b(?:hd|hospital\s+day|hosp\.?\s+day|day\s+of\s+hospitali[sz]ation|day\s+of\s+admission)\s*(?:\(hd\)\s*)?(?:number\s+|no\.?\s*)?#?\s*{_RANGE}\b(?![./]\d)", _I), Basis.HOSPITAL),
    (re.compile(rf"\b(?P<n>{_ORD})\s+(?:hospital|hosp\.?)\s+day\b", _I), Basis.HOSPITAL),
    (re.compile(rf"\b(?:pod|post-?\s?(?:op(?:erative)?|procedure|procedural|surgical)\s+day)\s*(?:\(pod\)\s*)?(?:number\s+|no\.?\s*)?#?\s*{_RANGE}\b", _I), Basis.POSTOP),
    (re.compile(rf"\b(?P<n>{_ORD})\s+post-?\s?op(?:erative)?\s+day\b", _I), Basis.POSTOP),
    (re.compile(rf"\b{_UNIT_NAME}\s+day\s*#?\s*{_RANGE}\b", _I), Basis.UNIT),
    (re.compile(rf"\bon\s+(?:the\s+)?(?P<n>{_ORD})\s+day\b(?!\s+of)", _I), Basis.HOSPITAL),
    (re.compile(rf"\b(?:since|by|until)\s+the\s+(?P<n>{_ORD})\s+day\b(?!\s+of)", _I), Basis.HOSPITAL),
    (re.compile(rf"\b(?:on\s+|by\s+)day\s+#?{_RANGE}\b(?!\s*(?:/|of))", _I), Basis.HOSPITAL),
)
_FULL_DATE = re.compile(r"(?:\[\*\*)?\b(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})\b(?:\*\*\])?")
_SLASH_DATE = re.compile(
    r"(?:\[\*\*\s*)?(?<![\d/.])\b(?P<m>1[0-2]|0?[1-9])(?:/|(?<=\*\*\d)-|(?<=\*\*\d\d)-)(?P<d>3[01]|[12]\d|0?[1-9])(?:/(?P<y>\d{4}|\d{2}))?\b(?![/%]|\.\d)(?:\s*\*\*\])?"
)
_SLASH_CUE = re.compile(r"(?:\b(?:on|since|from|until|by|dated?|through|thru)\s+(?:the\s+)?|\[\*\*\s*|date:\s*)$", _I)
_NAMED_DATE = re.compile(
    rf"\b(?P<m>{'|'.join(_MONTHS)})[a-z]{{0,6}}\.?\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<y>\d{{4}}))?\b", _I
)
_WEEKDAY = re.compile(rf"\b(?:on\s+|last\s+|this\s+)?(?P<w>{'|'.join(_WEEKDAYS)})s?\b", _I)
_YEAR = re.compile(r"\b(?:in|since|from|until|circa|dx'?d?|dxed|diagnosed|around|of)\s+(?:early\s+|late\s+)?(?P<y>(?:1[89]|2[01])\d\d)\b(?!\s*(?:m[lg]|cc|units?|kg|g\b|h\b))|\((?P<y2>(?:19|2[01])\d\d)\)", _I)
_RELATIVE_DAY = re.compile(
    r"\b(?:(?:on\s+)?the\s+(?P<same>(?:very\s+)?same\s+day)|(?P<that>(?:on|later|earlier|late|early)?\s*(?:that|this)\s+(?:same\s+)?day)|(?P<today>today)|(?P<tomorrow>tomorrow)|(?P<yest>yesterday|yest\b)|"
    r"(?:(?:on\s+|by\s+|late\s+|early\s+)?the\s+)?(?P<next>(?:next|following|subsequent)\s+day|day\s+(?:after(?!\s+\w+\s*(?:ion|ge|al))|thereafter)|(?<=by\s)next\s+day)|"
    r"(?:on\s+)?the\s+(?P<prev>(?:previous|prior|preceding)\s+day|day\s+(?:before|prior|earlier|previous)(?!\s+(?:admission|presentation|surgery|transfer|discharge|the\s))))",
    _I,
)
_EVENT_DAY_PATTERN = re.compile(
    rf"\b(?:the\s+)?(?P<what>day|{BASE})\s+(?P<rel>of|before|prior\s+to|after|following)\s+(?P<ref>{_EVENT_DAY})\b", _I
)
_SHIFTED_PART = re.compile(rf"\b(?:on\s+)?the\s+(?:(?P<mod>early|late)\s+)?(?P<base>{BASE})\s+(?P<rel>before|prior|after)\b(?!\s+(?:the|that|this|his|her|an?|\w+(?:ion|ed|ing))\b)", _I)
_PART = re.compile(
    rf"(?<![\w-])(?:in\s+|on\s+|by\s+|until\s+|at\s+|from\s+|around\s+|about\s+|overnight\s+(?=into))?"
    rf"(?P<mod>very\s+early|early|first\s+thing|late|mid(?!\s*-?\s*night)|the\s+middle\s+of|middle\s+of|end\s+of|toward(?:s)?(?:\s+the\s+end\s+of)?|pre|(?:(?:just|shortly|soon|right|immediately|a\s+little|a\s+bit)\s+)?(?:before|after|past|prior\s+to))?(?:[\s-]+|(?<=mid)|(?<=pre)|(?<!\S))"
    rf"(?:in\s+|on\s+|of\s+)?(?P<link>(?:the\s+|that\s+|this\s+)?(?:next|following|subsequent|very\s+next|first|same|previous|prior|preceding|second)|that\s+very|that|this|the|each|every)?\s*"
    rf"(?P<mod2>early|late|mid(?!\s*-?\s*night)|very\s+early)?[\s-]*(?:\b|(?<=mid)|(?<=pre))(?P<base>{BASE})(?!\w)",
    _I,
)
_MODIFIED_DAY = re.compile(r"\b(?P<mod>early|late|mid|just\s+into|first\s+thing|end\s+of)\s*-?\s*(?:on\s+|in\s+)?(?:the\s+)?$", _I)

_HOUR_WORD = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_NEAR = r"(?P<near>just\s+before|shortly\s+before|a\s+little\s+before|before|just\s+after|shortly\s+after|soon\s+after|a\s+little\s+after|after|past|by|until|around|about|approximately|at|~|@|near|toward)?\s*(?:about\s+|around\s+|~\s*)?"
_MERIDIAN_CLOCK = re.compile(
    rf"(?:{_NEAR})(?<![\d.:/-])\b(?P<h>1[0-2]|0?[1-9]|{_HOUR_WORD})(?:[:.](?P<min>[0-5]\d))?\s*(?:o'?clock\s+)?(?:(?P<mer>[ap]\.?\s?m\b\.?)|(?:in\s+the|that|this|the\s+next|the\s+following)\s+(?P<day>(?:early\s+)?morning|afternoon|evening)|at\s+(?P<night>night))",
    _I,
)
_MILITARY = re.compile(rf"(?P<near>at|by|around|about|until|from|before|after|since|~|@|approximately)\s*(?:about\s+|around\s+|~\s*)?(?P<h>[01]\d|2[0-3]):?(?P<min>[0-5]\d)\b(?!\s*(?:ml|mg|cc|units?|kg|mcg|g\b|/|%|k\b|cal))(?:\s*(?:h\b|hrs?\b|hours\b))?", _I)
_COLON_CLOCK = re.compile(r"(?P<near>)(?<![\d:/.])\b(?P<h>[01]?\d|2[0-3]):(?P<min>[0-5]\d)(?![\d:])", _I)
_SPOKEN = re.compile(
    rf"(?P<near>just\s+before|shortly\s+before|a\s+little\s+before|just\s+after|shortly\s+after|soon\s+after|a\s+little\s+after|half\s+past|before|after|by|until|around|about|at)\s+(?:about\s+|around\s+)?(?P<h>{_HOUR_WORD})"
    rf"(?P<oclock>\s+o'?clock)?(?=\s*(?:[,.;]|$|\s(?:and|that|on|the|he|she|they|it|his|her|but|when|with)\b))",
    _I,
)
_QUANTIFIED_CLOCK = re.compile(rf"(?P<q>{QUANTITY})\s+(?P<rel>before|after|past|prior\s+to)\s+(?P<base>mid ?night|noon|mid ?day|dawn|sun ?rise)\b", _I)

_AGO = re.compile(rf"(?P<q>{QUANTITY}|{BARE_QUANTITY})\s*(?:ago|pta\b|prior\s+to\s+(?:this\s+|the\s+|her\s+|his\s+)?(?:admission|presentation|arrival|coming)|before\s+(?:this\s+|the\s+|her\s+|his\s+)?(?:admission|presentation|arrival|hospitalization|she\s+came|he\s+came|coming)(?:\s+in)?|pre-?admission)", _I)
_LATER = re.compile(rf"(?P<q>{QUANTITY}|{BARE_QUANTITY})\s*(?:later|after\s*wards?|thereafter|hence|after\s+(?:that|this|which)\b|after(?=\s*[,.;:)]|\s*$)|on\b(?=\s*[,.]))", _I)
_BEFORE = re.compile(rf"(?P<q>{QUANTITY}|{BARE_QUANTITY})\s*(?:earlier|previously|beforehand|prior(?!\s+to)|before(?=\s*[,.;:)]|\s*$|\s+(?:and|on|when|a|by|in|for|while)\b))", _I)
_FROM_REFERENCE = re.compile(rf"(?P<q>{QUANTITY}|{BARE_QUANTITY})\s*(?:(?P<rel>before|prior\s+to|after|following|post-?|into|s/p)|(?P<of>(?:of|from)(?=\s+(?:arrival|admission|presentation|transfer|reaching|starting))))\s*{_REFERENCE}", _I)
_WITHIN = re.compile(rf"\b(?:with?in|w/in|inside|in\s+under|in\s+less\s+than|in\s+the\s+space\s+of)\s+(?:the\s+(?:next\s+|first\s+)?)?(?P<q>{QUANTITY}|{BARE_QUANTITY}|hour|hr|day)\b(?:\s+(?:or\s+so|or\s+two))?(?:\s+(?:of|after|from)\s+{_REFERENCE})?", _I)
_AFTER_AN = re.compile(rf"\bafter\s+(?P<q>{QUANTITY}|{BARE_QUANTITY})(?!\s+of)", _I)
_HALF_PAST = re.compile(r"half\s+past", _I)
_HISTORY = re.compile(
    rf"(?:\b(?:for|over|x|×|during|in(?=\s+the\s+(?:past|last|previous|preceding|prior)))\s*(?:the\s+)?(?:past|last|previous|preceding|prior)?\s*(?P<q1>{QUANTITY}|{BARE_QUANTITY})(?!\s*(?:later|ago|prior|before|after|tid|bid|daily))|"
    rf"(?P<q2>{QUANTITY})\s*(?:'s?|’s?)?\s*(?:hx|h/o|history|standing|duration|course|of(?!\s+(?:arrival|admission|presentation))|w/(?=\s))\s*(?:of\b)?|"
    rf"(?:\b(?:the\s+)(?:past|last|previous)\s+)(?P<q3>{QUANTITY}|{BARE_QUANTITY})|"
    rf"(?:^|(?<=[\n:;-])|(?<=:\s)|(?<=-\s))\s*(?P<q4>{QUANTITY})(?=\s+[a-z]))",
    _I,
)
_FUTURE = re.compile(rf"\bin\s+(?P<q>{QUANTITY})(?!\s*(?:later|ago|prior|before|after))", _I)
_AGE = re.compile(
    r"\b(?:at\s+(?:the\s+)?age\s+(?:of\s+)?|at\s+)(?P<n>\d{1,2})\s*(?:years?\s+(?:old|of\s+age)|y/?o)\b|\bat\s+(?:the\s+)?age\s+(?:of\s+)?(?P<n2>\d{1,2})\b|"
    r"\b(?:(?:in|since|from|during)\s+(?:his|her|their)|since)\s+(?:(?P<third>early|mid|late)[\s-]*)?(?P<decade>[2-8]0'?s|twenties|thirties|forties|fifties|sixties|seventies|eighties|teens)\b|"
    r"\b(?:in|since|from|as\s+of|during)\s+(?:(?:his|her|their)\s+)?(?P<stage>childhood|infancy|adolescence|birth|youth)\b|"
    r"\b(?:as\s+an?|since\s+being\s+an?)\s+(?P<as>child|infant|teenager|adolescent|young\s+adult|kid|baby)\b",
    _I,
)
_AGES: dict[str, tuple[float, float]] = {
    "childhood": (4.0, 14.0), "child": (4.0, 14.0), "kid": (4.0, 14.0), "infancy": (0.0, 2.0), "infant": (0.0, 2.0), "baby": (0.0, 2.0), "birth": (0.0, 0.1),
    "teens": (13.0, 19.0), "teenager": (13.0, 19.0), "adolescence": (12.0, 18.0), "adolescent": (12.0, 18.0), "youth": (12.0, 25.0), "young adult": (18.0, 30.0),
    "twenties": (20.0, 30.0), "thirties": (30.0, 40.0), "forties": (40.0, 50.0), "fifties": (50.0, 60.0), "sixties": (60.0, 70.0), "seventies": (70.0, 80.0), "eighties": (80.0, 90.0),
}  # fmt: skip

_PLACE = (
    r"(?:(?:the\s+|our\s+|this\s+|an?\s+|her\s+|his\s+)?(?:[a-z]{0,6}icu\b|ccu\b|cvicu|unit\b|intensive\s+care(?:\s+unit)?|step-?\s?down|(?:[a-z]+\s+){0,3}floors?\b|wards?\b|telemetry|ed\b|er\b|ew\b|emergency\s+(?:department|room|ward)|triage|"
    r"osh\b(?:\s+ed\b)?|(?:outside|another|referring|local|other)\s+hospital|pacu|recovery(?:\s+room)?|or\b(?!\s)|operating\s+room|operating\s+theat(?:re|er)|hospital|floor\b|cath\s+lab|endoscopy\s+(?:suite|unit)|pre-?operative\s+area|holding\s+area))"
)
_ARRIVAL = re.compile(
    rf"\b(?:(?:up)?on|at|by\s+the\s+time\s+of|since|after|before|prior\s+to|following|from|with)\s+(?P<ref>(?:(?:her|his|initial|the)\s+)?(?:arrival|arriving|admission|transfer|presentation|reaching|return|tx|presenting)(?:\s+(?:to|at|in|on|from)\s+{_PLACE})?|{_PLACE}\s+(?:arrival|admission|transfer))|\bwhen\s+(?P<came>(?:he|she|they)\s+(?:first\s+)?(?:came\s+in|arrived|presented|was\s+admitted))",
    _I,
)
_AT_EVENT = re.compile(
    r"\b(?:(?:up)?on|at|by)\s+(?:the\s+)?(?:time\s+of\s+)?(?:the\s+|his\s+|her\s+)?(?P<ref>discharge|d/?c\b|extubation|intubation|induction|closure|presentation|transfer|initiation|call-?out)\b", _I
)
_RELATION = re.compile(
    r"(?P<mod>\b(?:just|shortly|soon|right|immediately|minutes|moments|hours|well|some\s+time|only|not\s+long|a\s+little|early|briefly)\s+)?(?:\b(?P<rel>after|before|following|prior\s+to|during|(?:at|around|near)\s+(?:about\s+)?the\s+time\s+of|pre-?(?=[a-z])|post-(?=[a-z])|status\s+post)\b\s*|(?P<dash>\b(?:post|pre)-))"
    r"(?!\s*(?:that\b|which\b|this\b\s*[,.]|(?:the\s+)?(?:day|night|morning|evening|afternoon|hour|next|past|last|first|rest)\b|then\b|meals?|med|hd\b|hd#|pod))" + _REFERENCE,
    _I,
)
_AT_PLACE = re.compile(r"\b(?:in|at)\s+(?P<ref>(?:the\s+|our\s+|an?\s+)?(?:ed|er|osh|triage|emergency\s+(?:department|room)|(?:outside|another)\s+hospital))\b|\((?P<adm>adm(?:ission)?)(?=\s+\d)", _I)
_ANAPHORA: tuple[tuple[re.Pattern[str], int, tuple[float, float, float]], ...] = (
    (re.compile(r"\b(?:shortly|soon|right|immediately|directly)\s+(?:after\s*wards?|thereafter)\b|\b(?:shortly|soon|right)\s+after(?=\s*(?:[,.;)]|$|and\b|was\b))|\bat\s+once\b|\balmost\s+at\s+once\b|\bpromptly\b|\bimmediately\b", _I), 1, (0.2, 0.0, 1.5)),
    (re.compile(r"\b(?:a\s+(?:little|short\s+while|bit|while)\s+(?:later|after)|some\s+time\s+later|after\s+a\s+while)\b", _I), 1, (0.75, 0.1, 3.0)),
    (re.compile(r"\b(?:later\s+(?:on\s+)?(?:in\s+the\s+day|that\s+day|the\s+same\s+day)|later\s+on)\b", _I), 1, (5.0, 1.0, 12.0)),
    (re.compile(r"\b(?:at\s+(?:the|that)\s+(?:same\s+)?(?:time|point)|at\s+which\s+(?:time|point)|simultaneously|concurrently|same\s+time|on\s+the\s+same\s+(?:draw|sample))\b", _I), 0, (0.0, 0.0, 0.5)),
    (re.compile(r"\bby\s+then\b|\bby\s+that\s+(?:time|point)\b", _I), 0, (0.0, -2.0, 0.5)),
)  # fmt: skip


def find_expressions(text: str) -> list[TimeExpression]:
    """All time expressions of `text` in order, without overlaps; adjacent days, parts and clocks are joined.

    Any string is accepted. Offsets are code points of `text`, end-exclusive.
    """
    claimed: list[TimeExpression] = []
    for finder in _FINDERS:
        for expression in finder(text):
            if not any(expression.start < c.end and c.start < expression.end for c in claimed):
                claimed.append(expression)
    claimed.sort(key=lambda e: e.start)
    return [replace(e, text=text[e.start : e.end].strip()) for e in _joined(text, claimed)]


def _quantified(text: str) -> list[TimeExpression]:
    """Offsets and spans that carry an amount of time."""
    found: list[TimeExpression] = []
    for m in _QUANTIFIED_CLOCK.finditer(text):
        quantity, part = parse_quantity(m["q"]), part_of("", m["base"])
        if quantity and part:
            sign = 1 if m["rel"].lower() in ("after", "past") else -1
            found.append(TimeExpression(m.start(), m.end(), Kind.POINT, part=part.shifted(sign * quantity.hours)))
    for pattern, direction, anchoring in (
        (_WITHIN, 1, Anchoring.CURSOR),
        (_AGO, -1, Anchoring.ADMISSION),
        (_LATER, 1, Anchoring.CURSOR),
        (_BEFORE, -1, Anchoring.CURSOR),
        (_FROM_REFERENCE, 1, Anchoring.REFERENCE),
        (_AFTER_AN, 1, Anchoring.CURSOR),
    ):
        for m in pattern.finditer(text):
            found.extend(_offset(m, direction, anchoring, loose=pattern is _WITHIN))
    return found


def _offset(m: re.Match[str], direction: int, anchoring: Anchoring, loose: bool) -> list[TimeExpression]:
    words = m["q"]
    quantity = parse_quantity(f"an {words}" if words.lower() in ("hour", "hr", "day") else words)
    if quantity is None:
        return []
    groups = m.groupdict()
    reference = (groups.get("ref") or "").strip()
    if re.match(r"(?:before|prior)", (groups.get("rel") or ""), _I):
        direction = -1
    if loose:
        quantity = quantity.scaled(0.7)
        quantity = Quantity(quantity.hours, 0.0, quantity.hours / 0.7)
        anchoring = Anchoring.REFERENCE if reference else Anchoring.CURSOR
    end = m.end("ref") if reference else m.end()
    return [
        TimeExpression(
            m.start(), end, Kind.OFFSET, quantity=quantity, direction=direction, anchoring=anchoring, reference=reference, loose=loose
        )
    ]


def _spans(text: str) -> list[TimeExpression]:
    found = []
    for m in _HISTORY.finditer(text):
        if re.match(r"[\s-]*old\b", text[m.end() :], _I):
            continue
        quantity = parse_quantity(next(g for g in m.group("q1", "q2", "q3", "q4") if g))
        if quantity:
            found.append(TimeExpression(m.start(), m.end(), Kind.SPAN, quantity=quantity, direction=-1, anchoring=Anchoring.ADMISSION))
    for m in _FUTURE.finditer(text):
        quantity = parse_quantity(m["q"])
        if quantity:
            found.append(TimeExpression(m.start(), m.end(), Kind.OFFSET, quantity=quantity, direction=1))
    return found


def _days(text: str) -> list[TimeExpression]:
    found: list[TimeExpression] = []
    for pattern, basis in _DAY_PATTERNS:
        for m in pattern.finditer(text):
            value, until = _day_number(m["n"]), m.groupdict().get("until")
            if value is not None:
                found.append(_with_modifier(text, m, Day(basis, value, int(until) if until else None)))
    for m in _EVENT_DAY_PATTERN.finditer(text):
        shift = {"of": 0, "before": -1, "prior to": -1}.get(re.sub(r"\s+", " ", m["rel"].lower()), 1)
        part = None if m["what"].lower() == "day" else part_of("", m["what"])
        found.append(TimeExpression(m.start(), m.end(), Kind.POINT, day=Day(Basis.EVENT, shift, reference=m["ref"]), part=part))
    for m in _RELATIVE_DAY.finditer(text):
        shift = 1 if m["next"] or m["tomorrow"] else -1 if m["prev"] or m["yest"] else 0
        found.append(_with_modifier(text, m, Day(Basis.CURRENT, shift)))
    for m in _SHIFTED_PART.finditer(text):
        part = part_of(m["mod"] or "", m["base"])
        shift = 1 if m["rel"].lower() == "after" else -1
        found.append(TimeExpression(m.start(), m.end(), Kind.POINT, day=Day(Basis.CURRENT, shift), part=part))
    return found


def _day_number(text: str) -> int | None:
    word = text.lower()
    if word in _ORDINALS:
        return _ORDINALS.index(word)
    value = number(re.sub(r"(?:st|nd|rd|th)$", "", word) if word[0].isdigit() else word)
    return None if value is None else int(value)


def _with_modifier(text: str, m: re.Match[str], day: Day) -> TimeExpression:
    before = _MODIFIED_DAY.search(text, max(0, m.start() - 20), m.start())
    part = part_of(before["mod"], "day") if before else None
    return TimeExpression(before.start() if before else m.start(), m.end(), Kind.POINT, day=day, part=part)


def _dates(text: str) -> list[TimeExpression]:
    found: list[TimeExpression] = []
    for pattern in (_FULL_DATE, _NAMED_DATE, _SLASH_DATE):
        for m in pattern.finditer(text):
            if pattern is _SLASH_DATE and not (m["y"] or _SLASH_CUE.search(text, max(0, m.start() - 12), m.start())):
                continue
            month = _MONTHS.index(m["m"].lower()[:3]) + 1 if m["m"].isalpha() else int(m["m"])
            year = None if not m["y"] else int(m["y"]) if len(m["y"]) == 4 else int(m["y"])
            if 1 <= month <= 12 and 1 <= int(m["d"]) <= 31:
                found.append(TimeExpression(m.start(), m.end(), Kind.POINT, day=Day(Basis.DATE, int(m["d"]), month=month, year=year)))
    for m in _WEEKDAY.finditer(text):
        found.append(TimeExpression(m.start(), m.end(), Kind.POINT, day=Day(Basis.WEEKDAY, _WEEKDAYS.index(m["w"].lower()))))
    for m in _YEAR.finditer(text):
        found.append(TimeExpression(m.start(), m.end(), Kind.YEAR, year=int(m["y"] or m["y2"])))
    return found


def _clocks(text: str) -> list[TimeExpression]:
    found: list[TimeExpression] = []
    for pattern in (_MERIDIAN_CLOCK, _MILITARY, _COLON_CLOCK, _SPOKEN):
        for m in pattern.finditer(text):
            expression = _clock(m, pattern)
            if expression is not None:
                found.append(expression)
    return found


def _clock(m: re.Match[str], pattern: re.Pattern[str]) -> TimeExpression | None:
    groups = m.groupdict()
    hour = number(m["h"])
    if hour is None:
        return None
    hour += int(groups.get("min") or 0) / 60
    meridian = re.sub(r"[^apm]", "", (groups.get("mer") or "").lower())
    day = (groups.get("day") or "").lower()
    afternoon = meridian == "pm" or day in ("afternoon", "evening") or (groups.get("night") and hour >= 6)
    ambiguous = pattern is _SPOKEN
    if pattern is _MERIDIAN_CLOCK:
        hour = hour % 12 + (12 if afternoon else 0)
    near = re.sub(r"\s+", " ", (groups.get("near") or "").strip().lower())
    shift, slack = _nearness(near)
    if near == "half past":
        hour, shift = hour + 0.5, 0.0
    point = hour + shift
    linked = "that" if re.search(r"\b(?:that|this)\b", m.group(), _I) else "next" if re.search(r"\b(?:next|following)\b", m.group(), _I) else ""
    part = clock_part(point, point - slack, point + slack)
    return TimeExpression(m.start(), m.end(), Kind.POINT, part=part, linked=linked, ambiguous_clock=ambiguous)


def _nearness(near: str) -> tuple[float, float]:
    """How far from the stated hour a wording points, and how exact it is (hours)."""
    if near in ("just before", "shortly before", "a little before"):
        return -0.2, 0.5
    if near in ("just after", "shortly after", "soon after", "a little after"):
        return 0.2, 0.5
    if near == "before":
        return -0.5, 1.5
    if near in ("after", "past"):
        return 0.4, 1.5
    return 0.0, 0.5 if near in ("around", "about", "~", "approximately", "near", "toward") else 0.25


def _parts(text: str) -> list[TimeExpression]:
    found: list[TimeExpression] = []
    for m in _PART.finditer(text):
        base, raw = m["base"], m["base"].strip(".")
        if raw.lower() in ("am", "pm", "eve") and not raw.isupper() and not re.search(r"(?:the|this|that|next|mid|early|late)[\s-]*$", text[: m.start("base")], _I):
            continue
        modifier = re.sub(r"\s+", " ", (m["mod2"] or m["mod"] or "").replace("the middle", "middle").lower())
        part = part_of(modifier, re.sub(r"\s+", " ", base))
        if part is None:
            continue
        link = _link(m["link"] or "")
        found.append(TimeExpression(_trimmed(text, m), m.end(), Kind.POINT, part=part, linked=link))
    return found


def _trimmed(text: str, m: re.Match[str]) -> int:
    return m.start() + len(m.group()) - len(m.group().lstrip())


def _link(words: str) -> str:
    words = words.lower()
    for key, link in (("next", "next"), ("following", "next"), ("subsequent", "next"), ("first", "first"), ("second", "second")):
        if key in words:
            return link
    if re.search(r"previous|prior|preceding", words):
        return "previous"
    return "that" if re.search(r"that|this|same", words) else ""


def _ages(text: str) -> list[TimeExpression]:
    found = []
    for m in _AGE.finditer(text):
        years = m["n"] or m["n2"]
        span = (float(years), float(years) + 1) if years else _AGES.get((m["as"] or m["stage"] or m["decade"] or "").lower())
        if span is None and m["decade"]:
            span = (float(m["decade"][:2]), float(m["decade"][:2]) + 10)
        if span and m["third"]:
            width = (span[1] - span[0]) / 3
            first = {"early": 0, "mid": 1, "late": 2}[m["third"].lower()]
            span = (span[0] + first * width, span[0] + (first + 1) * width)
        if span:
            found.append(TimeExpression(m.start(), m.end(), Kind.AGE, age=span))
    return found


def _events(text: str) -> list[TimeExpression]:
    found: list[TimeExpression] = []
    for m in _ARRIVAL.finditer(text):
        lead = "" if m["came"] else text[m.start() : m.start("ref")].strip().lower()
        direction = 1 if lead in ("after", "following", "since") else -1 if lead in ("before", "prior to") else 0
        found.append(TimeExpression(m.start(), m.end(), Kind.EVENT, direction=direction, anchoring=Anchoring.REFERENCE, reference=m["ref"] or "presentation"))
    for m in re.finditer(rf"(?<![\w-]){_PLACE}\s+(?:arrival|admission)\b", text, _I):
        found.append(TimeExpression(m.start(), m.end(), Kind.EVENT, anchoring=Anchoring.REFERENCE, reference=m.group()))
    for m in _AT_EVENT.finditer(text):
        found.append(TimeExpression(m.start(), m.end(), Kind.EVENT, anchoring=Anchoring.REFERENCE, reference=m["ref"]))
    for m in _AT_PLACE.finditer(text):
        found.append(TimeExpression(m.start(), m.end(), Kind.EVENT, anchoring=Anchoring.REFERENCE, reference=m["ref"] or "admission"))
    for pattern, direction, (point, low, high) in _ANAPHORA:
        for m in pattern.finditer(text):
            found.append(TimeExpression(m.start(), m.end(), Kind.OFFSET, quantity=Quantity(point, low, high), direction=direction or 1))
    for m in _RELATION.finditer(text):
        found.append(_relation(m))
    return found


def _relation(m: re.Match[str]) -> TimeExpression:
    word = re.sub(r"\s+", " ", (m["rel"] or m["dash"]).lower().rstrip("-"))
    direction = -1 if word in ("before", "prior to", "pre", "until") else 0 if word == "during" or word.endswith("time of") else 1
    near = (m["mod"] or "").strip().lower()
    amount = 2.0 if near == "hours" else 0.15 if near in ("just", "right", "immediately", "minutes", "moments") else 0.3 if near in ("shortly", "soon") else 0.5
    high = 0.75 if amount < 0.2 else 2.0 if amount < 0.4 else 12.0
    quantity = None if direction == 0 else Quantity(amount, 0.0, high)
    return TimeExpression(
        m.start(), m.end("ref"), Kind.EVENT, quantity=quantity, direction=direction, anchoring=Anchoring.REFERENCE, reference=m["ref"].strip()
    )


_FINDERS = (_ages, _dates, _quantified, _days, _clocks, _spans, _parts, _events)

_GLUE = re.compile(r"[\s]*[,(]?[\s]*(?:(?:of|on|in|at|the|that|by|until|into|into\s+the|around|about|from)\s+)*", _I)


def _joined(text: str, expressions: list[TimeExpression]) -> list[TimeExpression]:
    """Join a day with the part or clock beside it: "the evening of" + "POD 1", "HD3" + "mid-AM"."""
    out: list[TimeExpression] = []
    for expression in expressions:
        previous = out[-1] if out else None
        if previous and expression.end - previous.start < 90 and _GLUE.fullmatch(text, previous.end, expression.start):
            comma = re.search(r"[,(]", text[previous.end : expression.start]) is not None
            joined = _join(previous, expression, comma)
            if joined is not None:
                out[-1] = joined
                continue
        out.append(expression)
    return out


def _join(a: TimeExpression, b: TimeExpression, comma: bool) -> TimeExpression | None:
    if a.kind is not Kind.POINT or b.kind is not Kind.POINT:
        return None
    if a.day and b.day and not (a.linked or b.linked):
        return None
    if a.part and b.part:
        return _join_parts(a, b) if not comma else None
    if comma and not (b.day is not None and b.part is None and b.day.basis is not Basis.CURRENT):
        return None
    named = a if a.day else b
    timed = a if a.part else b
    return replace(a, end=b.end, day=named.day, part=timed.part or named.part, linked=timed.linked if not named.day else "", ambiguous_clock=timed.ambiguous_clock)


def _join_parts(a: TimeExpression, b: TimeExpression) -> TimeExpression | None:
    """A clock with a part of the day ("before six" + "that morning"), or "late HD3" + "afternoon"."""
    assert a.part is not None and b.part is not None
    if a.day and b.day:
        return None
    if a.ambiguous_clock or b.ambiguous_clock:
        clock, part = (a, b.part) if a.ambiguous_clock else (b, a.part)
        hour = clock.part.point % 12 if clock.part else 0.0
        best = min((hour, hour + 12, hour + 24), key=lambda h: abs(h - part.point))
        assert clock.part is not None
        moved = clock.part.shifted(best - clock.part.point)
        return replace(a, end=b.end, day=a.day or b.day, part=moved, linked=a.linked or b.linked, ambiguous_clock=False)
    if a.part.label.endswith(" day"):
        part = part_of(a.part.label.split()[0], b.part.label) or b.part
        return replace(a, end=b.end, day=a.day or b.day, part=part, linked=b.linked)
    return None
