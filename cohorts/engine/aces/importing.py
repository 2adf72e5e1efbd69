"""Read a task of ACES (es-aces 0.7) as a window, as far as both can say.

A predicate is the concept with the same codes; the trigger is the anchor; what a window of the
task has is an event within hours of the anchor. A member is a subject with at least one valid
trigger, so subjects of the MEDS data must be stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cohorts.engine.aces.predicates import Predicate, read_predicate
from cohorts.engine.aces.times import resolve_window
from cohorts.engine.language import ANCHOR, All, Event, Window
from cohorts.engine.marked import Marked, read_marked
from cohorts.engine.relations import Interval, Within

_HAS = re.compile(r"\(?\s*(\d{1,6}|None)?\s*,\s*(\d{1,6}|None)?\s*\)?")
_KEYS = ("predicates", "trigger", "windows", "description", "metadata")
_WINDOW_KEYS = (
    "start",
    "end",
    "start_inclusive",
    "end_inclusive",
    "has",
    "label",
    "index_timestamp",
)


@dataclass(frozen=True, slots=True)
class Imported:
    """A window, and sentences about what was left out or assumed."""

    window: Window
    notes: tuple[str, ...]


def read_aces(text: str, *, codes: Mapping[str, Sequence[str]], name: str) -> Imported:
    """Read a task over concepts; `codes` are those of each in MEDS data.

    A predicate is the concept with its codes, else the one with its name. Raises WindowError,
    which names line and key, for what a window cannot say.
    """
    given = read_marked(text)
    keys = given.get_keys("task")
    for key, value in keys.items():
        if key not in _KEYS:
            raise value.fail(key, "a window cannot say this. Remove it, and add a criterion after")
    for key in ("predicates", "trigger"):
        if key not in keys:
            raise given.fail(key, "missing")
    task = _Task(keys["predicates"], codes)
    trigger = task.find(keys["trigger"], keys["trigger"].get_text("trigger"))
    named = keys.get("windows")
    windows = named.get_keys("windows") if named and named.value is not None else {}
    events = [event for window in windows for event in _read_window(windows, window, task, trigger)]
    notes = (*_list_left_out(windows), *task.notes)
    return Imported(Window(name, trigger.picked, All(tuple(events))), notes)


@dataclass
class _Task:
    predicates: Marked
    codes: Mapping[str, Sequence[str]]
    notes: list[str] = field(default_factory=list)

    def find(self, given: Marked, name: str) -> Predicate:
        found = read_predicate(self.predicates, name, self.codes, given)
        note = f"{name}: the concept of this name is used; its codes are not those of the task."
        if not found.same_codes and note not in self.notes:
            self.notes.append(note)
        return found


def _list_left_out(windows: Mapping[str, Marked]) -> tuple[str, ...]:
    return tuple(
        f"{name}: {key} is left out; it does not change which stays are members."
        for name, window in windows.items()
        for key in ("label", "index_timestamp")
        if key in window.get_keys(name)
    )


def _read_window(
    windows: Mapping[str, Marked], name: str, task: _Task, trigger: Predicate
) -> list[Event]:
    keys = windows[name].get_keys(name)
    for key, value in keys.items():
        if key not in _WINDOW_KEYS:
            raise value.fail(key, "not a key of ACES. Remove it")
    hours = resolve_window(windows, name)
    has = keys.get("has")
    if has is None or has.value is None:
        return []
    return [
        _read_has(value, task.find(value, wanted), wanted, hours, trigger)
        for wanted, value in has.get_keys("has").items()
    ]


def _read_has(
    given: Marked, predicate: Predicate, name: str, hours: Interval, trigger: Predicate
) -> Event:
    found = _HAS.fullmatch(given.get_text(name))
    if found is None or {found[1], found[2]} <= {None, "None"}:
        raise given.fail(name, "write its least and greatest number, such as (1, None)")
    least = 0 if found[1] in (None, "None") else int(found[1])
    most = None if found[2] in (None, "None") else int(found[2])
    if predicate.derived and (least > 1 or most):
        raise given.fail(
            name, "ACES counts moments of or(…), not events. Use (1, None) or (None, 0)"
        )
    if _counts_trigger(given, name, predicate, hours, trigger):
        # ACES counts the trigger; an event of a window is another occurrence than its anchor.
        least, most = max(0, least - 1), None if most is None else most - 1
    if most is not None and most < least:
        raise given.fail(name, "no number of events fits, so that no stay can be a member")
    return Event(predicate.picked, (Within(hours, ANCHOR),), least, most)


def _counts_trigger(
    given: Marked, name: str, predicate: Predicate, hours: Interval, trigger: Predicate
) -> bool:
    if not hours.includes(0) or predicate.picked.concept != trigger.picked.concept:
        return False
    if predicate.picked.value not in (None, trigger.picked.value):
        problem = "the trigger may or may not count here. Start after the trigger, or use its value"
        raise given.fail(name, problem)
    return True
