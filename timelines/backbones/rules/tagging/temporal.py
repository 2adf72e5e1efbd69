"""Mark temporal expressions.

They then neither become occurrences nor split one. Only their places matter here; the timer
interprets them.
"""

from __future__ import annotations

import re

from timelines.backbones.rules.timing.phrases.bare_dates import bare_dates
from timelines.backbones.rules.timing.phrases.expressions import find_expressions
from timelines.backbones.rules.timing.phrases.manner import (
    Manner,
    writes_full_day,
    writes_plain_clocks,
)
from timelines.backbones.rules.timing.phrases.terms import Kind

#: A full stop that only ends the sentence: "10 AM.", but not "10 a.m.".
_FULL_STOP = re.compile(r"(?<!\.\w)\.$")
#: Kinds of the timer's expressions that never name an occurrence.
_KINDS = frozenset({Kind.POINT, Kind.YEAR})
_NUMBER = (
    r"(?:~?\d+(?:\.\d+)?(?:\s?(?:-|–|to|or)\s?\d+)?|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
    r"fourteen|twenty|thirty|several|few|a few|half an?|a couple(?: of)?|many|some|a half|another)"
)
_UNIT = (
    r"(?:minutes?|mins?|hours?|hrs?|h|days?|nights?|weeks?|wks?|months?|mos?|mths?|years?|yrs?|y)"
)
_PART = (
    r"(?:mornings?|afternoons?|evenings?|nights?|noon|midnight|midday|mid-?day|dawn|dusk|sunrise|daybreak|nightfall|overnight|"
    r"lunch-?time|lunch|breakfast(?: time)?|dinner(?:"
    r" ?time)?|bedtime|forenoon|predawn|am|pm|a\.m\.|p\.m\.|mid-?morning|"
    r"mid-?afternoon|mid-?am|mid-?pm|small hours|early hours|early"
    r" hrs|hours|day|days|week|weekend|rounds)"
)
_LEAD = (
    r"(?:(?:about|around|approximately|roughly|nearly|almost|some|just|shortly|soon|within|w/in|in|over|for|after|by|until|till|thru|"
    r"through|from|since|on|at|during|before|toward|towards|into|of|the|that|this|those|same|next|following|previous|preceding|prior|"
    r"late|later|early|earlier|first|second|third|last|past|each|every|middle|rest|remainder|mid|very|whole|entire|another|as|evening|"
    r"night|morning|ensuing)\s+)*"
)
_HOSPITAL_DAY = (
    r"(?:hd|pod|hospital day|hosp day|post-?operative day|post-?op day|post-?procedure day|icu"
    r" day|day)"
    r"\s?\(?(?:pod|hd)?\)?\s?#?\s?\d+(?:\s?[-–]\s?\d+)?"
)
_EVENT = (
    r"(?:admission|arrival|presentation|discharge|d/c|transfer|the operation|surgery|this"
    r" admission|the procedure|triage|extubation|"
    r"intubation|that)"
)
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
)
_BARE = r"(?:1[0-2]|0?[1-9])/(?:3[01]|[12]\d|0?[1-9])"
_CLOCK_WORD = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_PATTERNS = [
    # "three days before presentation", "an hour later"
    rf"{_LEAD}{_NUMBER}\s?-?{_UNIT}\s+(?:ago|before|earlier|later|prior|after|previously|pta|post|back|hence|beforehand|thereafter|since)"
    rf"(?:\s+(?:to\s+)?{_EVENT})?\b",
    # "for the last two weeks"
    rf"(?:for|over|within|w/in|in|x|after|during|every)\s+(?:the\s+)?"
    r"(?:about |around |at least |nearly |up to |last |past |next |first |another |some"
    rf" )*{_NUMBER}\s?-?{_UNIT}\b",
    # "late on HD#3", "POD 2 evening"
    rf"{_LEAD}{_HOSPITAL_DAY}(?:\s+(?:late |early |mid-?)?{_PART})?\b",
    # "the following morning", "on the evening of POD 1"
    rf"{_LEAD}{_PART}\b(?:\s+(?:of|on)\s+(?:{_LEAD})(?:{_HOSPITAL_DAY}|{_EVENT}|{_PART}))*",
    # "on admission to the ICU"
    r"(?:on|at|by|upon|since|before|after|prior to|until|from|soon after|shortly after|shortly"
    r" before)\s+(?:the\s+)?(?:\w+\s+)?"
    r"(?:admission|arrival|presentation|discharge|d/c|triage)(?:\s+(?:to|in)\s+(?:the\s+)?\w+)?\b",
    # "at 6 am", "by 1000", "about two in the morning"
    r"(?:at|by|around|about|~|until|from|before|after)\s+(?:about\s+)?(?:\d{1,2}(?::\d{2})?\s?(?:am|pm|a\.m\.|p\.m\.)|\d{1,2}:\d{2}|"
    rf"~?\d{{4}}(?=\D|$)|{_CLOCK_WORD}(?:\s+o'clock|\s+(?:in|that|this|the|am|pm|on)\b)?)\b",
    r"\b\d{1,2}(?::\d{2})?\s?(?:am|pm)\b|\b\d{1,2}:\d{2}\b|~\d{4}\b",
    # dates
    rf"\b(?:on\s+)?\d{{1,2}}/\d{{1,2}}/\d{{2,4}}\b|\b\d{{4}}-\d{{2}}-\d{{2}}\b|(?:on\s+)?{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?\b",
    r"(?:on\s+)?\[\*\*(?:\d{4}-)?\d{1,2}-\d{1,2}\*\*\]",
    # "on 3/4", "3/4 midday", and a line that begins with "3/4 - "
    rf"\b(?:on|since|from|until|by)\s+{_BARE}\b(?!/)(?:\s+{_PART}\b)?|\b(?<!/){_BARE}\s+(?:late"
    rf" |early |mid-?)?{_PART}\b|"
    rf"^[ \t]*{_BARE}(?=\s?[-–:]\s)",
    # adverbs
    r"\b(?:overnight|today|yesterday|yest|tomorrow|thereafter|afterwards?|subsequently|initially|eventually|meanwhile|currently|recently|"
    r"previously|at once|at that time|at this time|by then|at which (?:point|time)|in retrospect|in"
    r" the meantime|momentarily|briefly|"
    r"transiently|immediately|right after|a (?:few|little) (?:minutes|hours|hrs|while|later)"
    r" ?(?:later)?|"
    r"(?:shortly|soon) (?:thereafter|afterwards|after)|minutes (?:later|earlier)|hours"
    r" (?:later|earlier)|a little later|soon|"
    r"(?:at )?the same time)\b",
]
_TIME = re.compile("|".join(f"(?:{p})" for p in _PATTERNS), re.IGNORECASE | re.MULTILINE)


def find_manner(text: str) -> Manner:
    """Return how a note writes dates and clock times.

    Every day of the year may be one of the stay, because the tagger does not know when it began.
    """
    return Manner(
        is_date=bare_dates(text, lambda _: 0),
        plain_clocks=writes_plain_clocks(text),
        full_day=writes_full_day(text),
    )


def time_spans(
    text: str, start: int, end: int, manner: Manner | None = None
) -> list[tuple[int, int]]:
    """Return `[start, end)` of temporal expressions in `text[start:end]`.

    They are in order and do not overlap. With `manner` dates and clock times in the note's own
    form are among them.
    """
    found = [(m.start(), m.end()) for m in _TIME.finditer(text, start, end) if m.end() > m.start()]
    if manner is not None:
        found += [
            (start + e.start, start + e.start + len(_FULL_STOP.sub("", e.text)))
            for e in find_expressions(text[start:end], manner)
            if e.kind in _KINDS
        ]
    return _merge(sorted(found))


def _merge(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
