"""Read elements of FHIR resources: texts, numbers, concepts and times.

The readers of resources trust the shape of a resource. If it has another shape, they fail with one
of SHAPE_ERRORS, and the R4 models name the fault (`ehr.formats.fhir.validation`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

from ehr.formats.mimic_iv.tables import DATE_ONLY

Resource = Mapping[str, Any]
#: A Python error that says that an element has another type than FHIR gives it.
SHAPE_ERRORS = (TypeError, AttributeError, KeyError, IndexError)
TIME = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)"
    r"(?:T(?P<clock>\d\d:\d\d(?::\d\d)?)(?P<part>\.\d+)?"
    r"(?:Z|[+-](?:0\d|1[0-3]):[0-5]\d|[+-]14:00)?)?",
    re.ASCII,
)
PARTIAL = re.compile(r"\d{4}(?:-(?:0[1-9]|1[0-2]))?", re.ASCII)
LONGEST_TIME = 60
LONGEST_KEPT = 200
#: Addresses of code systems → the names by which people know them.
SYSTEMS = {
    "http://loinc.org": "loinc",
    "http://snomed.info/sct": "snomed",
    "http://www.nlm.nih.gov/research/umls/rxnorm": "rxnorm",
    "http://hl7.org/fhir/sid/icd-10": "icd-10",
    "http://hl7.org/fhir/sid/icd-10-cm": "icd-10-cm",
    "http://hl7.org/fhir/sid/icd-9-cm": "icd-9-cm",
    "http://hl7.org/fhir/sid/ndc": "ndc",
    "http://www.whocc.no/atc": "atc",
}


class Fault(ValueError):
    """Why a resource cannot be imported; `field` is a path inside it."""

    log_safe = True

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field
        self.reason = reason


class Moment(NamedTuple):
    """A time of the record; `day`: it names a day and no hour.

    `time` is None for a year or a month: neither is a time of a row.
    """

    time: datetime | None
    day: bool = False


NEVER = Moment(None)


def read_moment(resource: Resource, name: str) -> Moment:
    """Return the time of an element, NEVER if it is missing. Raises Fault."""
    text = resource.get(name)
    if text is None:
        return NEVER
    moment = _parse(text) if len(text) <= LONGEST_TIME else None
    if moment is None:
        raise Fault(name, "not a date and time of FHIR")
    return moment


@lru_cache(maxsize=1 << 16)
def _parse(text: str) -> Moment | None:
    """Return the local time that the text itself names.

    The offset is cut off: 08:30+02:00 is 08:30 where it was written.
    """
    found = TIME.fullmatch(text)
    if found is None:
        return Moment(None) if PARTIAL.fullmatch(text) and text[:4] != "0000" else None
    clock, part = found["clock"], found["part"] or ""
    try:
        time = datetime.fromisoformat(
            f"{found['day']}T{clock or '00:00'}{part[:7]:0<7}"
            if part
            else f"{found['day']}T{clock or '00:00'}"
        )
    except ValueError:
        return None
    return Moment(time, day=clock is None)


def read_period(resource: Resource, name: str) -> tuple[Moment, Moment]:
    """Return the start and end of a Period. Raises Fault."""
    period = resource.get(name)
    if period is None:
        return NEVER, NEVER
    try:
        start, end = read_moment(period, "start"), read_moment(period, "end")
    except Fault as fault:
        raise Fault(f"{name}.{fault.field}", fault.reason) from None
    if start.time and end.time and find_end(end) < start.time:
        raise Fault(f"{name}.end", "before the start")
    return start, end


def find_end(moment: Moment) -> datetime:
    """Return the time, or the last moment if it is a day."""
    assert moment.time is not None
    if not moment.day:
        return moment.time
    return moment.time.replace(hour=23, minute=59, second=59, microsecond=999_999)


def say_text(value: str | None) -> str:
    """Return a string on one line. Raises TypeError for anything else."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError
    return _clean(value) if len(value) <= LONGEST_KEPT else " ".join(value.split())


def say_exact(value: str | None) -> str:
    """Return a string with its line breaks. Raises TypeError for others."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError
    return value.strip()


@lru_cache(maxsize=1 << 16)
def _clean(value: str) -> str:
    """Return a short text on one line; the same ones come again and again."""
    return " ".join(value.split())


def say_number(value: float | None) -> str:
    """Return a number as text. Raises TypeError for anything else."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise TypeError
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def say_quantity(quantity: Resource | None) -> tuple[str, str]:
    """Return (value, unit) of a Quantity; a comparator precedes the value."""
    if quantity is None:
        return "", ""
    number = say_number(quantity.get("value"))
    comparator = say_text(quantity.get("comparator")) if number else ""
    return comparator + number, say_text(quantity.get("unit") or quantity.get("code"))


def say_concept(concept: Resource | None) -> str:
    """Return a CodeableConcept in words: its text, a display, or a code."""
    if concept is None:
        return ""
    if text := say_text(concept.get("text")):
        return text
    codings = concept.get("coding") or ()
    words = (say_text(c.get(name)) for name in ("display", "code") for c in codings)
    return next(filter(None, words), "")


def say_codes(concept: Resource | None) -> str:
    """Return all codes of a concept: "loinc 2524-7, snomed 271236005"."""
    if concept is None:
        return ""
    codings = [c for c in concept.get("coding") or () if c.get("code")]
    return ", ".join([_say_code(say_text(c.get("system")), say_text(c["code"])) for c in codings])


@lru_cache(maxsize=1 << 13)
def _say_code(address: str, code: str) -> str:
    """Return a code with the short name of its system."""
    system = SYSTEMS.get(address) or address.rstrip("/").rpartition("/")[2]
    return f"{system} {code}".strip()


def find_codes(concepts: Resource | list[Resource] | None) -> set[str]:
    """Return the codes of a concept or of several."""
    listed = concepts if isinstance(concepts, list) else [concepts] if concepts else []
    return {say_text(c.get("code")) for concept in listed for c in concept.get("coding") or ()}


@lru_cache(maxsize=1 << 13)
def make_event(category: str, name: str, act: str = "") -> str:
    """Return `category:name:act` in lower case. Raises Fault without a name."""
    if not name:
        raise Fault("code", "the resource has neither a text nor a code")
    event = f"{category}:{name.replace(':', ' ')}:{act.replace(':', ' ')}".lower()
    return " ".join(event.split())


def mark_day(unit: str, moment: Moment) -> str:
    """Return the unit, which says so if the time is only a day."""
    if not moment.day:
        return unit
    return f"{unit} ({DATE_ONLY})" if unit else DATE_ONLY


def find_profile(resource: Resource) -> str:
    """Return the name of a MIMIC-IV on FHIR profile, "" for any other."""
    for address in (resource.get("meta") or {}).get("profile") or ():
        if "mimic.mit.edu" in address:
            return say_text(address).rpartition("/")[2]
    return ""
