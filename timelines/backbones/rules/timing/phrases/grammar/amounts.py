"""Amounts of time: offsets, spans and ages.

Examples: "two hours after intubation", "3-day history".
"""

from __future__ import annotations

import re
from dataclasses import replace

from timelines.backbones.rules.timing.phrases.quantities import (
    BARE_QUANTITY,
    QUANTITY,
    Quantity,
    number,
    parse_quantity,
)
from timelines.backbones.rules.timing.phrases.terms import Anchoring, Kind, TimeExpression
from timelines.domain import MONTH, YEAR

_I = re.IGNORECASE
#: The phrase that an offset or relation refers to, up to the end of its clause.
REFERENCE = (
    r"(?P<ref>(?!(?:with|and|by|in|on|at|but)\b)[^\s,;:.()→][^,;:()→\n]{0,60}?)(?=[,;:()→\n]|"
    r"\.(?:\s|$)|\s(?:and|but|with|while|which|for|in\s+the|then|he|she|they)\b|$)"
)
_AGO = re.compile(
    rf"(?P<q>{QUANTITY}|{BARE_QUANTITY})\s*(?:ago|pta\b|prior\s+to\s+(?:this\s+|the\s+|her\s+|"
    rf"his\s+)?(?:admission|presentation|arrival|coming)|before\s+(?:this\s+|the\s+|her\s+|his\s+)?(?:admission|"
    rf"presentation|arrival|hospitalization|she\s+came|he\s+came|coming)(?:\s+in)?|pre-?admission)",
    _I,
)
_LATER = re.compile(
    rf"(?P<q>{QUANTITY}|{BARE_QUANTITY})\s*(?:later|after\s*wards?|thereafter|hence|after\s+(?:that|"
    rf"this|which)\b|after(?=\s*[,.;:)]|\s*$)|on\b(?=\s*[,.]))",
    _I,
)
_BEFORE = re.compile(
    rf"(?P<q>{QUANTITY}|{BARE_QUANTITY})\s*(?:earlier|previously|beforehand|prior(?!\s+to)|before(?=\s*[,.;:)]|"
    rf"\s*$|\s+(?:and|on|when|a|by|in|for|while)\b))",
    _I,
)
_FROM_REFERENCE = re.compile(
    rf"(?P<q>{QUANTITY}|{BARE_QUANTITY})\s*(?:(?P<rel>before|prior\s+to|after|following|post-?|"
    rf"into|s/p)|(?P<of>(?:of|from)(?=\s+(?:arrival|admission|presentation|transfer|reaching|"
    rf"starting))))\s*{REFERENCE}",
    _I,
)
_WITHIN = re.compile(
    rf"\b(?:with?in|w/in|inside|in\s+under|in\s+less\s+than|in\s+the\s+space\s+of)\s+(?:the\s+(?:next\s+|"
    rf"first\s+)?)?(?P<q>{QUANTITY}|{BARE_QUANTITY}|hour|hr|day)\b(?:\s+(?:or\s+so|or\s+two))?(?:\s+(?:of|"
    rf"after|from)\s+{REFERENCE})?",
    _I,
)
_AFTER_AN = re.compile(rf"\bafter\s+(?P<q>{QUANTITY}|{BARE_QUANTITY})(?!\s+of)", _I)
_FOLLOW_UP = re.compile(
    rf"\b(?:at|by|on)\s+(?:(?:a|the|his|her|last)\s+)?(?P<q>{QUANTITY})(?:\s+of)?[\s-]+follow[\s-]?up\b",
    _I,
)
#: More years than this without a word before them are the patient's age.
_LONGEST_LASTED = 40 * YEAR
_LASTED = re.compile(
    rf"(?<!\bat)(?<!\bage)(?<!\baged)(?<!\bevery)(?<!\bin)(?<!\bafter)(?<!\bthan)\s(?=[~<>≥\d])(?P<q>{QUANTITY})"
    rf"(?=\s*(?:[.,;:)]|$|\n))",
    _I,
)
_HISTORY = re.compile(
    rf"(?:\b(?:for|over|x|×|during|in(?=\s+the\s+(?:past|last|previous|preceding|prior)))\s*(?:the\s+)?(?:past|"
    rf"last|previous|preceding|prior)?\s*(?P<q1>{QUANTITY}|{BARE_QUANTITY})(?!\s*(?:later|ago|"
    rf"prior|before|after|tid|bid|daily))|"
    rf"(?P<q2>{QUANTITY})\s*(?:'s?|’s?)?\s*(?:hx|h/o|history|standing|duration|course|of(?!\s+(?:arrival|"
    rf"admission|presentation))|w/(?=\s))\s*(?:of\b)?|"
    rf"(?:\b(?:the\s+)(?:past|last|previous)\s+)(?P<q3>{QUANTITY}|{BARE_QUANTITY})|"
    rf"(?:^|(?<=[\n:;-])|(?<=:\s)|(?<=-\s))\s*(?P<q4>{QUANTITY})(?=\s+[a-z]))",
    _I,
)
_FUTURE = re.compile(rf"\bin\s+(?P<q>{QUANTITY})(?!\s*(?:later|ago|prior|before|after))", _I)
_AGE = re.compile(
    r"\b(?:at\s+(?:the\s+)?age\s+(?:of\s+)?|at\s+)(?P<n>\d{1,2})\s*(?:years?\s+(?:old|of\s+age)|"
    r"y/?o)\b|\b(?:at|since|from)\s+(?:the\s+)?age\s+(?:of\s+)?(?P<n2>\d{1,2}|[a-z]+(?:-[a-z]+)?)\b|"
    r"\b(?:started|began|begun|start)\s+(?:smoking|drinking|menstruating|using\s+\w+)\s+at\s+(?P<n3>\d{1,2}|"
    r"[a-z]+(?:-[a-z]+)?)\b|"
    r"\b(?:(?:in|since|from|during)\s+(?:his|her|their)|since)\s+(?:(?P<third>early|mid|late)[\s-]*)?(?P<decade>[2-8]0'?s|"
    r"twenties|thirties|forties|fifties|sixties|seventies|eighties|teens)\b|"
    r"\b(?:in|since|from|as\s+of|during)\s+(?:(?:his|her|their)\s+)?(?P<stage>childhood|infancy|adolescence|birth|youth)\b|"
    r"\b(?:as\s+an?|since\s+being\s+an?)\s+(?P<as>child|infant|teenager|adolescent|young\s+adult|kid|baby)\b",
    _I,
)
_AGES: dict[str, tuple[float, float]] = {
    "childhood": (4.0, 14.0),
    "child": (4.0, 14.0),
    "kid": (4.0, 14.0),
    "infancy": (0.0, 2.0),
    "infant": (0.0, 2.0),
    "baby": (0.0, 2.0),
    "birth": (0.0, 0.1),
    "teens": (13.0, 19.0),
    "teenager": (13.0, 19.0),
    "adolescence": (12.0, 18.0),
    "adolescent": (12.0, 18.0),
    "youth": (12.0, 25.0),
    "young adult": (18.0, 30.0),
    "twenties": (20.0, 30.0),
    "thirties": (30.0, 40.0),
    "forties": (40.0, 50.0),
    "fifties": (50.0, 60.0),
    "sixties": (60.0, 70.0),
    "seventies": (70.0, 80.0),
    "eighties": (80.0, 90.0),
}


def find_offsets(text: str) -> list[TimeExpression]:
    """Offsets and spans that carry an amount of time."""
    found: list[TimeExpression] = []
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
    for m in _FOLLOW_UP.finditer(text):
        for e in _offset(m, 1, Anchoring.REFERENCE, loose=False):
            found.append(replace(e, reference="discharge"))
    return found


def _offset(
    m: re.Match[str], direction: int, anchoring: Anchoring, loose: bool
) -> list[TimeExpression]:
    words = m["q"]
    quantity = parse_quantity(f"an {words}" if words.lower() in ("hour", "hr", "day") else words)
    if quantity is None:
        return []
    groups = m.groupdict()
    reference = (groups.get("ref") or "").strip()
    if re.match(r"(?:before|prior)", (groups.get("rel") or ""), _I):
        direction = -1
    if loose:
        quantity = quantity.scale(0.7)
        quantity = Quantity(quantity.hours, 0.0, quantity.hours / 0.7)
        anchoring = Anchoring.REFERENCE if reference else Anchoring.CURSOR
    end = m.end("ref") if reference else m.end()
    return [
        TimeExpression(
            m.start(),
            end,
            Kind.OFFSET,
            quantity=quantity,
            direction=direction,
            anchoring=anchoring,
            reference=reference,
        )
    ]


def find_spans(text: str) -> list[TimeExpression]:
    """Return durations of a state, and "in two weeks"."""
    found = []
    for m in _HISTORY.finditer(text):
        if re.match(r"[\s-]*old\b", text[m.end() :], _I):
            continue
        quantity = parse_quantity(next(g for g in m.group("q1", "q2", "q3", "q4") if g))
        if quantity:
            found.append(_span(m, quantity))
    for m in _FUTURE.finditer(text):
        quantity = parse_quantity(m["q"])
        if quantity:
            found.append(
                TimeExpression(m.start(), m.end(), Kind.OFFSET, quantity=quantity, direction=1)
            )
    return found


def _span(m: re.Match[str], quantity: Quantity) -> TimeExpression:
    return TimeExpression(
        m.start(),
        m.end(),
        Kind.SPAN,
        quantity=quantity,
        direction=-1,
        anchoring=Anchoring.ADMISSION,
    )


def find_ages_of_conditions(text: str) -> list[TimeExpression]:
    """Return how long conditions of a history have lasted.

    Examples: "T2DM ~15 y", "asthma, 12 years".
    """
    found = []
    for m in _LASTED.finditer(text):
        quantity = parse_quantity(m["q"])
        if quantity and MONTH <= quantity.hours <= _LONGEST_LASTED:
            found.append(_span(m, quantity))
    return found


def find_ages(text: str) -> list[TimeExpression]:
    """Ages and stages of life: "in childhood", "since his 20s", "at age 12"."""
    found = []
    for m in _AGE.finditer(text):
        words = m["n"] or m["n2"] or m["n3"]
        years = number(words) if words else None
        if words and years is None:
            continue
        span = (
            (years, years + 1)
            if years is not None
            else _AGES.get((m["as"] or m["stage"] or m["decade"] or "").lower())
        )
        if span is None and m["decade"]:
            span = (float(m["decade"][:2]), float(m["decade"][:2]) + 10)
        if span and m["third"]:
            width = (span[1] - span[0]) / 3
            first = {"early": 0, "mid": 1, "late": 2}[m["third"].lower()]
            span = (span[0] + first * width, span[0] + (first + 1) * width)
        if span:
            found.append(TimeExpression(m.start(), m.end(), Kind.AGE, age=span))
    return found
