"""Match measurements and specimens.

The stated value, the named condition and the reported result decide.
"""

from __future__ import annotations

import re

from timelines.backbones.rules.querying.reading import Reading
from timelines.backbones.rules.revision.conditions import fits_condition
from timelines.backbones.rules.revision.match import (
    REACH_ACT,
    REACH_RESULT,
    REACH_VALUE,
    REACH_WEAK,
    Match,
)
from timelines.backbones.rules.revision.stated import find_equal, stated_values
from timelines.domain import Polarity, SourceRow

_PRESSURES = re.compile(r"(?<![\d/.])(?P<systolic>\d{2,3})/(?P<diastolic>\d{2,3})(?![\d/])")
#: Outputs that are events in themselves, not a running total.
_PASSED = re.compile(r"void|emesis|vomit|stool|bowel movement|\bBM\b", re.IGNORECASE)
#: Charted assessments of a finding, which say when it was looked for; a normal reading does not.
_ASSESSED = re.compile(
    r"cam|delirium|pain|dyspnea|orientation|disturbance|ciwa|sweats|nausea|gcs|strength|stool"
)
_OF_PRESSURE = re.compile(r"systolic|diastolic|mean|\bbp[sd]\b")


def match_measurement(reading: Reading, row: SourceRow, *, implied: bool) -> Match | None:
    """Match a reading with the value that the text states.

    If the text states no value, a reading that fits the named condition matches.
    """
    values = stated_values(reading.text)
    if row.numeric_value is None:
        return (
            Match(0.7, REACH_WEAK, f"{row.event} was charted")
            if not values and not implied
            else None
        )
    pair = _PRESSURES.search(reading.text)
    if pair and _OF_PRESSURE.search(row.event):
        return _part_of_pair(pair, row)
    if values:
        stated = find_equal(values, row.numeric_value, row.unit, row.event)
        if stated is None:
            return None
        exact = stated.exact is not None
        written = exact and stated.covers(row.numeric_value)
        return Match(
            0.0 if written else 0.1 if exact else 0.25,
            REACH_VALUE,
            f"same measurement, same value {row.value} {row.unit}".rstrip(),
            exact,
        )
    fits = fits_condition(reading.text, _name_with_scale(row), row.numeric_value)
    if fits is None and _PASSED.search(reading.text) and _PASSED.search(row.event):
        return Match(0.45, REACH_WEAK, f"charted output of {row.value}", repeats=True)
    if fits is None:
        drawn = row.event.startswith("lab:") and not implied
        return (
            Match(0.6, REACH_WEAK, f"same test ({row.value}); the text states no value")
            if drawn
            else None
        )
    if reading.occurrence.polarity is Polarity.ABSENT and not _ASSESSED.search(row.event):
        return None
    return (
        Match(0.62, REACH_WEAK, f"reading {row.value} fits the condition named", repeats=True)
        if fits
        else None
    )


#: Units of a temperature whose name has no scale, as FHIR and OMOP write them.
_SCALES = (
    (re.compile(r"(?:\[?deg|°) ?f|fahrenheit", re.IGNORECASE), "fahrenheit"),
    (re.compile(r"cel|(?:deg|°) ?c|^c$", re.IGNORECASE), "celsius"),
)


def _name_with_scale(row: SourceRow) -> str:
    """Return the event name; of a temperature with the scale of its unit."""
    if "temperature" not in row.event:
        return row.event
    scale = next((name for unit, name in _SCALES if unit.search(row.unit)), "")
    return row.event if scale in row.event else f"{row.event} temperature {scale}"


def _part_of_pair(pair: re.Match[str], row: SourceRow) -> Match | None:
    """Match one number of a blood pressure such as "112/65".

    A systolic row has the first number, a diastolic one the second, a mean neither.
    """
    systolic = re.search(r"systolic|\bbps\b", row.event) is not None
    if not systolic and not re.search(r"diastolic|\bbpd\b", row.event):
        return None
    if float(pair["systolic" if systolic else "diastolic"]) != row.numeric_value:
        return None
    return Match(
        0.0 if systolic else 0.1,
        REACH_VALUE,
        f"same pressure, {row.value} of {pair.group()}",
        exact=True,
    )


_NEGATIVE_RESULT = re.compile(
    r"no growth|negative|no \w+ (?:isolated|found|seen|growth)|not (?:detected|isolated)|no"
    r" .{0,40}(?:isolated|found|seen)",
    re.IGNORECASE,
)
_SAYS_NEGATIVE = re.compile(
    r"\b(?:negative|no growth|ngtd|neg|sterile|without growth|no organisms?|did not"
    r" grow|unremarkable|no)\b",
    re.IGNORECASE,
)
_SAYS_POSITIVE = re.compile(
    r"\b(?:grew|grown|growing|positive|pos|bacteremia|gram[-"
    r" ]?(?:positive|negative)|MSSA|coli|aureus|"
    r"klebsiella|pseudomonas|enterococc\w+|strep\w*|staph\w*|candida|yeast)\b",
    re.IGNORECASE,
)


def match_specimen(reading: Reading, row: SourceRow) -> Match | None:
    """Match a culture by its collection.

    Its result must not contradict the text.
    """
    negative = bool(_NEGATIVE_RESULT.search(row.value))
    grew = bool(row.value.strip(" _")) and not negative
    says_negative, says_positive = (
        bool(_SAYS_NEGATIVE.search(reading.text)),
        bool(_SAYS_POSITIVE.search(reading.text)),
    )
    if (says_negative and not says_positive and grew) or (
        says_positive and not says_negative and negative
    ):
        return None
    agrees = (says_negative and negative) or (says_positive and grew)
    return Match(
        0.05 if agrees else 0.25,
        REACH_RESULT if agrees else REACH_ACT,
        "collection of the same specimen",
        exact=agrees,
    )
