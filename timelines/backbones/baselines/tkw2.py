"""The TKW2 baseline, "text knows what, tables know when".

It has seven steps (protocol section 2, "Baselines"): 1 central events; 2 offsets between pairs,
with confidence; 3 the scaffold, with the admission at 0; 4 rows calibrate the scaffold; 5 the other
events, each attached to a central one; 6 the full timeline; 7 rows for all events, one more
calibration. The unimodal form omits 4 and 7. Events are texts: nothing links them to a place in the
note.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from llm_runtime.base import ModelReply
from llm_runtime.calls.budget import room
from llm_runtime.calls.calling import Asker
from llm_runtime.errors import AnswerRejected
from llm_runtime.prompts import Rendered, load
from llm_runtime.structured import (
    as_reasoned,
    json_object,
    keys_exactly,
    object_schema,
    reasoned,
    storable,
)
from timelines.backbones.baselines.tkw2_rows import Embed, RowDocument, documents_of, nearest
from timelines.backbones.prompted.rows import MOST_HOURS
from timelines.backbones.prompted.tables import hours_text
from timelines.backbones.prompted.timer import anchor_words
from timelines.domain import NamedTime, SourceRow, Window

NAME = "tkw2"
ADMISSION = "hospital admission"
MOST_CENTRAL = 25
EVENT_CHARACTERS = 500
#: At most this many tokens of an answer for each event in it.
EVENT_TOKENS = 60

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Offset:
    """`hours` from event `first` to event `second`.

    Events are numbered from 1; `confidence` is 1 to 9.
    """

    first: int
    second: int
    hours: float
    confidence: float


@dataclass(frozen=True, slots=True)
class Attached:
    """A non-central event, `hours` after central event number `central`."""

    event: str
    central: int
    hours: float


@dataclass(frozen=True)
class Tkw2:
    """Both forms over one model; `embed` serves the multimodal one."""

    asker: Asker
    embed: Embed | None = None

    def text_only(self, note: str) -> tuple[NamedTime, ...]:
        """The unimodal timeline. Raises ModelError, AttemptsExhausted."""
        return self.asker.run(self._text_only, note)

    def multimodal(
        self, note: str, rows: Sequence[SourceRow], window: Window
    ) -> tuple[NamedTime, ...]:
        """Return the calibrated timeline.

        Raises ModelError, AttemptsExhausted; ValueError without an embedder.
        """
        if self.embed is None:
            raise ValueError("the multimodal form needs an embedder")
        return self.asker.run(self._multimodal, note, rows, window, self.embed)

    async def _text_only(self, note: str) -> tuple[NamedTime, ...]:
        central = await self.central_events(note)
        scaffold = await self.scaffold(note, central, await self.offsets(note, central))
        return self._named(assemble(central, scaffold, await self.attach(note, central, scaffold)))

    async def _multimodal(
        self, note: str, rows: Sequence[SourceRow], window: Window, embed: Embed
    ) -> tuple[NamedTime, ...]:
        documents = documents_of(rows)
        central = await self.central_events(note)
        scaffold = await self.scaffold(note, central, await self.offsets(note, central))
        scaffold = await self.calibrate(
            note,
            central,
            scaffold,
            nearest(central, documents, embed),
            window,
            "calibrate scaffold",
        )
        full = assemble(central, scaffold, await self.attach(note, central, scaffold))
        events, hours = [event for event, _ in full], [time for _, time in full]
        found = nearest(events, documents, embed)
        return self._named(
            zip(
                events,
                await self.calibrate(note, events, hours, found, window, "calibrate timeline"),
                strict=True,
            )
        )

    async def central_events(self, note: str) -> list[str]:
        """Step 1; the admission is always the first of them by name."""
        prompt = load("timelines/tkw2_central").render(note=note, admission=ADMISSION)
        events = {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": MOST_CENTRAL,
        }
        return await self._ask(
            prompt, {"events": events}, read_central, MOST_CENTRAL, "central events"
        )

    async def offsets(self, note: str, central: Sequence[str]) -> list[Offset]:
        """Step 2."""
        prompt = load("timelines/tkw2_offsets").render(note=note, events=_numbered(central))
        number, event = (
            {"type": "number"},
            {"type": "integer", "minimum": 1, "maximum": len(central)},
        )
        item = object_schema(
            {"first": event, "second": event, "hours": number, "confidence": number}
        )
        listed = {"offsets": {"type": "array", "items": item}}
        return await self._ask(
            prompt, listed, lambda a: read_offsets(a, len(central)), 6 * len(central), "offsets"
        )

    async def scaffold(
        self, note: str, central: Sequence[str], offsets: Sequence[Offset]
    ) -> list[float]:
        """Step 3: return an hour for each central event.

        The higher confidence wins a conflict; the admission is at 0.
        """
        lines = [
            f"{o.first} | {o.second} | {hours_text(o.hours)} | {o.confidence:g}" for o in offsets
        ]
        anchor = central.index(ADMISSION) + 1
        prompt = load("timelines/tkw2_scaffold").render(
            note=note,
            events=_numbered(central),
            admission=str(anchor),
            offsets="\n".join(["first | second | hours | confidence", *lines]),
        )
        return await self._times(prompt, len(central), anchor, "scaffold")

    async def calibrate(
        self,
        note: str,
        events: Sequence[str],
        hours: Sequence[float],
        rows: Sequence[Sequence[RowDocument]],
        window: Window,
        part: str,
    ) -> list[float]:
        """Steps 4 and 7: return an hour for each event, in order.

        The admission stays at 0.
        """
        discharge = window.discharge
        prompt = load("timelines/tkw2_calibrate").render(
            note=note,
            admitted=anchor_words(window.anchor),
            discharged="not recorded" if discharge is None else hours_text(discharge),
            timeline="\n".join(
                f"{n} | {e} | {hours_text(h)}"
                for n, (e, h) in enumerate(zip(events, hours, strict=True), start=1)
            ),
            rows=_row_lines(rows),
        )
        return await self._times(prompt, len(events), events.index(ADMISSION) + 1, part)

    async def attach(
        self, note: str, central: Sequence[str], scaffold: Sequence[float]
    ) -> list[Attached]:
        """Step 5."""
        lines = [
            f"{n} | {e} | {hours_text(h)}"
            for n, (e, h) in enumerate(zip(central, scaffold, strict=True), start=1)
        ]
        prompt = load("timelines/tkw2_attach").render(note=note, scaffold="\n".join(lines))
        event = {"type": "integer", "minimum": 1, "maximum": len(central)}
        item = object_schema(
            {"event": {"type": "string"}, "central": event, "hours": {"type": "number"}}
        )
        listed = {"events": {"type": "array", "items": item}}
        return await self._ask(
            prompt, listed, lambda a: read_attached(a, len(central)), 50 + len(note) // 25, "attach"
        )

    async def _times(self, prompt: Rendered, count: int, anchor: int, part: str) -> list[float]:
        times = object_schema({str(n): {"type": "number"} for n in range(1, count + 1)})
        return await self._ask(
            prompt, {"times": times}, lambda a: read_times(a, count, anchor), count, part
        )

    async def _ask(
        self,
        prompt: Rendered,
        properties: Mapping[str, Any],
        read: Callable[[dict[str, Any]], T],
        events: int,
        part: str,
    ) -> T:
        limits = self.asker.model.limits
        prompt = as_reasoned(prompt, limits.reasoning) if limits.schema else prompt
        most = 200 + limits.reasoning + EVENT_TOKENS * events
        tokens = await room(
            self.asker.model,
            prompt.messages,
            at_least=min(most, limits.reasoning // 8 + 12 * events),
            at_most=most,
        )

        def validate(reply: ModelReply) -> T:
            answer = json_object(reply.text)
            answer.pop("reasoning", None)
            return read(answer)

        schema = (
            object_schema(reasoned(properties, "reasoning", limits.reasoning))
            if limits.schema
            else None
        )
        return await self.asker.ask(prompt, validate, max_tokens=tokens, part=part, schema=schema)

    def _named(self, timeline: Any) -> tuple[NamedTime, ...]:
        return tuple(
            NamedTime(event, hours, decided_by=self.asker.model.name) for event, hours in timeline
        )


def assemble(
    central: Sequence[str], scaffold: Sequence[float], attached: Sequence[Attached]
) -> list[tuple[str, float]]:
    """Step 6: return (event, hour) of all events, ordered by hour.

    At equal hours central events come first; otherwise the given order stays.
    """
    full = [
        *zip(central, scaffold, strict=True),
        *((a.event, scaffold[a.central - 1] + a.hours) for a in attached),
    ]
    return sorted(full, key=lambda pair: pair[1])


def read_central(answer: Mapping[str, Any]) -> list[str]:
    """Distinct events, the admission among them. Raises AnswerRejected."""
    _exactly(answer, "events")
    events = answer["events"]
    if not isinstance(events, list) or not all(_is_event(e) for e in events):
        raise AnswerRejected(["events is not a list of texts"])
    events = [" ".join(e.split()) for e in events]
    faults = [f"there are {len(events)} events, at most {MOST_CENTRAL}"] * (
        len(events) > MOST_CENTRAL
    )
    faults += ["an event is listed twice"] * (len(set(events)) != len(events))
    faults += [f'the admission is missing; name it "{ADMISSION}"'] * (ADMISSION not in events)
    if faults:
        raise AnswerRejected(faults)
    return events


def read_offsets(answer: Mapping[str, Any], count: int) -> list[Offset]:
    """Offsets between two different events each. Raises AnswerRejected."""
    _exactly(answer, "offsets")
    return _items(answer["offsets"], lambda item: _offset(item, count))


def read_attached(answer: Mapping[str, Any], count: int) -> list[Attached]:
    """Events, each attached to a central one. Raises AnswerRejected."""
    _exactly(answer, "events")
    return _items(answer["events"], lambda item: _attached(item, count))


def read_times(answer: Mapping[str, Any], count: int, anchor: int) -> list[float]:
    """One hour for each event, 0 for the admission. Raises AnswerRejected."""
    _exactly(answer, "times")
    times = answer["times"]
    if not isinstance(times, Mapping):
        raise AnswerRejected(["times is not an object"])
    faults = keys_exactly(times, [str(n) for n in range(1, count + 1)], "times")
    faults += (
        [f"event {n}: the time is not a number of hours" for n in times if not _is_hours(times[n])][
            :40
        ]
        if not faults
        else []
    )
    if faults:
        raise AnswerRejected(faults)
    if times[str(anchor)] != 0:
        raise AnswerRejected([f"event {anchor} is the admission: its time must be 0"])
    return [float(times[str(n)]) for n in range(1, count + 1)]


def _items(listed: object, read: Callable[[Any], T | None]) -> list[T]:
    if not isinstance(listed, list):
        raise AnswerRejected(["not a list"])
    found = [read(item) for item in listed]
    faults = [
        f"entry {n} is not of the form asked for"
        for n, item in enumerate(found, start=1)
        if item is None
    ]
    if faults:
        raise AnswerRejected(faults)
    return [item for item in found if item is not None]


def _offset(item: Any, count: int) -> Offset | None:
    if not isinstance(item, Mapping) or set(item) != {"first", "second", "hours", "confidence"}:
        return None
    sound = (
        _is_number(item["first"], count)
        and _is_number(item["second"], count)
        and item["first"] != item["second"]
    )
    if (
        not sound
        or not _is_hours(item["hours"])
        or not _is_hours(item["confidence"])
        or not 1 <= item["confidence"] <= 9
    ):
        return None
    return Offset(item["first"], item["second"], float(item["hours"]), float(item["confidence"]))


def _attached(item: Any, count: int) -> Attached | None:
    if not isinstance(item, Mapping) or set(item) != {"event", "central", "hours"}:
        return None
    if (
        not _is_event(item["event"])
        or not _is_number(item["central"], count)
        or not _is_hours(item["hours"])
    ):
        return None
    event = " ".join(item["event"].split())
    # The admission is central and at 0: a second one elsewhere would make it ambiguous which
    # event that is.
    return None if event == ADMISSION else Attached(event, item["central"], float(item["hours"]))


def _exactly(answer: Mapping[str, Any], key: str) -> None:
    if faults := keys_exactly(answer, [key], "answer"):
        raise AnswerRejected(faults)


def _is_event(value: Any) -> bool:
    return (
        isinstance(value, str)
        and bool(value.strip())
        and len(value) <= EVENT_CHARACTERS
        and storable(value)
    )


def _is_number(value: Any, count: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= count


def _is_hours(value: Any) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and -MOST_HOURS <= value <= MOST_HOURS
        and not math.isnan(value)
    )


def _numbered(events: Sequence[str]) -> str:
    return "\n".join(f"{n}: {event}" for n, event in enumerate(events, start=1))


def _row_lines(rows: Sequence[Sequence[RowDocument]]) -> str:
    lines = [
        f"{n} | {document.event} | {document.value} |"
        f" {', '.join(hours_text(t) for t in document.times)}"
        for n, found in enumerate(rows, start=1)
        for document in found
    ]
    return "\n".join(["event number | row | value | hours", *lines]) if lines else "none"
