"""Years, and months and seasons without a day.

Examples: "in 2139", "(2145)", "last November", "in the spring of 2109".
"""

from __future__ import annotations

import re
from collections.abc import Callable

from timelines.backbones.rules.timing.phrases.grammar.days import MONTH_NAME, MONTHS
from timelines.backbones.rules.timing.phrases.quantities import is_amount
from timelines.backbones.rules.timing.phrases.terms import Kind, TimeExpression

_I = re.IGNORECASE
_YEAR = re.compile(
    r"\b(?:in|since|from|until|till|circa|dx'?d?|dxed|diagnosed|around|of)\s+(?:early\s+|late\s+|mid[\s-]*)?"
    r"(?P<y>(?:1[89]|2[0-3])\d\d)\b(?!\s*(?:m[lg]|cc|units?|kg|g\b|h\b))|\((?P<y2>(?:19|2[0-3])\d\d)\)",
    _I,
)
_BARE_YEAR = re.compile(r"(?<![\w/.,:#+-])(?P<y>(?:19|2[0-3])\d\d)(?![\w/:%]|[.,-]\d)")
#: Months are capitalised, because "may" and "march" are also verbs.
_MONTH = re.compile(
    rf"(?i:\b(?:in|since|last|from|until|during|by|of)\s+(?:early\s+|late\s+|mid[\s-]*)?)"
    rf"(?P<m>(?=[A-Z])(?i:{MONTH_NAME}))\b\.?(?:,?\s+(?:of\s+)?(?P<y>(?:19|2[0-3])\d\d)\b)?(?![\s-]*\d)"
)
#: "3/2199", a month of a year.
_MONTH_OF_YEAR = re.compile(r"(?<![\w/.])(?P<m>1[0-2]|0?[1-9])/(?P<y>(?:19|2[0-3])\d\d)\b(?![/%])")
_SEASONS = {"winter": 1, "spring": 4, "summer": 7, "fall": 10, "autumn": 10}
_SEASON = re.compile(
    rf"\b(?:in\s+(?:the\s+)?|since\s+(?:the\s+|last\s+)?|last\s+|during\s+the\s+|over\s+the\s+)(?:early\s+|late\s+|last\s+)?"
    rf"(?P<s>{'|'.join(_SEASONS)})\b(?:\s+of)?(?:\s+(?P<y>(?:19|2[0-3])\d\d)\b)?",
    _I,
)


def find_years(text: str, is_year: Callable[[int], bool] | None = None) -> list[TimeExpression]:
    """Return years, and months and seasons without a day.

    A number without a word before it is a year only if `is_year` accepts it.
    """
    found: list[TimeExpression] = []
    for m in _MONTH.finditer(text):
        month = MONTHS.index(m["m"].lower()[:3]) + 1
        found.append(_expression(m, m["y"], month))
    for m in _MONTH_OF_YEAR.finditer(text):
        found.append(_expression(m, m["y"], int(m["m"])))
    for m in _SEASON.finditer(text):
        if m["s"].lower() != "fall" or m["y"] or re.match(r"\W*last\b", m.group(), _I):
            found.append(_expression(m, m["y"], _SEASONS[m["s"].lower()]))
    for m in _YEAR.finditer(text):
        found.append(_expression(m, m["y"] or m["y2"], None))
    if is_year is not None:
        for m in _BARE_YEAR.finditer(text):
            if is_year(int(m["y"])) and not is_amount(text, m.start(), m.end()):
                found.append(_expression(m, m["y"], None))
    return found


def _expression(m: re.Match[str], year: str | None, month: int | None) -> TimeExpression:
    number = int(year) if year else None
    return TimeExpression(m.start(), m.end(), Kind.YEAR, year=number, month=month)
