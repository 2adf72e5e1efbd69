"""Relations to something named, without an amount.

Examples: "on arrival to the MICU", "after intubation", "at that time".
"""

from __future__ import annotations

import re

from timelines.backbones.rules.timing.phrases.grammar.amounts import REFERENCE
from timelines.backbones.rules.timing.phrases.quantities import Quantity
from timelines.backbones.rules.timing.phrases.terms import Anchoring, Kind, TimeExpression

_I = re.IGNORECASE
_PLACE = (
    r"(?:(?:the\s+|our\s+|this\s+|an?\s+|her\s+|his\s+)?(?:[a-z]{0,6}icu\b|ccu\b|cvicu|unit\b|"
    r"intensive\s+care(?:\s+unit)?|step-?\s?down|(?:[a-z]+\s+){0,3}floors?\b|wards?\b|telemetry|"
    r"ed\b|er\b|ew\b|emergency\s+(?:department|room|ward)|triage|"
    r"osh\b(?:\s+ed\b)?|(?:outside|another|referring|local|other)\s+hospital|pacu|recovery(?:\s+room)?|"
    r"or\b(?!\s)|operating\s+room|operating\s+theat(?:re|er)|hospital|floor\b|cath\s+lab|endoscopy\s+(?:suite|"
    r"unit)|pre-?operative\s+area|holding\s+area))"
)
_ARRIVAL = re.compile(
    rf"\b(?:(?:up)?on|at|by\s+the\s+time\s+of|since|after|before|prior\s+to|following|from|with)\s+(?P<ref>(?:(?:her|"
    rf"his|initial|the)\s+)?(?:arrival|arriving|admission|transfer|presentation|reaching|return|"
    rf"tx|presenting)(?:\s+(?:to|at|in|on|from)\s+{_PLACE})?|{_PLACE}\s+(?:arrival|admission|"
    rf"transfer))|\bwhen\s+(?P<came>(?:he|she|they)\s+(?:first\s+)?(?:came\s+in|arrived|presented|"
    rf"was\s+admitted))",
    _I,
)
_AT_EVENT = re.compile(
    r"\b(?:(?:up)?on|at|by)\s+(?:the\s+)?(?:time\s+of\s+)?(?:the\s+|his\s+|her\s+)?(?P<ref>discharge|"
    r"d/?c\b|extubation|intubation|induction|closure|presentation|transfer|initiation|call-?out)\b",
    _I,
)
_RELATION = re.compile(
    r"(?P<mod>\b(?:just|shortly|soon|right|immediately|minutes|moments|hours|well|some\s+time|"
    r"only|not\s+long|a\s+little|early|briefly)\s+)?(?:\b(?P<rel>after|before|following|prior\s+to|"
    r"during|(?:at|around|near)\s+(?:about\s+)?the\s+time\s+of|pre-?(?=[a-z])|post-(?=[a-z])|"
    r"status\s+post)\b\s*|(?P<dash>\b(?:post|pre)-))"
    r"(?!\s*(?:that\b|which\b|this\b\s*[,.]|(?:the\s+)?(?:day|night|morning|evening|afternoon|"
    r"hour|next|past|last|first|rest)\b|then\b|meals?|med|hd\b|hd#|pod))" + REFERENCE,
    _I,
)
_AT_PLACE = re.compile(
    r"\b(?:in|at)\s+(?P<ref>(?:the\s+|our\s+|an?\s+)?(?:ed|er|osh|triage|emergency\s+(?:department|"
    r"room)|(?:outside|another)\s+hospital))\b|\((?P<adm>adm(?:ission)?)(?=\s+\d)",
    _I,
)
_ANAPHORA: tuple[tuple[re.Pattern[str], int, tuple[float, float, float]], ...] = (
    (
        re.compile(
            r"\b(?:shortly|soon|right|immediately|directly)\s+(?:after\s*wards?|thereafter)\b|\b(?:shortly|"
            r"soon|right)\s+after(?=\s*(?:[,.;)]|$|and\b|was\b))|\bat\s+once\b|\balmost\s+at\s+once\b|"
            r"\bpromptly\b|\bimmediately\b",
            _I,
        ),
        1,
        (0.2, 0.0, 1.5),
    ),
    (
        re.compile(
            r"\b(?:a\s+(?:little|short\s+while|bit|while)\s+(?:later|after)|some\s+time\s+later|after\s+a\s+while)\b",
            _I,
        ),
        1,
        (0.75, 0.1, 3.0),
    ),
    (
        re.compile(
            r"\b(?:later\s+(?:on\s+)?(?:in\s+the\s+day|that\s+day|the\s+same\s+day)|later\s+on)\b",
            _I,
        ),
        1,
        (5.0, 1.0, 12.0),
    ),
    (
        re.compile(
            r"\b(?:at\s+(?:the|that)\s+(?:same\s+)?(?:time|point)|at\s+which\s+(?:time|point)|simultaneously|"
            r"concurrently|same\s+time|on\s+the\s+same\s+(?:draw|sample))\b",
            _I,
        ),
        0,
        (0.0, 0.0, 0.5),
    ),
    (re.compile(r"\bby\s+then\b|\bby\s+that\s+(?:time|point)\b", _I), 0, (0.0, -2.0, 0.5)),
)


def find_events(text: str) -> list[TimeExpression]:
    """Return relations to stations, occurrences and the last statement."""
    found: list[TimeExpression] = []
    for m in _ARRIVAL.finditer(text):
        lead = "" if m["came"] else text[m.start() : m.start("ref")].strip().lower()
        direction = (
            1
            if lead in ("after", "following", "since")
            else -1
            if lead in ("before", "prior to")
            else 0
        )
        found.append(
            TimeExpression(
                m.start(),
                m.end(),
                Kind.EVENT,
                direction=direction,
                anchoring=Anchoring.REFERENCE,
                reference=m["ref"] or "presentation",
            )
        )
    for m in re.finditer(rf"(?<![\w-]){_PLACE}\s+(?:arrival|admission)\b", text, _I):
        found.append(
            TimeExpression(
                m.start(), m.end(), Kind.EVENT, anchoring=Anchoring.REFERENCE, reference=m.group()
            )
        )
    for m in _AT_EVENT.finditer(text):
        found.append(
            TimeExpression(
                m.start(), m.end(), Kind.EVENT, anchoring=Anchoring.REFERENCE, reference=m["ref"]
            )
        )
    for m in _AT_PLACE.finditer(text):
        found.append(
            TimeExpression(
                m.start(),
                m.end(),
                Kind.EVENT,
                anchoring=Anchoring.REFERENCE,
                reference=m["ref"] or "admission",
            )
        )
    for pattern, direction, (point, low, high) in _ANAPHORA:
        for m in pattern.finditer(text):
            found.append(
                TimeExpression(
                    m.start(),
                    m.end(),
                    Kind.OFFSET,
                    quantity=Quantity(point, low, high),
                    direction=direction or 1,
                )
            )
    for m in _RELATION.finditer(text):
        found.append(_relation(m))
    return found


def _relation(m: re.Match[str]) -> TimeExpression:
    word = re.sub(r"\s+", " ", (m["rel"] or m["dash"]).lower().rstrip("-"))
    direction = (
        -1
        if word in ("before", "prior to", "pre", "until")
        else 0
        if word == "during" or word.endswith("time of")
        else 1
    )
    near = (m["mod"] or "").strip().lower()
    amount = (
        2.0
        if near == "hours"
        else 0.15
        if near in ("just", "right", "immediately", "minutes", "moments")
        else 0.3
        if near in ("shortly", "soon")
        else 0.5
    )
    high = 0.75 if amount < 0.2 else 2.0 if amount < 0.4 else 12.0
    quantity = None if direction == 0 else Quantity(amount, 0.0, high)
    return TimeExpression(
        m.start(),
        m.end("ref"),
        Kind.EVENT,
        quantity=quantity,
        direction=direction,
        anchoring=Anchoring.REFERENCE,
        reference=m["ref"].strip(),
    )
