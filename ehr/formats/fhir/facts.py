"""A row as a resource states it, and times of several resource types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from ehr.formats.fhir.elements import Fault, Resource
from ehr.formats.fhir.times import NEVER, Moment, read_moment, read_period
from ehr.schema import TimeKind

T = TypeVar("T")


class Fact(NamedTuple):
    """One row of a resource; `codes` are kept in the row's source."""

    event: str
    moment: Moment
    kind: TimeKind
    value: str = ""
    unit: str = ""
    known: Moment = NEVER
    codes: str = ""


def read_inside(resource: Resource, place: str, read: Callable[[Resource, str], T], name: str) -> T:
    """Return what `read` makes of an element inside another. Raises Fault."""
    try:
        return read(resource.get(place) or {}, name)
    except Fault as fault:
        raise Fault(f"{place}.{fault.field}", fault.reason) from None


def read_choice(resource: Resource, name: str) -> tuple[Moment, Moment]:
    """Return (start, end) of an element of a choice of types.

    `effective` is effectiveDateTime, effectiveInstant, effectivePeriod or the first event of
    effectiveTiming. The end is NEVER except for a period. Raises Fault.
    """
    for type in ("DateTime", "Instant"):
        if f"{name}{type}" in resource:
            return read_moment(resource, f"{name}{type}"), NEVER
    if f"{name}Period" in resource:
        return read_period(resource, f"{name}Period")
    events: Sequence[str] = (resource.get(f"{name}Timing") or {}).get("event") or ()
    return (read_moment({"event": events[0]}, "event") if events else NEVER), NEVER
