"""Read one event from named values.

They are the keys of our exports, which every format's extension place carries as well.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar

from timelines.domain import (
    MAX_CONTEXT,
    UID_PATTERN,
    Entry,
    InvariantError,
    Lane,
    Polarity,
    TimelineKind,
)
from timelines.formats.values import Event, Heading, Unreadable
from timelines.pipeline.uids import escape_mention, unescape_mention

#: How files say that an occurrence cannot be placed.
NOT_PLACED = frozenset({"", "n/a", "na", "none", "null"})
_LARGEST_INT = 2**31 - 1
_Word = TypeVar("_Word", bound=StrEnum)


def object_of(text: str) -> dict[str, Any]:
    """A JSON object. Raises Unreadable."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable("", "not JSON; the file may be cut off") from None
    if not isinstance(value, dict):
        raise Unreadable("", "not a JSON object")
    return value


def heading_of(values: Mapping[str, Any], name: str = "") -> Heading:
    """Return which timeline the values belong to.

    `name` (a file's) replaces a missing case_id. Raises Unreadable.
    """
    alternative = whole(values, "alternative")
    if alternative is not None and not 1 <= alternative <= 2**15 - 1:
        raise Unreadable("alternative", "alternatives count from 1")
    case = values.get("case_id")
    return Heading(
        case=name if case in (None, "") else text_of(str(case), "case_id"),
        source=text_of(values.get("source") or "", "source") or None,
        kind=_word(values, "kind", TimelineKind),
        alternative=alternative,
    )


def event_of(values: Mapping[str, Any]) -> Event:
    """Raises Unreadable at the first field that does not hold."""
    start, end = whole(values, "start"), whole(values, "end")
    if (start is None) != (end is None):
        raise Unreadable("end", "a span has both ends or none")
    if start is not None and end is not None and not 0 <= start < end:
        raise Unreadable("end", "the span is empty or reversed")
    uid = _uid(values.get("uid4") or None, "uid4")
    known = values.get("known")
    if known not in (None, 0, 1):
        raise Unreadable("known", "neither 0 nor 1")
    event = Event(
        mention=stored_mention(values.get("mention")),
        start=start,
        end=end,
        time=hours(values.get("time"), "time"),
        lower=hours(values.get("lower"), "lower"),
        upper=hours(values.get("upper"), "upper"),
        known=None if known is None else bool(known),
        confidence=hours(values.get("confidence"), "confidence"),
        polarity=_word(values, "polarity", Polarity) or Polarity.PRESENT,
        lane=_word(values, "lane", Lane) or Lane.FINDING,
        uid=uid,
        context=_context(values.get("context"), uid),
        decided_by=text_of(values.get("decided_by") or "", "decided_by"),
        reason=text_of(values.get("reason") or "", "reason"),
        rows=_rows(values.get("rows")),
        sought="start" not in values and "uid4" not in values,
    )
    check_bounds(event)
    return event


def check_bounds(event: Event) -> None:
    """Raises Unreadable where the bounds do not hold the time."""
    try:
        Entry("0000", event.time, event.lower, event.upper)
    except InvariantError:
        raise Unreadable("lower", "the bounds do not hold the time between them") from None


def stored_mention(value: object) -> str:
    """Return the mention as inventories store it.

    What is escaped already stays as it is. Raises Unreadable.
    """
    mention = text_of(value, "mention")
    if not mention.strip():
        raise Unreadable("mention", "no text")
    return (
        mention if escape_mention(unescape_mention(mention)) == mention else escape_mention(mention)
    )


def hours(value: object, field: str) -> float | None:
    """A finite number (as such or in words), None for N/A. Raises Unreadable."""
    if isinstance(value, str):
        if value.strip().lower() in NOT_PLACED:
            return None
        try:
            value = float(value)
        except ValueError:
            raise Unreadable(field, "neither a number nor N/A") from None
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unreadable(field, "neither a number nor N/A")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Unreadable(field, "not a finite number")
    return number


def whole(values: Mapping[str, Any], field: str) -> int | None:
    """Read a whole number that fits a database column; None without one.

    Raises Unreadable.
    """
    value = values.get(field)
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:11])
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST_INT:
        raise Unreadable(field, "not a whole number from 0")
    return value


def text_of(value: object, field: str) -> str:
    """Text that the database can hold. Raises Unreadable."""
    if not isinstance(value, str):
        raise Unreadable(field, "not text" if value is not None else "missing")
    if any(c == "\x00" or "\ud800" <= c <= "\udfff" for c in value):
        raise Unreadable(
            field,
            "contains a character that cannot be stored (NUL or half a surrogate pair)",
        )
    return value


def _word(values: Mapping[str, Any], field: str, kind: type[_Word]) -> _Word | None:
    value = values.get(field)
    if value is None or value == "":
        return None
    if not isinstance(value, str) or value not in tuple(kind):
        raise Unreadable(field, f"not one of {', '.join(kind)}")
    return kind(value)


def _uid(value: object, field: str) -> str | None:
    if value is not None and not (isinstance(value, str) and UID_PATTERN.fullmatch(value)):
        raise Unreadable(field, "not four lower-case hex digits")
    return value


def _context(value: object, uid: str | None) -> tuple[str, ...]:
    listed = value.split() if isinstance(value, str) else [] if value is None else value
    if not isinstance(listed, list):
        raise Unreadable("context", "not a list of identifiers")
    found = tuple(u for item in listed if (u := _uid(item, "context")))
    if len(found) > MAX_CONTEXT or len(set(found)) < len(found) or uid in found:
        raise Unreadable(
            "context", f"not at most {MAX_CONTEXT} identifiers of distinct other occurrences"
        )
    return found


def _rows(value: object) -> tuple[int, ...]:
    listed = [] if value is None else value
    if not isinstance(listed, list) or any(
        isinstance(r, bool) or not isinstance(r, int) or not 0 <= r <= _LARGEST_INT for r in listed
    ):
        raise Unreadable("rows", "not a list of row numbers from 0")
    return tuple(dict.fromkeys(listed))
