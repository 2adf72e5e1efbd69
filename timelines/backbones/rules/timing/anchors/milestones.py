"""Stations of an admission that other times refer to.

They are the outside hospital, emergency department, floor, unit and discharge. Each has a usual
time relative to admission until the note states when it was reached.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum

from timelines.backbones.rules.timing.estimate import Estimate, Strength
from timelines.domain import Anchor


class Place(StrEnum):
    """A station; the order is that of a usual stay."""

    OUTSIDE = "outside hospital"
    EMERGENCY = "emergency department"
    ADMISSION = "admission"
    FLOOR = "floor"
    UNIT = "unit"
    DISCHARGE = "discharge"


#: Usual time and bounds, hours from admission. Because of boarding, admission follows the ED
#: registration by some hours.
_USUAL: dict[Place, tuple[float, float, float]] = {
    Place.OUTSIDE: (-5.0, -24.0, -1.0),
    Place.EMERGENCY: (-2.0, -10.0, -0.3),
    Place.ADMISSION: (0.0, 0.0, 0.0),
    Place.FLOOR: (2.0, 0.0, 8.0),
    Place.UNIT: (2.5, 0.0, 8.0),
    Place.DISCHARGE: (72.0, 12.0, 720.0),
}

#: Reason of a time that rests on the usual arrival in the emergency department, and its hour.
USUAL_ARRIVAL = "usual time of the emergency department"
USUAL_ARRIVAL_HOUR = _USUAL[Place.EMERGENCY][0]

_UNIT = r"(?:[a-z]{0,6}icu|ccu|intensive\s+care(?:\s+unit)?|the\s+unit|unit|step-?\s?down)"
_PATTERNS: tuple[tuple[Place, re.Pattern[str]], ...] = (
    (Place.DISCHARGE, re.compile(r"\b(?:discharge|d/c|dc)\b", re.IGNORECASE)),
    (
        Place.OUTSIDE,
        re.compile(
            r"\bosh\b|\b(?:outside|another|referring|community|local)\s+(?:hospital|facility|ed|er)\b",
            re.IGNORECASE,
        ),
    ),
    (
        Place.EMERGENCY,
        re.compile(
            r"\b(?:ed|er|ew|emergency\s+(?:department|room|ward))\b|\btriage\b", re.IGNORECASE
        ),
    ),
    (Place.UNIT, re.compile(rf"\b{_UNIT}\b", re.IGNORECASE)),
    (Place.FLOOR, re.compile(r"\b(?:floors?|wards?)\b", re.IGNORECASE)),
    (
        Place.EMERGENCY,
        re.compile(
            r"^(?:(?:the|her|his|initial|this)\s+)*(?:presentation|presenting|arrival|coming|she\s+came|he\s+came)\b",
            re.IGNORECASE,
        ),
    ),
    (Place.ADMISSION, re.compile(r"\b(?:admission|hospitalization)\b|\badmit", re.IGNORECASE)),
)
_UNIT_NAME = re.compile(r"\b(?:[A-Z]{1,6}ICU|CCU)\b", re.IGNORECASE)
#: A movement into a station: a verb or noun of movement, shortly before its name, or "MICU
#: arrival".
_MOVEMENT = re.compile(
    r"\b(?:arriv\w+|reach\w+|transfer\w*|xfer\w*|tx'?d?\b|admi\w+|taken|moved|brought|rushed|"
    r"came|come|coming|went|sent|presented|presents|transported|returned|"
    r"call\w*\s+out|left|to|triaged)\b[^.;:]{0,40}?$",
    re.IGNORECASE,
)
_ON_ARRIVAL = re.compile(
    r"\b(?:on|upon|at)\s+(?:(?:the|his|her|their|initial|first)\s+)*(?:arrival|presentation)\b"
    r"(?!\s+(?:to|at|in)\b)",
    re.IGNORECASE,
)
_NOUN_AFTER = re.compile(r"\s*(?:arrival|admission|transfer)\b", re.IGNORECASE)


@dataclass
class Milestones:
    """The known times of stations; `reached` grows while the note is read.

    `discharge` is its hour if the stay is known to have ended then.
    """

    anchor: Anchor
    discharge: float | None = None
    reached: dict[Place, Estimate] = field(default_factory=dict)

    def at(self, place: Place) -> Estimate:
        """When the station was reached: as given, as the note says, else as usual."""
        if place is Place.DISCHARGE and self.discharge is not None:
            at = self.discharge
            reason = "the hour of discharge"
            return Estimate(at, at, at, Strength.EXPLICIT, "discharge", reason, known=True)
        if place in self.reached:
            return self.reached[place]
        point, low, high = _USUAL[place]
        reason = USUAL_ARRIVAL if place is Place.EMERGENCY else f"usual time of {_WORDS[place]}"
        if self.anchor.kind == "presentation" and place is Place.EMERGENCY:
            point, low, high, reason = 0.0, 0.0, 0.0, "the presentation, which is hour 0"
        elif self.anchor.kind == "presentation" and place is Place.OUTSIDE:
            point, low, high = -3.0, -24.0, 0.0
        floor = self.reached.get(Place.FLOOR)
        if (
            place is Place.UNIT
            and floor is not None
            and floor.time is not None
            and floor.time >= point
        ):
            point, high = floor.time + 3.0, floor.time + 24.0
        return Estimate(point, low, high, Strength.PLACE, "place", reason, known=True)

    def reach(self, place: Place, estimate: Estimate) -> None:
        """Record the first arrival at a station that the note dates."""
        if place is Place.ADMISSION or estimate.time is None:
            return
        known = self.reached.get(place)
        better = (
            known is not None
            and known.strength < Strength.EXPLICIT <= estimate.strength
            and abs(estimate.time - (known.time or 0.0)) < 10
        )
        if known is not None and not better:
            return
        if place is Place.EMERGENCY and not -72 <= estimate.time <= 1:
            return
        if place is Place.OUTSIDE and not -240 <= estimate.time <= 0:
            return
        if place in (Place.UNIT, Place.FLOOR) and not -2 <= estimate.time <= 48:
            return
        self.reached[place] = estimate


_WORDS = {
    Place.OUTSIDE: "the outside hospital",
    Place.EMERGENCY: "the emergency department",
    Place.ADMISSION: "admission",
    Place.FLOOR: "reaching the floor",
    Place.UNIT: "reaching the unit",
    Place.DISCHARGE: "discharge",
}


def find_unit(phrase: str) -> str:
    """Return the unit that a phrase names, in capitals ("MICU").

    Empty for none or "the unit".
    """
    match = _UNIT_NAME.search(phrase)
    return match.group().upper() if match else ""


def find_place(phrase: str) -> Place | None:
    """Return the station that a phrase names, or None.

    Example: "arrival to the MICU".
    """
    return next((place for place, pattern in _PATTERNS if pattern.search(phrase)), None)


def find_arrival(clause: str) -> Place | None:
    """Return the station that was reached according to a clause.

    Examples: "She reached the MICU", "To TSICU", "CCU arrival".
    """
    found: tuple[int, Place] | None = None
    for place, pattern in _PATTERNS[1:5]:
        for match in pattern.finditer(clause):
            if place is Place.EMERGENCY and re.search(
                r"(?:osh|outside|another|hospital)\W+(?:\w+\W+)?$",
                clause[: match.start()],
                re.IGNORECASE,
            ):
                continue
            moved = _MOVEMENT.search(clause[: match.start()]) or _NOUN_AFTER.match(
                clause, match.end()
            )
            left = re.search(
                r"\bfrom\s+(?:the\s+|an?\s+|our\s+)?$", clause[: match.start()], re.IGNORECASE
            )
            if moved and not left and (found is None or match.start() > found[0]):
                found = (match.start(), place)
    return found[1] if found else None


def says_on_arrival(clause: str) -> bool:
    """Return whether a clause says "on arrival", and not at a named place."""
    return _ON_ARRIVAL.search(clause) is not None and find_place(clause) is not Place.OUTSIDE


def find_setting(clause: str) -> Place | None:
    """Return the station of a clause, None if it names none.

    Examples: "in our ED", "At OSH K 6.1".
    """
    match = re.search(
        r"\b(?:at|in|by|to)\s+(?:the\s+|our\s+|an?\s+)?(?:\w+\s+)?(osh|outside hospital|another "
        r"hospital|ed|er|emergency\s+(?:department|room)|triage)\b|^\W*(ed|osh)\b",
        clause,
        re.IGNORECASE,
    )
    if match:
        word = (match[1] or match[2]).lower()
        return (
            Place.OUTSIDE
            if word in ("osh", "outside hospital", "another hospital")
            else Place.EMERGENCY
        )
    return None
