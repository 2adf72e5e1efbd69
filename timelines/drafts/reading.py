"""Check the fields of an occurrence that the page sends. No Django.

Nothing from the page is trusted: names, types and sizes are checked here, the protocol's invariants
in `values` and `document`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from timelines.drafts.time_entry import TimeNotUnderstood, read_time
from timelines.drafts.values import EditRefused

NO_TIME: dict[str, Any] = {"time": None, "lower": None, "upper": None, "known": False}


def read_fields(
    data: object, admitted: datetime, discharged: datetime | None = None
) -> dict[str, Any]:
    """Return the fields of an occurrence that `data` has.

    Raises EditRefused, naming the field.

    `time_text` is read as typed (empty: not placed) and stored as `entered`; it changes `known`
    only if its words say "about". Explicit `lower` and `upper` have precedence over the bounds it
    implies. `time` in hours or null places the occurrence, within the bounds given with it or none;
    `placed` false removes all times.
    """
    if not isinstance(data, Mapping):
        raise EditRefused("values", "An occurrence must be a JSON object.")
    unknown = sorted(
        str(name)[:40] for name in data if name not in _READERS and name != "time_text"
    )
    if unknown:
        raise EditRefused("values", "An occurrence does not have this field.")
    given = {
        name: _READERS[name](name, value) for name, value in data.items() if name != "time_text"
    }
    if "time_text" in data:
        given = {**_read_time(data["time_text"], admitted, discharged), **given}
    elif "time" in given:
        given = {"placed": True, "entered": "", "lower": None, "upper": None, **given}
    if given.get("placed") is False:
        given |= NO_TIME | {"entered": ""}
    return given


def _read_time(text: object, admitted: datetime, discharged: datetime | None) -> dict[str, Any]:
    said = _line("time_text", text)
    if not said:
        return {**NO_TIME, "placed": False, "entered": ""}
    try:
        read = read_time(said, admitted, discharged)
    except TimeNotUnderstood as error:
        raise EditRefused("time_text", str(error)) from None
    known = {} if read.known is None else {"known": read.known}
    return {
        "time": read.time,
        "lower": read.lower,
        "upper": read.upper,
        **known,
        "placed": True,
        "entered": said,
    }


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or "\x00" in value:
        raise EditRefused(name, "Must be text.")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise EditRefused(name, "The text has half a surrogate pair.") from None
    return value.strip()


def _line(name: str, value: object) -> str:
    return " ".join(_text(name, value).split())


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise EditRefused(name, "Must be true or false.")
    return value


def _index(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**31:
        raise EditRefused(name, "Must be a whole number from 0.")
    return value


def _hours(name: str, value: object) -> float | None:
    if value is None:
        return None
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not abs(value) < 1e9
        or not math.isfinite(value)
    ):
        raise EditRefused(name, "Must be hours from admission, or null.")
    return float(value)


def _uids(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(uid, str) for uid in value):
        raise EditRefused(name, "Must be a list of identifiers.")
    return tuple(value)


def _indices(name: str, value: object) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise EditRefused(name, "Must be a list of row numbers.")
    return tuple(_index(name, row) for row in value)


_READERS: dict[str, Callable[[str, object], Any]] = {
    "start": _index,
    "end": _index,
    "mention": _line,
    "polarity": _line,
    "lane": _line,
    "placed": _flag,
    "time": _hours,
    "lower": _hours,
    "upper": _hours,
    "known": _flag,
    "context": _uids,
    "rows": _indices,
    "entered": _line,
    "reason": _text,
}
