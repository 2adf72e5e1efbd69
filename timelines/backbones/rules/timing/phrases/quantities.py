"""Amounts of time in words.

"three days", "a couple of hours", "2-3 wks", "an hour and a half". Every amount becomes hours with
bounds. A day is 24, a week 168, a month 720, a year 8760 (protocol section 1).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from timelines.domain import DAY, HOUR, MONTH, WEEK, YEAR

_UNITS: tuple[tuple[str, float], ...] = (
    (r"sec(?:ond)?s?", HOUR / 3600),
    (r"moments?", HOUR / 20),
    (r"min(?:ute)?s?", HOUR / 60),
    (r"h(?:ou)?rs?|h", HOUR),
    (r"days?|nights|mornings|evenings|d", DAY),
    (r"w(?:ee)?ks?|(?<=\d)w", WEEK),
    (r"months?|mo?n?ths?|mos?", MONTH),
    (r"y(?:ea)?rs?|y", YEAR),
    (r"decades?", 10 * YEAR),
)

_CARDINALS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
]
_WORDS: dict[str, float] = {word: float(i) for i, word in enumerate(_CARDINALS)}
_WORDS |= {
    "thirty": 30.0,
    "forty": 40.0,
    "fifty": 50.0,
    "sixty": 60.0,
    "seventy": 70.0,
    "eighty": 80.0,
    "ninety": 90.0,
}
_WORDS |= {
    "a": 1.0,
    "an": 1.0,
    "a quarter of an": 0.25,
    "three quarters of an": 0.75,
    "dozen": 12.0,
    "half": 0.5,
    "half a": 0.5,
    "half an": 0.5,
    "a half": 0.5,
}

#: Vague counts: the point, and the least and most that the word is used for.
_VAGUE: dict[str, tuple[float, float, float]] = {
    "couple": (2.0, 1.5, 3.0),
    "few": (3.0, 2.0, 5.0),
    "several": (4.0, 3.0, 8.0),
    "some": (4.0, 2.0, 10.0),
    "many": (10.0, 4.0, 40.0),
    "multiple": (4.0, 2.0, 10.0),
}

#: A unit without a count ("minutes later", "for months"): the point, least and most, in that unit.
_BARE: dict[float, tuple[float, float, float]] = {
    HOUR / 3600: (30.0, 5.0, 120.0),
    HOUR / 20: (1.0, 0.2, 4.0),
    HOUR / 60: (10.0, 2.0, 45.0),
    HOUR: (3.0, 1.0, 10.0),
    DAY: (3.0, 1.5, 8.0),
    WEEK: (3.0, 1.5, 8.0),
    MONTH: (4.0, 2.0, 12.0),
    YEAR: (5.0, 2.0, 20.0),
    10 * YEAR: (2.0, 1.0, 5.0),
}

_UNIT = "|".join(f"(?:{pattern})" for pattern, _ in _UNITS)
_TENS = (
    r"(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[-"
    r" ](?:one|two|three|four|five|six|seven|eight|nine))?"
)
_WORD = "|".join(sorted((w for w in _CARDINALS), key=len, reverse=True))
_NUMBER = rf"(?:\d+(?:\.\d+)?|{_TENS}|{_WORD})"
_COUNT = (
    rf"(?:{_NUMBER}(?:\s*(?:-|–|to|or)\s*{_NUMBER})?|(?:three\s+quarters|an?\s+quarter)\s+of\s+an|"
    rf"(?:a\s+)?(?:few|couple(?:\s+of)?)|several|some|many|multiple"
    r"|half(?:\s+an?)?|an?\s+half|an?|the\s+better\s+part\s+of\s+an?)"
)
_HEDGE = (
    r"(?:about|around|approximately|approx\.?|roughly|nearly|almost|over|more\s+than|at\s+least|less\s+than|under|"
    r"just\s+(?:over|under)|only|up\s+to|perhaps|maybe|barely|another|some(?=\s+(?:\d|two|three|"
    r"five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|forty))|not\s+quite|the\s+(?:last|"
    r"past)|~|≈|>|<|c\.)\s*"
)

#: An amount of time; give its text to `parse_quantity`. Bare units must be spelled out ("hours",
#: not "h").
QUANTITY = (
    rf"(?:{_HEDGE})*(?:(?:\b|(?<=[xX×])){_COUNT}\s*[-–]?\s*(?:more\s+|additional\s+)?(?:{_UNIT})\b\.?(?:\s+and\s+a\s+half)?"
    rf"(?:\s+or\s+(?:so|two|more|less))?)"
)
BARE_QUANTITY = r"(?:\b(?:some\s+|just\s+)?(?:seconds|moments|minutes|mins|hours|hrs|days|weeks|months|years|decades)\b)"
_COUNT_AND_UNIT = re.compile(
    rf"(?P<count>.*?)[\s–-]*(?:(?:more|additional)\s+)?(?<![a-z])(?P<unit>{_UNIT})\b\.?(?P<rest>\s+(?:and|or)\s.*)?$"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount of time in hours, with bounds.

    They are the least and the most that its wording allows (`high` None: open).
    """

    hours: float
    low: float
    high: float | None

    def scale(self, factor: float) -> Quantity:
        """Return the same wording, read as a fraction.

        "within two hours" is a point inside the two hours.
        """
        return Quantity(self.hours * factor, self.low * factor, self.high)


def number(text: str) -> float | None:
    """Return a count in figures or words; None for other text."""
    text = re.sub(r"[\s-]+", " ", text.strip().lower())
    if re.fullmatch(r"\d+(?:\.\d+)?", text):
        return float(text)
    if text in _WORDS:
        return _WORDS[text]
    tens, _, ones = text.partition(" ")
    if tens in _WORDS and ones in _WORDS and _WORDS[tens] >= 20:
        return _WORDS[tens] + _WORDS[ones]
    return None


def unit_hours(text: str) -> float | None:
    """Hours in one unit, by its word or abbreviation."""
    word = text.strip().lower().rstrip(".")
    for pattern, hours in _UNITS:
        if re.fullmatch(pattern, word):
            return hours
    return None


def parse_quantity(text: str) -> Quantity | None:
    """Convert words to hours with bounds.

    None if no unit or count is recognised. "three days" → 72 [60, 84]; "a few hours" → 3 [2, 5];
    "at least ten years" → 87600 [87600, open].
    """
    words = re.sub(r"\s+", " ", text.strip().lower())
    hedge = re.match(rf"(?:{_HEDGE})*", words)
    prefix = hedge.group() if hedge else ""
    core = words[len(prefix) :]
    found = _last_unit(core)
    if found is None:
        return None
    count_text, unit, suffix = found
    point = _count(count_text.strip(" -–"), unit)
    if point is None:
        return None
    value, low, high = point
    if "half" in suffix:
        value, low, high = value + 0.5, value + 0.25, value + 0.75
    if "or two" in suffix:
        value, low, high = value + 0.5, value, value + 1.0
    top: float | None = high * unit
    if re.search(r"at least|over|more than|>", prefix) and "just" not in prefix:
        low, top = value, None
    elif re.search(r"less than|under|<|up to|not quite|nearly|almost", prefix):
        top = value * unit
        value, low = (
            (value * 0.9, low * 0.9)
            if re.search(r"not quite|nearly|almost", prefix)
            else (value * 0.75, 0.0)
        )
    elif re.search(r"about|around|approx|rough|perhaps|maybe|~|≈|c\.", prefix) or "or so" in suffix:
        low, top = min(low, value * 0.7), max(high, value * 1.4) * unit
    return Quantity(value * unit, low * unit, top)


def _last_unit(core: str) -> tuple[str, float, str] | None:
    """Split "an hour and a half" into count, unit and rest.

    The unit is in hours; the rest follows the unit.
    """
    match = _COUNT_AND_UNIT.match(core)
    if match is None:
        return None
    hours = unit_hours(match["unit"])
    return None if hours is None else (match["count"], hours, match["rest"] or "")


def _count(text: str, unit: float) -> tuple[float, float, float] | None:
    """The count before a unit → (point, least, most)."""
    if not text or text in ("just",):
        return _BARE[unit]
    text = re.sub(r"^the better part of ", "", text)
    between = re.fullmatch(rf"(?P<low>{_NUMBER})\s*(?:-|–|to|or)\s*(?P<high>{_NUMBER})", text)
    if between:
        low, high = number(between["low"]), number(between["high"])
        if low is not None and high is not None and low < high:
            return (low + high) / 2, low, high
    if text == "some":
        return _BARE[unit]
    for word, triple in _VAGUE.items():
        if re.fullmatch(rf"(?:a )?{word}(?: of)?", text):
            return triple
    value = number(text)
    if value is None:
        return None
    margin = 0.5 if value >= 1 else value / 2
    return value, value - margin, value + margin


_UNIT_AFTER = re.compile(
    r"[/%]|\s*(?:m[lg]s?\b|mcg|cc\b|units?\b|kg|g\b|l\b|liters?|litres?|k\b|x\s?\d|k?cal\b|mm|cm|ft\b|feet|"
    r"meters?|metres?|steps|beats|cells|copies|iu\b|meq|mmol|ng\b|pg\b|u\b|bid\b|tid\b|qid\b|qd\b|q\s?\d|"
    r"daily|po\b|iv\b|sc\b|cells|nucleated|range|\((?!\d{1,2}/\d{1,2}\)))",
    re.IGNORECASE,
)
_THING_BEFORE = re.compile(
    r"(?:\b(?:mrn|room|rm|bed|ext|pager|phone|acct|no|number|ivf|lr|ns|ebl|uop|output|urine|i/?o|bnp|"
    r"ntprobnp|nt-probnp|ck|cpk|ldh|ast|alt|alk|ferritin|d-?dimer|plt|platelets?|wbc|dose|total|lipase|"
    r"amylase|crp|trig\w*|glucose|osm\w*|to|peak|max|of|is|was|bolus|count|about|mean|nadir|fio2|"
    r"tidal|volume|vt|weight|minus|plus|net|drained|removed|given|received|lost|over|under|than)|[#=<>≥≤+$])\s*[:=]?\s*$",
    re.IGNORECASE,
)


def is_amount(text: str, start: int, end: int) -> bool:
    """Return whether a number is an amount, because of the words next to it.

    Examples: "1100 mL", "LDH 2139".
    """
    return has_unit(text, end) or bool(_THING_BEFORE.search(text[max(0, start - 20) : start]))


def has_unit(text: str, end: int) -> bool:
    """Return whether a unit follows the number that ends at `end`."""
    return _UNIT_AFTER.match(text, end) is not None
