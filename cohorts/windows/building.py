"""Change the criteria of a window by what a person chose in a form.

Every step reads YAML and returns YAML, so that a page needs no script and no state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from cohorts.engine import language as lang
from cohorts.engine.language import All, Criterion, Event, Not, Picked, Some, Stay, Window
from cohorts.engine.phrases import read_pair, read_value, read_within
from cohorts.engine.places import Place, change_at, list_parts, put_parts
from cohorts.engine.relations import After, Before, Interval, Relation
from cohorts.engine.values import WindowError
from cohorts.engine.writing import write_window

Given = Mapping[str, str]
START = "name: New window\nanchor: admission\n"
WHICH = {"any": lang.ANY, "first": lang.FIRST, "last": lang.LAST}


def build(window: Window, step: str, given: Given) -> str:
    """Return the YAML of the window after a step, such as "event" or "remove-0.1".

    Raises WindowError naming the field that cannot be read.
    """
    kind, _, place = step.partition("-")
    changes: Mapping[str, Callable[[Criterion], Criterion | None]] = {
        "remove": lambda criterion: None,
        "not": _turn,
        "any": lambda criterion: Some((criterion,)),
    }
    if kind in changes:
        return write_window(change_at(window, read_place(place), changes[kind]))
    steps: Mapping[str, Callable[[Window, Given], Window]] = {
        "anchor": _set_anchor,
        "event": _put_event,
        "stay": _put_stay,
    }
    if kind not in steps:
        raise WindowError("Choose a step of the form.")
    try:
        return write_window(steps[kind](window, given))
    except WindowError:
        raise
    except ValueError as error:
        raise WindowError(f"{kind}: {error}.") from error


def read_place(text: str) -> Place:
    """Read "0.1" as the second part of the first criterion. Raises WindowError."""
    numbers = text.split(".")
    if not all(number.isdecimal() and len(number) < 4 for number in numbers):
        raise WindowError("Choose a criterion of the window.")
    return tuple(int(number) for number in numbers)


def _turn(criterion: Criterion) -> Criterion:
    return criterion.part if isinstance(criterion, Not) else Not(criterion)


def _set_anchor(window: Window, given: Given) -> Window:
    anchor = given.get("anchor", "")
    name = given.get("name", "").strip() or window.name
    if anchor in (lang.ADMISSION, lang.DISCHARGE):
        return replace(window, name=name, anchor=anchor)
    return replace(window, name=name, anchor=Picked(anchor, None, _which(given, "anchor_which")))


def _put_event(window: Window, given: Given) -> Window:
    """Add an event, or put it at a place: what is inside of the old one stays."""
    event = read_event(given)

    def change(old: Criterion) -> Criterion:
        return replace(event, where=old.where) if isinstance(old, Event) else event

    return _put(window, event, given.get("event_place", ""), given.get("inside", ""), change)


def read_event(given: Given) -> Event:
    """Return the event that a form describes. Raises ValueError."""
    value = given.get("value", "").strip()
    picked = Picked(
        given.get("concept", ""), read_value(value) if value else None, _which(given, "which")
    )
    none = given.get("count") == "none"
    return Event(
        picked,
        _relations(given),
        0 if none else _number(given.get("least") or "1", "at least"),
        0 if none else None,
        given.get("as", "").strip(),
    )


def _put(
    window: Window,
    criterion: Criterion,
    place: str,
    inside: str,
    change: Callable[[Criterion], Criterion],
) -> Window:
    if place:
        return change_at(window, read_place(place), change)
    if inside:
        return change_at(window, read_place(inside), lambda outer: _add(outer, criterion))
    return replace(window, where=All((*window.where.parts, criterion)))


def _add(outer: Criterion, criterion: Criterion) -> Criterion:
    if not isinstance(outer, All | Some | Event):
        raise WindowError("inside: choose an event or a group.")
    return put_parts(outer, (*list_parts(outer), criterion))


def _which(given: Given, field: str) -> int:
    return WHICH.get(given.get(field, ""), lang.ANY)


def _number(text: str, field: str) -> int:
    if not text.strip().isdigit() or len(text) > 6:
        raise WindowError(f"{field}: write a whole number, such as 2.")
    return int(text)


def _relations(given: Given) -> tuple[Relation, ...]:
    kind, to = given.get("relation", ""), given.get("reference", "") or lang.ANCHOR
    if kind == "within":
        low, high = (given.get(key, "").strip() for key in ("from", "until"))
        ends = [f"{end} h" if end else "any" for end in (low, high)]
        side = "before" if given.get("side") == "before" else "after"
        return (read_within(f"{ends[0]} to {ends[1]} {side} {to}"),)
    if kind in ("between", "during"):
        other = given.get("other", "") or lang.DISCHARGE
        return (read_pair(f"{to} and {other}", during=kind == "during"),)
    if kind == "before":
        return (Before(to),)
    return (After(to),) if kind == "after" else ()


def _put_stay(window: Window, given: Given) -> Window:
    stay = read_stay(given)
    inside = given.get("stay_inside", "")
    return _put(window, stay, given.get("stay_place", ""), inside, lambda old: stay)


def read_stay(given: Given) -> Stay:
    """Return the fact of the stay that a form describes. Raises ValueError."""
    about, compared = given.get("about", ""), given.get("compared", "")
    value = given.get("stay_value", "").strip()
    if not value:
        raise WindowError("value: enter what the fact of the stay is compared with.")
    if about in lang.WORDS:
        return Stay(about, value, compared == "is not")
    sign = {"at least": ">=", "at most": "<=", "is": "="}.get(compared, "")
    limit: Interval = read_value(f"{sign} {value}")
    return Stay(about, limit)


def names_of_events(window: Window) -> list[str]:
    """Return the names that other criteria may refer to."""
    return [part.name for part in lang.walk(window.where) if isinstance(part, Event) and part.name]
