"""Resolve the ends of ACES windows to hours from the trigger."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from cohorts.engine.marked import Marked
from cohorts.engine.relations import Interval

_BOUNDARY = re.compile(r"(\w+(?:\.(?:start|end))?)\s*(?:([+-])\s*(.+))?")
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)[\s,]*")
_UNITS = {
    **dict.fromkeys(["w", "wk", "wks", "week", "weeks"], 168.0),
    **dict.fromkeys(["d", "day", "days"], 24.0),
    **dict.fromkeys(["h", "hr", "hrs", "hour", "hours"], 1.0),
    **dict.fromkeys(["m", "min", "mins", "minute", "minutes"], 1 / 60),
    **dict.fromkeys(["s", "sec", "secs", "second", "seconds"], 1 / 3600),
}


def resolve_window(windows: Mapping[str, Marked], name: str) -> Interval:
    """Return a window's hours from the trigger; raises WindowError."""
    keys = windows[name].get_keys(name)
    for key in ("start", "end", "start_inclusive", "end_inclusive"):
        if key not in keys:
            raise windows[name].fail(name, f"{key} is missing")
    low, high = (_resolve(windows, name, end, ()) for end in ("start", "end"))
    opened = [keys[f"{end}_inclusive"].get_text(end).lower() != "true" for end in ("start", "end")]
    if low == high:
        problem = "it starts and ends at one moment, and ACES then ignores what it has"
        raise windows[name].fail(name, problem)
    try:
        return Interval(
            low, high, opened[0] and math.isfinite(low), opened[1] and math.isfinite(high)
        )
    except ValueError as error:
        raise windows[name].fail(name, str(error)) from None


def _resolve(
    windows: Mapping[str, Marked], name: str, end: str, seen: tuple[tuple[str, str], ...]
) -> float:
    given = windows[name].get_keys(name).get(end)
    if given is None or (name, end) in seen:
        raise windows[name].fail(name, f"its {end} cannot be found from the trigger")
    if given.value is None:
        return -math.inf if end == "start" else math.inf
    text = given.get_text(end)
    if "->" in text or "<-" in text:
        problem = (
            "a window that ends at the next event cannot be said. Use hours, or say it by hand"
        )
        raise given.fail(end, problem)
    found = _BOUNDARY.fullmatch(text)
    if found is None:
        raise given.fail(end, 'write for example "trigger + 24h"')
    start = _resolve_reference(windows, name, given, found[1], (*seen, (name, end)))
    hours = _read_duration(given, end, found[3]) if found[2] else 0.0
    if math.isinf(start):
        raise given.fail(end, f"{found[1]} has no hour: it is an end of the record")
    return start - hours if found[2] == "-" else start + hours


def _resolve_reference(
    windows: Mapping[str, Marked],
    name: str,
    given: Marked,
    reference: str,
    seen: tuple[tuple[str, str], ...],
) -> float:
    if reference == "trigger":
        return 0.0
    window, _, end = reference.rpartition(".")
    if not window and reference in ("start", "end"):
        return _resolve(windows, name, reference, seen)
    if window not in windows:
        raise given.fail(reference, "no window has this name")
    return _resolve(windows, window, end, seen)


def _read_duration(given: Marked, key: str, text: str) -> float:
    hours, rest = 0.0, text.strip().lower()
    while rest:
        found = _PART.match(rest)
        if found is None or found[2] not in _UNITS:
            raise given.fail(key, "write a duration such as 24h or 2 days")
        hours += float(found[1]) * _UNITS[found[2]]
        rest = rest[found.end() :]
    return hours
