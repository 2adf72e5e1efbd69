"""Write a window as a task of ACES (es-aces 0.7), as far as both can say."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from cohorts.engine.language import (
    ANCHOR,
    ANY,
    All,
    Criterion,
    Event,
    Not,
    Picked,
    Some,
    Stay,
    Window,
    find_picked,
)
from cohorts.engine.relations import Interval
from cohorts.engine.values import WindowError


def write_aces(window: Window, *, codes: Mapping[str, Sequence[str]]) -> str:
    """Return the task as YAML; raises WindowError for what ACES cannot say.

    `codes` are those that MEDS data have for each concept; its subjects must be stays.
    """
    if not isinstance(window.anchor, Picked):
        raise WindowError(f"anchor: ACES has no {window.anchor}. Anchor the window at a concept.")
    names = _name_predicates(window, codes)
    windows: dict[str, Any] = {}
    for event in _list_events(window.where):
        key = f"window_{len(windows) + 1}"
        windows[key] = _write_event(event, names, window.anchor)
    task = {
        "description": window.name,
        "predicates": {
            name: _write_predicate(picked, codes[picked.concept]) for picked, name in names.items()
        },
        "trigger": names[window.anchor],
        "windows": windows,
    }
    return yaml.safe_dump(task, sort_keys=False, allow_unicode=True, width=100)


def _name_predicates(window: Window, codes: Mapping[str, Sequence[str]]) -> dict[Picked, str]:
    found: dict[Picked, str] = {}
    for picked in find_picked(window):
        if picked.which != ANY:
            raise WindowError(
                f"{picked.concept}: ACES takes every occurrence, not the first or last. Use any."
            )
        if not codes.get(picked.concept):
            raise WindowError(f"{picked.concept}: the concept has no codes in MEDS data.")
        name = re.sub(r"\W+", "_", picked.concept, flags=re.ASCII).strip("_").lower() or "concept"
        taken = set(found.values())
        numbered = (f"{name}_{n}" for n in range(2, len(taken) + 3))
        if picked not in found:
            found[picked] = next(n for n in (name, *numbered) if n not in taken)
    return found


def _write_predicate(picked: Picked, codes: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"code": codes[0] if len(codes) == 1 else {"any": list(codes)}}
    value = picked.value or Interval()
    if not math.isinf(value.low):
        found |= {"value_min": value.low, "value_min_inclusive": not value.low_open}
    if not math.isinf(value.high):
        found |= {"value_max": value.high, "value_max_inclusive": not value.high_open}
    return found


def _list_events(criterion: Criterion) -> list[Event]:
    """Return the events that must all be true."""
    match criterion:
        case All(parts):
            return [event for part in parts for event in _list_events(part)]
        case Event():
            return [criterion]
        case Not(Event(at_least=least, at_most=None) as event) if least > 0:
            most = least - 1
            return [Event(event.picked, event.relations, 0, most, event.name, event.where)]
    what = {Stay: "a fact of the stay", Some: "any of several criteria"}
    said = what.get(type(criterion), "not, except of an event at least n times")
    raise WindowError(f"where: ACES cannot say {said}. Export only events that must all be true.")


def _write_event(event: Event, names: Mapping[Picked, str], anchor: Picked) -> dict[str, Any]:
    concept = event.picked.concept
    if event.where.parts:
        raise WindowError(f"{concept}: ACES has no criteria inside of an event.")
    if any(span.reference != ANCHOR for span in event.spans):
        raise WindowError(f"{concept}: ACES counts hours from the trigger. Use after anchor.")
    hours = _intersect(event)
    least, most = event.at_least, event.at_most
    if concept == anchor.concept and hours.includes(0):
        if event.picked.value not in (None, anchor.value):
            raise WindowError(f"{concept}: ACES may count the anchor here. Start after the anchor.")
        # ACES counts the trigger too.
        least, most = least + 1, None if most is None else most + 1
    limits = (str(least) if least else "None", "None" if most is None else str(most))
    return _write_ends(hours) | {"has": {names[event.picked]: f"({limits[0]}, {limits[1]})"}}


def _intersect(event: Event) -> Interval:
    spans = [span.hours for span in event.spans]
    low, low_open = max(((s.low, s.low_open) for s in spans), default=(-math.inf, False))
    high, closed = min(((s.high, not s.high_open) for s in spans), default=(math.inf, True))
    try:
        found = Interval(low, high, low_open, not closed)
    except ValueError as error:
        raise WindowError(f"{event.picked.concept}: {error}.") from None
    if found.low == found.high or (math.isinf(found.low) and math.isinf(found.high)):
        raise WindowError(
            f"{event.picked.concept}: ACES needs a start or an end, and time between them."
        )
    return found


def _write_ends(hours: Interval) -> dict[str, Any]:
    """Write both ends; one of them must refer to the other."""
    if math.isinf(hours.low):
        ends = {"start": None, "end": _write_offset("trigger", hours.high)}
    elif math.isinf(hours.high):
        ends = {"start": _write_offset("trigger", hours.low), "end": None}
    else:
        ends = {
            "start": _write_offset("trigger", hours.low),
            "end": _write_offset("start", hours.high - hours.low),
        }
    return {
        **ends,
        "start_inclusive": not hours.low_open,
        "end_inclusive": not hours.high_open,
    }


def _write_offset(reference: str, hours: float) -> str:
    if not hours:
        return reference
    seconds = round(abs(hours) * 3600)
    return f"{reference} {'-' if hours < 0 else '+'} {seconds} seconds"
