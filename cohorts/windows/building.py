"""Change the criteria of a window by what a person chose in a form.

Every step reads YAML and returns YAML, so that a page needs no script and no state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from cohorts.engine import language as lang
from cohorts.engine.language import All, Criterion, Event, Picked, Stay, Window
from cohorts.engine.phrases import read_pair, read_value, read_within
from cohorts.engine.relations import After, Before, Interval, Relation
from cohorts.engine.values import WindowError
from cohorts.engine.writing import write_window

Given = Mapping[str, str]
START = "name: New window\nanchor: admission\n"
WHICH = {"any": lang.ANY, "first": lang.FIRST, "last": lang.LAST}


def build(window: Window, step: str, given: Given) -> str:
    """Return the YAML of the window after a step.

    Raises WindowError naming the field that cannot be read.
    """
    kind, _, place = step.partition("-")
    if kind == "remove":
        return write_window(_remove(window, place))
    steps: Mapping[str, Callable[[Window, Given], Window]] = {
        "anchor": _set_anchor,
        "event": _add_event,
        "stay": _add_stay,
    }
    if kind not in steps:
        raise WindowError("Choose a step of the form.")
    try:
        return write_window(steps[kind](window, given))
    except WindowError:
        raise
    except ValueError as error:
        raise WindowError(f"{kind}: {error}.") from error


def _set_anchor(window: Window, given: Given) -> Window:
    anchor = given.get("anchor", "")
    name = given.get("name", "").strip() or window.name
    if anchor in (lang.ADMISSION, lang.DISCHARGE):
        return replace(window, name=name, anchor=anchor)
    return replace(window, name=name, anchor=Picked(anchor, None, _which(given, "anchor_which")))


def _add_event(window: Window, given: Given) -> Window:
    value = given.get("value", "").strip()
    picked = Picked(
        given.get("concept", ""), read_value(value) if value else None, _which(given, "which")
    )
    none = given.get("count") == "none"
    event = Event(
        picked,
        _relations(given),
        0 if none else _number(given.get("least") or "1", "at least"),
        0 if none else None,
        given.get("as", "").strip(),
    )
    inside = given.get("inside", "")
    where = _add_inside(window.where, inside, event) if inside else _join(window.where, event)
    return replace(window, where=where)


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


def _join(where: All, criterion: Criterion) -> All:
    return All((*where.parts, criterion))


def _add_inside(where: All, name: str, criterion: Event) -> All:
    """Add a criterion to the event of this name, wherever it is."""
    return All(tuple(_add_to(part, name, criterion) for part in where.parts))


def _add_to(part: Criterion, name: str, criterion: Event) -> Criterion:
    if not isinstance(part, Event):
        return part
    if part.name == name:
        return replace(part, where=_join(part.where, criterion))
    return replace(part, where=_add_inside(part.where, name, criterion))


def _add_stay(window: Window, given: Given) -> Window:
    about, compared = given.get("about", ""), given.get("compared", "")
    value = given.get("stay_value", "").strip()
    if not value:
        raise WindowError("value: enter what the fact of the stay is compared with.")
    if about in lang.WORDS:
        stay = Stay(about, value, compared == "is not")
    else:
        sign = {"at least": ">=", "at most": "<=", "is": "="}.get(compared, "")
        limit: Interval = read_value(f"{sign} {value}")
        stay = Stay(about, limit)
    return replace(window, where=_join(window.where, stay))


def _remove(window: Window, place: str) -> Window:
    """Leave out the top criterion at a place; a place that is not there changes nothing."""
    parts = [part for i, part in enumerate(window.where.parts) if str(i) != place]
    return replace(window, where=All(tuple(parts)))


def names_of_events(window: Window) -> list[str]:
    """Return the names that other criteria may refer to or be put inside of."""
    return [part.name for part in lang.walk(window.where) if isinstance(part, Event) and part.name]
