"""The answers of the steps of TKW2, each a model.

The model gives the grammar for constrained decoding and the validation.
Events are numbered from 1. Hours count from the admission, or between two events.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, WithJsonSchema, create_model, model_validator

from llm_runtime.schema import FaultMessage, Strict, Thoughts
from llm_runtime.structured import is_storable
from timelines.backbones.prompted.rows import plausible

ADMISSION = "hospital admission"
MOST_CENTRAL = 25
EVENT_CHARACTERS = 500


def _clean_event(text: str) -> str:
    if not text.strip() or len(text) > EVENT_CHARACTERS or not is_storable(text):
        raise ValueError("is no event")
    return " ".join(text.split())


def _check_central(events: list[str]) -> list[str]:
    if len(events) > MOST_CENTRAL:
        raise ValueError(f"has {len(events)} events, at most {MOST_CENTRAL} are allowed")
    if len(set(events)) != len(events):
        raise ValueError("lists an event twice")
    if ADMISSION not in events:
        raise ValueError(f'lacks the admission; name it "{ADMISSION}"')
    return events


def _check_attached(event: str) -> str:
    # The admission is central and at 0. A second one elsewhere would be ambiguous.
    if event == ADMISSION:
        raise ValueError("is the admission, which is a central event")
    return event


def _check_confidence(value: float) -> float:
    if not 1 <= value <= 9:
        raise ValueError("out of range")
    return value


Event = Annotated[
    str,
    AfterValidator(_clean_event),
    FaultMessage(f"is not a text of 1 to {EVENT_CHARACTERS} characters"),
]
Hours = Annotated[float, AfterValidator(plausible), FaultMessage("is not a number of hours")]


class Answer(Strict):
    """The answer to a step. The reasoning before it is never read."""

    reasoning: Thoughts = ""


class CentralEvents(Answer):
    """Step 1: distinct events, the admission among them."""

    events: Annotated[
        list[Event],
        AfterValidator(_check_central),
        Field(json_schema_extra={"minItems": 1, "maxItems": MOST_CENTRAL}),
    ]


class Offset(Strict):
    """Step 2: `hours` from event `first` to event `second`.

    The confidence is 1 to 9.
    """

    first: int
    second: int
    hours: Hours
    confidence: Annotated[
        float,
        AfterValidator(_check_confidence),
        WithJsonSchema({"type": "number"}),
        FaultMessage("is not a number from 1 to 9"),
    ]

    @model_validator(mode="after")
    def _check_pair(self) -> Offset:
        if self.first == self.second:
            raise ValueError("is an offset of an event from itself")
        return self


class Attached(Strict):
    """Step 5: an event, `hours` after central event number `central`."""

    event: Annotated[Event, AfterValidator(_check_attached)]
    central: int
    hours: Hours


def offsets_answer(count: int) -> type[Answer]:
    """Return the answer of step 2 about `count` events.

    Its field is `offsets`.
    """
    number = _event_number(count)
    offset = create_model("Offset", __base__=Offset, first=(number, ...), second=(number, ...))
    return create_model("Offsets", __base__=Answer, offsets=(list[offset], ...))  # type: ignore[valid-type]  # made here


def attached_answer(count: int) -> type[Answer]:
    """Return the answer of step 5 over `count` central events.

    Its field is `events`.
    """
    attached = create_model("Attached", __base__=Attached, central=(_event_number(count), ...))
    return create_model("AttachedEvents", __base__=Answer, events=(list[attached], ...))  # type: ignore[valid-type]  # made here


def times_answer(count: int, anchor: int) -> type[Answer]:
    """Return the answer of steps 3, 4 and 7.

    It gives an hour for each of `count` events.
    Its field `times` has the fields "1" to `count`. Event number `anchor` is the admission, whose
    hour is 0.
    """

    def check_anchor(times: Strict) -> Strict:
        if getattr(times, str(anchor)) != 0:
            raise ValueError(f"moves event {anchor}, the admission: its time must be 0")
        return times

    fields: dict[str, Any] = {str(n): (Hours, ...) for n in range(1, count + 1)}
    times = create_model("Times", __base__=Strict, **fields)
    checked = Annotated[times, AfterValidator(check_anchor)]  # type: ignore[valid-type]  # made here
    return create_model("TimesAnswer", __base__=Answer, times=(checked, ...))


def _event_number(count: int) -> Any:
    """Return the type of an event's number."""
    return Annotated[
        int, Field(ge=1, le=count), FaultMessage(f"is not the number of an event, 1 to {count}")
    ]
