"""Read elements of FHIR resources: texts, numbers and concepts.

The readers of resources trust the shape of a resource. If it has another shape, they fail with one
of SHAPE_ERRORS, and the R4 models name the fault (`ehr.formats.fhir.validation`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import isfinite
from typing import Any

Resource = Mapping[str, Any]
#: A Python error that says that an element has another type than FHIR gives it.
SHAPE_ERRORS = (TypeError, AttributeError, KeyError, IndexError)
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


def find_profile(resource: Resource) -> str:
    """Return the name of a MIMIC-IV on FHIR profile, "" for any other."""
    for address in (resource.get("meta") or {}).get("profile") or ():
        if "mimic.mit.edu" in address:
            return say_text(address).rpartition("/")[2]
    return ""
