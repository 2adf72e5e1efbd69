"""List the criteria of a window for its builder, and fill the form with one of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from cohorts.engine import language as lang
from cohorts.engine.language import All, Criterion, Event, Some, Stay, Window
from cohorts.engine.phrases import write_number, write_value
from cohorts.engine.places import find_at, walk_places
from cohorts.engine.relations import After, Before, Between, Relation, Within
from cohorts.engine.words import describe_alone
from cohorts.windows.building import read_event, read_place, read_stay

_WHICH = {lang.ANY: "any", lang.FIRST: "first", lang.LAST: "last"}


@dataclass(frozen=True, slots=True)
class Line:
    """A criterion of the builder. `group`: others can be put inside of it.

    `fits`: the form can say it; else it is changed as YAML.
    """

    place: str
    number: str
    words: str
    group: bool
    fits: bool

    @property
    def depth(self) -> int:
        return self.place.count(".")


def list_lines(window: Window) -> list[Line]:
    """Return every criterion, each before those inside of it."""
    return [
        Line(
            ".".join(map(str, place)),
            ".".join(str(number + 1) for number in place),
            describe_alone(part),
            isinstance(part, Event | All | Some),
            bool(_fill(part)),
        )
        for place, part in walk_places(window.where)
    ]


def fill_form(window: Window, place: str) -> dict[str, str]:
    """Return the fields of the form for the criterion at a place; none if it does not fit.

    Raises WindowError for a place that cannot be read.
    """
    found = find_at(window, read_place(place))
    fields = _fill(found) if found else {}
    name = "stay_place" if isinstance(found, Stay) else "event_place"
    return fields | {name: place} if fields else {}


def _fill(criterion: Criterion) -> dict[str, str]:
    """Return fields from which the form builds this very criterion, else none."""
    try:
        if isinstance(criterion, Stay):
            fields = _fill_stay(criterion)
            return fields if read_stay(fields) == criterion else {}
        if isinstance(criterion, Event):
            fields = _fill_event(criterion)
            return fields if read_event(fields) == replace(criterion, where=All()) else {}
    except ValueError:
        pass
    return {}


def _fill_stay(stay: Stay) -> dict[str, str]:
    if isinstance(stay.value, str):
        return {
            "about": stay.about,
            "compared": "is not" if stay.negated else "is",
            "stay_value": stay.value,
        }
    low, high = stay.value.low, stay.value.high
    limit = "is" if low == high else "at most" if math.isinf(low) else "at least"
    number = high if limit == "at most" else low
    return {"about": stay.about, "compared": limit, "stay_value": write_number(number)}


def _fill_event(event: Event) -> dict[str, str]:
    fields = {
        "concept": event.picked.concept,
        "which": _WHICH.get(event.picked.which, ""),
        "value": write_value(event.picked.value) if event.picked.value else "",
        "count": "none" if event.at_most == 0 else "some",
        "least": str(event.at_least or 1),
        "as": event.name,
    }
    return fields | _fill_relation(event.relations[0]) if event.relations else fields


def _fill_relation(relation: Relation) -> dict[str, str]:
    match relation:
        case Within(hours, reference, before):
            ends = ["" if math.isinf(end) else write_number(end) for end in (hours.low, hours.high)]
            return {
                "relation": "within",
                "from": ends[0],
                "until": ends[1],
                "side": "before" if before else "after",
                "reference": reference,
            }
        case Before(reference):
            return {"relation": "before", "reference": reference}
        case After(reference):
            return {"relation": "after", "reference": reference}
        case Between(start, end, during):
            kind = "during" if during else "between"
            return {"relation": kind, "reference": start, "other": end}
