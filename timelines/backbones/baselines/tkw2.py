"""The TKW2 baseline, "text knows what, tables know when".

It has seven steps (protocol section 2, "Baselines"): 1 central events; 2 offsets between pairs,
with confidence; 3 the scaffold, with the admission at 0; 4 rows calibrate the scaffold; 5 the other
events, each attached to a central one; 6 the full timeline; 7 rows for all events, one more
calibration. The unimodal form omits 4 and 7. Events are texts: nothing links them to a place in the
note.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llm_runtime.base import ModelReply
from llm_runtime.calls.budget import limit_answer
from llm_runtime.calls.calling import Asker
from llm_runtime.prompts import Rendered, load
from llm_runtime.schema import grammar
from llm_runtime.structured import json_object, parse_model, set_reasoning
from timelines.backbones.baselines.tkw2_answers import (
    ADMISSION,
    MOST_CENTRAL,
    Answer,
    Attached,
    CentralEvents,
    Offset,
    attached_answer,
    offsets_answer,
    times_answer,
)
from timelines.backbones.baselines.tkw2_rows import Embed, RowDocument, build_documents, nearest
from timelines.backbones.prompted.tables import hours_text
from timelines.backbones.prompted.timer import anchor_words
from timelines.domain import NamedTime, SourceRow, Window
from timelines.pipeline.config import PROTOCOL, PipelineConfig

#: At most this many tokens of an answer for each event in it.
EVENT_TOKENS = 60


@dataclass(frozen=True)
class Tkw2:
    """Both forms over one model; `embed` serves the multimodal one."""

    asker: Asker
    embed: Embed | None = None
    config: PipelineConfig = PROTOCOL

    def text_only(self, note: str) -> tuple[NamedTime, ...]:
        """The unimodal timeline. Raises ModelError, AttemptsExhausted."""
        return self.asker.run(self._build_text_only, note)

    def multimodal(
        self, note: str, rows: Sequence[SourceRow], window: Window
    ) -> tuple[NamedTime, ...]:
        """Return the calibrated timeline.

        Raises ModelError, AttemptsExhausted; ValueError without an embedder.
        """
        if self.embed is None:
            raise ValueError("the multimodal form needs an embedder")
        return self.asker.run(self._build_multimodal, note, rows, window, self.embed)

    async def _build_text_only(self, note: str) -> tuple[NamedTime, ...]:
        central = await self.central_events(note)
        scaffold = await self.scaffold(note, central, await self.offsets(note, central))
        return self._name_times(
            assemble(central, scaffold, await self.attach(note, central, scaffold))
        )

    async def _build_multimodal(
        self, note: str, rows: Sequence[SourceRow], window: Window, embed: Embed
    ) -> tuple[NamedTime, ...]:
        documents = build_documents(rows, self.config.tkw2_times)
        central = await self.central_events(note)
        scaffold = await self.scaffold(note, central, await self.offsets(note, central))
        scaffold = await self.calibrate(
            note,
            central,
            scaffold,
            nearest(central, documents, embed, self.config.tkw2_rows),
            window,
            "calibrate scaffold",
        )
        full = assemble(central, scaffold, await self.attach(note, central, scaffold))
        events, hours = [event for event, _ in full], [time for _, time in full]
        found = nearest(events, documents, embed, self.config.tkw2_rows)
        return self._name_times(
            zip(
                events,
                await self.calibrate(note, events, hours, found, window, "calibrate timeline"),
                strict=True,
            )
        )

    async def central_events(self, note: str) -> list[str]:
        """Step 1; the admission is always the first of them by name."""
        prompt = load("timelines/tkw2_central").render(note=note, admission=ADMISSION)
        answer = await self._ask(prompt, CentralEvents, MOST_CENTRAL, "central events")
        events: list[str] = answer["events"]
        return events

    async def offsets(self, note: str, central: Sequence[str]) -> list[Offset]:
        """Step 2."""
        prompt = load("timelines/tkw2_offsets").render(note=note, events=number_events(central))
        count = len(central)
        answer = await self._ask(prompt, offsets_answer(count), 6 * count, "offsets")
        offsets: list[Offset] = answer["offsets"]
        return offsets

    async def scaffold(
        self, note: str, central: Sequence[str], offsets: Sequence[Offset]
    ) -> list[float]:
        """Step 3: return an hour for each central event.

        The higher confidence wins a conflict; the admission is at 0.
        """
        anchor = central.index(ADMISSION) + 1
        prompt = load("timelines/tkw2_scaffold").render(
            note=note,
            events=number_events(central),
            admission=str(anchor),
            offsets=offset_lines(offsets),
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
            timeline=hour_lines(events, hours),
            rows=row_lines(rows),
        )
        return await self._times(prompt, len(events), events.index(ADMISSION) + 1, part)

    async def attach(
        self, note: str, central: Sequence[str], scaffold: Sequence[float]
    ) -> list[Attached]:
        """Step 5."""
        scaffolded = hour_lines(central, scaffold)
        prompt = load("timelines/tkw2_attach").render(note=note, scaffold=scaffolded)
        expected = attached_answer(len(central))
        answer = await self._ask(prompt, expected, 50 + len(note) // 25, "attach")
        events: list[Attached] = answer["events"]
        return events

    async def _times(self, prompt: Rendered, count: int, anchor: int, part: str) -> list[float]:
        answer = await self._ask(prompt, times_answer(count, anchor), count, part)
        return [hours for _, hours in answer["times"]]

    async def _ask(
        self, prompt: Rendered, expected: type[Answer], events: int, part: str
    ) -> dict[str, Any]:
        """Return the fields of a valid answer.

        Raises ModelError, AttemptsExhausted.
        """
        limits = self.asker.model.limits
        prompt = set_reasoning(prompt, limits.reasoning)
        most = 200 + limits.reasoning + EVENT_TOKENS * events
        tokens = await limit_answer(
            self.asker.model,
            prompt.messages,
            at_least=min(most, limits.reasoning // 8 + 12 * events),
            at_most=most,
        )

        def validate(reply: ModelReply) -> dict[str, Any]:
            return dict(parse_model(expected, json_object(reply.text), "answer"))

        schema = grammar(expected, limits.reasoning) if limits.schema else None
        return await self.asker.ask(prompt, validate, max_tokens=tokens, part=part, schema=schema)

    def _name_times(self, timeline: Any) -> tuple[NamedTime, ...]:
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


def number_events(events: Sequence[str]) -> str:
    """Return lines `number: event`."""
    return "\n".join(f"{n}: {event}" for n, event in enumerate(events, start=1))


def hour_lines(events: Sequence[str], hours: Sequence[float]) -> str:
    """Return lines `number | event | hours`."""
    pairs = enumerate(zip(events, hours, strict=True), start=1)
    return "\n".join(f"{n} | {event} | {hours_text(hour)}" for n, (event, hour) in pairs)


def offset_lines(offsets: Sequence[Offset]) -> str:
    """Return a table of offsets between numbered events."""
    lines = [f"{o.first} | {o.second} | {hours_text(o.hours)} | {o.confidence:g}" for o in offsets]
    return "\n".join(["first | second | hours | confidence", *lines])


def row_lines(rows: Sequence[Sequence[RowDocument]]) -> str:
    """Return the rows found for each event, under the event's number."""
    lines = [
        f"{n} | {document.event} | {document.value} |"
        f" {', '.join(hours_text(t) for t in document.times)}"
        for n, found in enumerate(rows, start=1)
        for document in found
    ]
    return "\n".join(["event number | row | value | hours", *lines]) if lines else "none"
