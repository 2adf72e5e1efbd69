"""Check that a supplied summary shows a cited value at a cited time.

Protocol section 4. A citation has the form `<type> = <value> @ <hours>`. The type is copied from
the summary; hours count from admission ("+6h", "-12h", or "NA" if the record has no time). Without
` = <value>` only the time is checked. No Django.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from adjudication.judging.quotes import NOT_FOUND
from ehr.summarise import Observation, Series
from timelines.domain import Anchor

#: Hours that a citation may be off: summaries show clock times, and rounding one to whole hours may
#: go either way.
OFFSET_SLACK = 1.0
_CITED = re.compile(
    r"(?P<what>.+?)\s*@\s*(?:(?P<hours>[+-]?\d{1,7}(?:\.\d{1,4})?)\s*h?|(?P<none>NA|N/A))\s*\Z",
    re.DOTALL,
)
_FORM = "table_evidence is not of the form <type> = <value> @ <hours from admission>"


@dataclass(frozen=True, slots=True)
class CheckedCitation:
    """A citation after its check.

    `text` is the stored citation (None for null), `series` the event name of its summary (None if
    none is cited), `faults` what is wrong.
    """

    text: str | None = None
    series: str | None = None
    faults: tuple[str, ...] = ()


def read_table_evidence(
    value: str | None, supplied: Mapping[str, Series], anchor: Anchor
) -> CheckedCitation:
    """Check a citation; `supplied` maps one-line names to their summaries."""
    if value is None or value.strip().casefold() == NOT_FOUND:
        return CheckedCitation(None if value is None else NOT_FOUND)
    text = " ".join(value.split())
    match = _CITED.match(text.removeprefix("- "))
    if match is None:
        return CheckedCitation(faults=(_FORM,))
    hours = None if match["none"] else float(match["hours"])
    named = list(_readings(match["what"], supplied))
    if not named:
        return CheckedCitation(
            faults=("table_evidence names no supplied event type; copy the type exactly",)
        )
    for series, cited in named:
        if _is_shown(series, cited, hours, anchor):
            return CheckedCitation(text, series.event)
    return CheckedCitation(
        faults=("table_evidence: the summary does not show that value at that time",)
    )


def _readings(what: str, supplied: Mapping[str, Series]) -> Iterator[tuple[Series, str | None]]:
    """Yield every reading of `<type> = <value>` as (series, value or None).

    Type and value may both contain an equals sign, so there can be several.
    """
    for at, end in [(m.start(), m.end()) for m in re.finditer(r" ?= ?", what)] + [
        (len(what), len(what))
    ]:
        # The list puts a colon after the type; a judge may copy it as part of the type.
        series = supplied.get(what[:at]) or supplied.get(what[:at].removesuffix(":"))
        if series is not None:
            yield series, what[end:] if at < len(what) else None


def _is_shown(series: Series, value: str | None, hours: float | None, anchor: Anchor) -> bool:
    for seen in _observations(series):
        if _is_same_time(seen, hours, anchor) and (
            value is None or _is_same_value(value, seen.value, seen.unit)
        ):
            return True
    if series.observations is not None or series.numbers is not None:
        return False
    # The summary of a long series of words has no value together with its time: accept any listed
    # value at any time within the series' extent.
    known = value is None or any(
        _is_same_value(value, v, u) for v, _ in series.top_values for u in series.units or ("",)
    )
    return known and _is_in_range(series, hours, anchor)


def _observations(series: Series) -> Iterator[Observation]:
    """Yield the observations that a summary gives with both value and time."""
    if series.observations is not None:
        yield from series.observations
    elif series.numbers is not None:
        yield series.numbers.lowest
        yield series.numbers.highest
        yield from (o for o in (series.first, series.last) if o is not None)


def _is_in_range(series: Series, hours: float | None, anchor: Anchor) -> bool:
    first, last = series.first, series.last
    if hours is None or first is None or last is None or first.time is None or last.time is None:
        return hours is None and first is None
    return (
        anchor.hours(first.time) - OFFSET_SLACK <= hours <= anchor.hours(last.time) + OFFSET_SLACK
    )


def _is_same_time(seen: Observation, hours: float | None, anchor: Anchor) -> bool:
    if hours is None or seen.time is None:
        return hours is None and seen.time is None
    return abs(anchor.hours(seen.time) - hours) <= OFFSET_SLACK


def _is_same_value(cited: str, value: str, unit: str) -> bool:
    """Compare values as written, with or without unit; numbers by value."""
    bare, shown = cited.casefold(), " ".join(value.split()).casefold()
    measure = unit.casefold()
    if measure and bare.endswith(measure) and bare != shown:
        bare = bare[: -len(measure)].strip()
    if bare == shown:
        return True
    one, two = _number(bare), _number(shown)
    return one is not None and two is not None and math.isclose(one, two, rel_tol=1e-9, abs_tol=0.0)


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"[+-]?\d{1,15}(?:\.\d{1,15})?", text) else None
