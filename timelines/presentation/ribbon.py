"""The patient's course through the hospital, drawn by the ribbon.

Places come from the transfers and discharge of the record: emergency department, units and wards,
and where the patient went. Without a transfer the ribbon has one band for the stay. No Django here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from ehr.presentation.clock import Clock
from ehr.presentation.wording import span_words
from timelines.domain import Anchor
from timelines.presentation.axis import StayAxis, draw_bands

_SHORT = re.compile(r"\(([^()]+)\)\s*$")
_EMERGENCY = re.compile(r"\bemergency\b|\bed\b", re.IGNORECASE)
_ICU = re.compile(
    r"intensive|\bcritical care\b|\b\w*icu\b|\bccu\b|\bcvicu\b|coronary care", re.IGNORECASE
)
_THEATRE = re.compile(r"\boperating\b|\bpacu\b|\brecovery\b|\btheat(?:re|er)\b", re.IGNORECASE)
_DIED = re.compile(r"\bdied\b|\bdeath\b|\bexpired\b|\bdead\b", re.IGNORECASE)
#: Words of a transfer that name no place.
_NO_PLACE = frozenset({"", "transfer", "admit", "discharge", "unknown"})
_CAPITALS = frozenset({"ed", "icu", "micu", "sicu", "ccu", "cvicu", "tsicu", "nicu", "pacu"})
#: Hours that a place must last to be drawn.
_LEAST = 0.25


class PlaceKind(StrEnum):
    """What the ribbon's shade says of a place."""

    EMERGENCY = "emergency"
    ICU = "icu"
    THEATRE = "theatre"
    WARD = "ward"
    STAY = "stay"


@dataclass(frozen=True, slots=True)
class Move:
    """A row about a transfer, the admission or the discharge."""

    hours: float
    event: str
    value: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where the patient was, from and to (hours)."""

    name: str
    kind: PlaceKind
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Course:
    """Places in order; `way_out` says where the patient went, "" if unknown."""

    places: tuple[Place, ...]
    way_out: str = ""


def find_course(moves: Iterable[Move], discharge: float | None, last: float) -> Course:
    """Return the course of a stay.

    `last` is its end if no discharge is recorded.
    """
    ordered = sorted(moves, key=lambda move: move.hours)
    end = discharge if discharge is not None else last
    arrivals: list[tuple[float, str]] = []
    for move in ordered:
        name = _place_name(move)
        if name and move.hours < end and (not arrivals or arrivals[-1][1] != name):
            arrivals.append((move.hours, name))
    way_out = next((words for words in map(_way_out, reversed(ordered)) if words), "")
    if not arrivals:
        return Course((Place("Stay", PlaceKind.STAY, 0.0, end),), way_out)
    ends = [start for start, _ in arrivals[1:]] + [end]
    places = [
        Place(name, _kind(name), start, finish)
        for (start, name), finish in zip(arrivals, ends, strict=True)
        if finish - start >= _LEAST
    ]
    return Course(tuple(places) or (Place("Stay", PlaceKind.STAY, 0.0, end),), way_out)


def ribbon(course: Course, axis: StayAxis, anchor: Anchor) -> dict[str, Any]:
    """Return what the ribbon draws, on the axis of the page."""
    clock = Clock(anchor.at, axis.stay)
    return {
        "places": [_drawn(place, axis, clock) for place in course.places],
        "out": course.way_out,
        "days": {"day": draw_bands(axis.days(anchor)), "hours": draw_bands(axis.hour_days())},
        "nights": draw_bands(axis.nights(anchor)),
        "zero": round(axis.admission, 5),
        "end": round(axis.discharge, 5),
    }


def _drawn(place: Place, axis: StayAxis, clock: Clock) -> dict[str, Any]:
    return {
        "name": place.name,
        "kind": place.kind.value,
        "from": round(axis.position(place.start), 5),
        "to": round(axis.position(place.end), 5),
        "words": [_title(place, clock), _title(place, replace(clock, in_hours=True))],
    }


def _title(place: Place, clock: Clock) -> str:
    return f"{place.name}, from {clock.say(place.start)}, {span_words(place.end - place.start)}"


def _place_name(move: Move) -> str:
    category, _, rest = move.event.partition(":")
    if category != "transfer":
        return ""
    name, _, detail = rest.partition(":")
    said = next(
        (w.strip() for w in (move.value, detail, name) if w.strip().lower() not in _NO_PLACE), ""
    )
    if not said or name.strip().lower() == "discharge":
        return ""
    if _EMERGENCY.search(said):
        return "ED"
    short = _SHORT.search(said)
    return _with_capitals(short.group(1) if short else said)


def _with_capitals(words: str) -> str:
    if not words.islower():
        return words
    return " ".join(w.upper() if w in _CAPITALS else w.capitalize() for w in words.split())


def _kind(name: str) -> PlaceKind:
    if name == "ED":
        return PlaceKind.EMERGENCY
    if _ICU.search(name):
        return PlaceKind.ICU
    return PlaceKind.THEATRE if _THEATRE.search(name) else PlaceKind.WARD


def _way_out(move: Move) -> str:
    category, _, rest = move.event.lower().partition(":")
    parts: Sequence[str] = rest.split(":")
    if category != "admission" or "discharge" not in parts[0]:
        return ""
    said = (move.value or (parts[1] if len(parts) > 1 else "")).strip().lower()
    return "died" if _DIED.search(said) else said
