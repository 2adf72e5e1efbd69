"""Say in English what a window asks."""

from __future__ import annotations

import math

from cohorts.engine import language as lang
from cohorts.engine.language import All, Criterion, Event, Not, Picked, Some, Stay, Window
from cohorts.engine.phrases import write_number
from cohorts.engine.places import put_parts
from cohorts.engine.relations import After, Before, Between, Interval, Relation, Within

_INDENT = "  "


def describe_window(window: Window) -> str:
    """Return a sentence; several criteria are on lines of their own."""
    if isinstance(window.anchor, str):
        start = f"Stays, counted from {window.anchor}"
    else:
        start = f"Stays with {_describe_picked(window.anchor)} as the anchor"
    parts = window.where.parts
    if not parts:
        return f"{start}."
    if len(parts) == 1 and not _describe(parts[0], 1)[1:]:
        return f"{start}, such that {_describe(parts[0], 1)[0]}."
    lines = [line for part in parts for line in _list(part, 0)]
    return "\n".join([f"{start}, such that all of these are true:", *lines])


def describe_alone(criterion: Criterion) -> str:
    """Return one line on a criterion, without what is inside of it."""
    match criterion:
        case All() | Some():
            word = "all of these are" if isinstance(criterion, All) else "at least one of these is"
            return f"{word} true:"
        case Not():
            return "it is not true that:"
        case _:
            return _describe(put_parts(criterion, ()), 1)[0]


def _list(part: Criterion, depth: int) -> list[str]:
    first, *rest = _describe(part, depth + 1)
    return [f"{_INDENT * depth}- {first}", *rest]


def _describe(criterion: Criterion, depth: int) -> list[str]:
    """Return the lines of a criterion, indented by `depth` but the first."""
    match criterion:
        case Stay():
            return [_describe_stay(criterion)]
        case Not(part):
            first, *rest = _describe(part, depth)
            return [f"it is not true that {first}", *rest]
        case All(parts) | Some(parts):
            word = "all" if isinstance(criterion, All) else "at least one"
            if not parts:
                return [f"{word} of nothing is true"]
            lines = [line for part in parts for line in _list(part, depth)]
            return [f"{word} of these {'are' if word == 'all' else 'is'} true:", *lines]
        case Event():
            return _describe_event(criterion, depth)


def _describe_event(event: Event, depth: int) -> list[str]:
    parts = [_describe_count(event), *(_describe_relation(r) for r in event.relations)]
    if event.name:
        parts.append(f"(call it {event.name})")
    first = " ".join(parts)
    inner = event.where.parts
    if not inner:
        return [first]
    if len(inner) == 1 and not _describe(inner[0], depth)[1:]:
        return [f"{first}, such that {_describe(inner[0], depth)[0]}"]
    return [f"{first}, such that:", *(line for part in inner for line in _list(part, depth))]


def _describe_count(event: Event) -> str:
    what = _describe_picked(event.picked)
    if event.at_most == 0:
        any_one = event.picked.which == lang.ANY
        return f"{_lead(event, 'no')} happens" if any_one else f"{what} does not happen"
    if event.picked.which != lang.ANY or (event.at_least, event.at_most) == (1, None):
        return f"{what} happens"
    least = f"at least {event.at_least}" if event.at_least else ""
    most = f"at most {event.at_most}" if event.at_most is not None else ""
    numbers = " and ".join(part for part in (least, most) if part) or "any number of"
    return f"{_lead(event, numbers)} happen"


def _lead(event: Event, numbers: str) -> str:
    return f"{numbers} “{event.picked.concept}”{_describe_value(event.picked.value)}"


def _describe_picked(picked: Picked) -> str:
    which = {lang.ANY: "any", lang.FIRST: "the first", lang.LAST: "the last"}
    word = which.get(picked.which) or f"occurrence {picked.which} of"
    return f"{word} “{picked.concept}”{_describe_value(picked.value)}"


def _describe_value(value: Interval | None) -> str:
    return f" with a value of {_describe_interval(value)}" if value else ""


def _describe_interval(value: Interval) -> str:
    if value.low == value.high:
        return write_number(value.low)
    limits = []
    if not math.isinf(value.low):
        word = "more than" if value.low_open else "at least"
        limits.append(f"{word} {write_number(value.low)}")
    if not math.isinf(value.high):
        word = "less than" if value.high_open else "at most"
        limits.append(f"{word} {write_number(value.high)}")
    return " and ".join(limits)


def _describe_stay(stay: Stay) -> str:
    if isinstance(stay.value, str):
        return f"{stay.about} is {'not ' if stay.negated else ''}“{stay.value}”"
    return f"{stay.about} is {_describe_interval(stay.value)}"


def _describe_relation(relation: Relation) -> str:
    match relation:
        case Within(hours, reference, before):
            side = "before" if before else "after"
            return f"{_describe_hours(hours)} {side} {_name(reference)}"
        case Before(reference):
            return f"before {_name(reference)}"
        case After(reference):
            return f"after {_name(reference)}"
        case Between(start, end, during):
            if during:
                return f"from {_name(start)} to {_name(end)}, both included"
            return f"between {_name(start)} and {_name(end)}"


def _describe_hours(hours: Interval) -> str:
    if math.isinf(hours.low) and math.isinf(hours.high):
        return "at any time"
    if math.isinf(hours.low) or math.isinf(hours.high):
        return f"{_describe_interval(hours)} h"
    low = f"{'more than ' if hours.low_open else ''}{write_number(hours.low)}"
    return f"{low} to {'less than ' if hours.high_open else ''}{write_number(hours.high)} h"


def _name(reference: str) -> str:
    return "the anchor" if reference == lang.ANCHOR else reference
