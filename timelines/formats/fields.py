"""Read one event from named values.

They are the keys of our exports, which every format's extension place carries as well.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic import Strict as Typed

from llm_runtime.schema import FaultMessage, FieldFault, Strict, field_faults
from timelines.domain import (
    MAX_CONTEXT,
    UID_PATTERN,
    Entry,
    InvariantError,
    Lane,
    Polarity,
    TimelineKind,
)
from timelines.formats.values import Event, Fault, Heading, Unreadable
from timelines.pipeline.uids import escape_mention, unescape_mention

#: Values that files use for an occurrence that cannot be placed.
NOT_PLACED = frozenset({"", "n/a", "na", "none", "null"})
_LARGEST_INT = 2**31 - 1
M = TypeVar("M", bound=Strict)


def parse_object(text: str) -> dict[str, Any]:
    """A JSON object. Raises Unreadable."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable("", "not JSON; the file may be cut off") from None
    if not isinstance(value, dict):
        raise Unreadable("", "not a JSON object")
    return value


def parse_hours(value: object, field: str = "") -> float | None:
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


def parse_whole(value: object, field: str = "") -> int | None:
    """Read a whole number that fits a database column; None without one.

    Raises Unreadable.
    """
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:11])
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST_INT:
        raise Unreadable(field, "not a whole number from 0")
    return value


def parse_text(value: object, field: str = "") -> str:
    """Return text that the database can store. Raises Unreadable."""
    if not isinstance(value, str):
        raise Unreadable(field, "not text" if value is not None else "missing")
    if any(c == "\x00" or "\ud800" <= c <= "\udfff" for c in value):
        raise Unreadable(
            field,
            "contains a character that cannot be stored (NUL or half a surrogate pair)",
        )
    return value


def shorten_mention(value: object) -> str:
    """Return the mention as inventories store it.

    What is escaped already stays as it is. Raises Unreadable.
    """
    mention = parse_text(value, "mention")
    if not mention.strip():
        raise Unreadable("mention", "no text")
    return (
        mention if escape_mention(unescape_mention(mention)) == mention else escape_mention(mention)
    )


def _identifier(uid: str) -> str:
    if not UID_PATTERN.fullmatch(uid):
        raise ValueError("no identifier")
    return uid


def _require_whole(value: object) -> int:
    number = parse_whole(value)
    if number is None:
        raise ValueError("missing")
    return number


def parse_lane(label: object) -> Lane | None:
    """Return the lane that a tool's label names; None for other labels."""
    name = label.lower() if isinstance(label, str) else ""
    return Lane(name) if name in tuple(Lane) else None


def _parse_case(case: object) -> str | None:
    return None if case is None or case == "" else parse_text(str(case))


#: Formats omit a field, or leave it empty, if they have no value.
_EMPTY = BeforeValidator(lambda value: None if value == "" else value)
_FALSE = BeforeValidator(lambda value: value or None)
Hours = Annotated[float | None, BeforeValidator(parse_hours)]
Whole = Annotated[int | None, BeforeValidator(parse_whole)]
Offset = Annotated[int, BeforeValidator(_require_whole)]
Label = Annotated[Lane | None, BeforeValidator(parse_lane)]
NoteText = Annotated[str, BeforeValidator(parse_text)]
Mention = Annotated[str, BeforeValidator(shorten_mention)]
Text = Annotated[str, BeforeValidator(lambda value: parse_text(value or ""))]
Uid = Annotated[str, AfterValidator(_identifier), FaultMessage("not four lower-case hex digits")]
Row = Annotated[int, Field(ge=0, le=_LARGEST_INT)]


class HeadingLine(Strict, extra="ignore"):
    """The keys of our exports that name a timeline."""

    alternative: Annotated[
        Annotated[int, Field(ge=1, le=2**15 - 1), FaultMessage("alternatives count from 1")] | None,
        BeforeValidator(parse_whole),
    ] = None
    case_id: Annotated[str | None, BeforeValidator(_parse_case)] = None
    source: Text = ""
    kind: Annotated[
        TimelineKind | None,
        Typed(False),
        _EMPTY,
        FaultMessage(f"not one of {', '.join(TimelineKind)}"),
    ] = None

    def make_heading(self, name: str = "") -> Heading:
        """Return which timeline the values belong to.

        `name` (a file's) replaces a missing case_id.
        """
        case = name if self.case_id is None else self.case_id
        return Heading(case, self.source or None, self.kind, self.alternative)


class EventValues(Strict, extra="ignore"):
    """The keys of our exports that a mark of another tool may carry."""

    mention: Mention
    known: Annotated[Literal[0, 1] | None, FaultMessage("neither 0 nor 1")] = None
    time: Hours = None
    lower: Hours = None
    upper: Hours = None
    confidence: Hours = None
    polarity: Annotated[
        Polarity | None, Typed(False), _EMPTY, FaultMessage(f"not one of {', '.join(Polarity)}")
    ] = None
    lane: Annotated[
        Lane | None, Typed(False), _EMPTY, FaultMessage(f"not one of {', '.join(Lane)}")
    ] = None
    decided_by: Text = ""
    reason: Text = ""

    def make_event(self) -> Event:
        """Return the event. Raises Unreadable if the bounds exclude its time."""
        event = Event(
            mention=self.mention,
            time=self.time,
            lower=self.lower,
            upper=self.upper,
            known=None if self.known is None else bool(self.known),
            confidence=self.confidence,
            polarity=self.polarity or Polarity.PRESENT,
            lane=self.lane or Lane.FINDING,
            polarity_given=self.polarity is not None,
            lane_given=self.lane is not None,
            decided_by=self.decided_by,
            reason=self.reason,
        )
        check_bounds(event)
        return event


class EventLine(EventValues):
    """The keys of our exports for an event and its time."""

    start: Whole = None
    end: Whole = None
    uid4: Annotated[Uid | None, _FALSE] = None
    context: Annotated[
        list[Uid | None] | None,
        BeforeValidator(lambda value: value.split() if isinstance(value, str) else value),
        FaultMessage("not a list of identifiers, each four lower-case hex digits"),
    ] = None
    rows: Annotated[list[Row] | None, FaultMessage("not a list of row numbers from 0")] = None

    def make_event(self) -> Event:
        """Return the event. Raises Unreadable at the first field with a fault."""
        if (self.start is None) != (self.end is None):
            raise Unreadable("end", "a span has both ends or none")
        if self.start is not None and self.end is not None and not self.start < self.end:
            raise Unreadable("end", "the span is empty or reversed")
        context = tuple(uid for uid in self.context or () if uid)
        if len(context) > MAX_CONTEXT or len(set(context)) < len(context) or self.uid4 in context:
            raise Unreadable(
                "context", f"not at most {MAX_CONTEXT} identifiers of distinct other occurrences"
            )
        return replace(
            super().make_event(),
            start=self.start,
            end=self.end,
            uid=self.uid4,
            context=context,
            rows=tuple(dict.fromkeys(self.rows or ())),
            sought=self.model_fields_set.isdisjoint(("start", "uid4")),
        )


def _say(fault: FieldFault) -> str:
    """Return the reason as it reads after a colon."""
    return fault.reason.removeprefix("is ")


def list_faults(
    error: ValidationError, file: str, line: int | None = None, *, within: str = ""
) -> list[Fault]:
    """Return every fault of a model, `within` a place of the file."""
    return [
        Fault(file, line, f"{within}.{fault.path}".strip(".").replace(".[", "["), _say(fault))
        for fault in field_faults(error)
    ]


def read_line(kind: type[M], values: Mapping[str, Any]) -> M:
    """Return the values as the model.

    Raises Unreadable at the first field with a fault.
    """
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        first = field_faults(error)[0]
        raise Unreadable(first.path, _say(first)) from None


def parse_heading(values: Mapping[str, Any], name: str = "") -> Heading:
    """Return which timeline the values belong to. Raises Unreadable."""
    return read_line(HeadingLine, values).make_heading(name)


def parse_event(values: Mapping[str, Any]) -> Event:
    """Return the event. Raises Unreadable at the first field with a fault."""
    return read_line(EventLine, values).make_event()


def check_bounds(event: Event) -> None:
    """Raise Unreadable if the bounds do not contain the time."""
    try:
        Entry("0000", event.time, event.lower, event.upper)
    except InvariantError:
        raise Unreadable("lower", "the time is outside the bounds") from None
