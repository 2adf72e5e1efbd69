"""The single-step baseline `llm_timeline`: one call for a whole timeline.

The call gives events, hours and confidence (protocol section 2, "Baselines"). Events have no spans
and no identifiers; only an evaluation matches them with others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llm_runtime.base import ModelReply
from llm_runtime.calls.budget import limit_answer
from llm_runtime.calls.calling import Asker
from llm_runtime.errors import AnswerRejected
from llm_runtime.prompts import load
from llm_runtime.structured import answer_text, is_storable
from timelines.backbones.prompted.rows import read_hours, split_row
from timelines.backbones.prompted.stay import stay_fields
from timelines.backbones.prompted.timer import anchor_words
from timelines.domain import NamedTime, Window
from timelines.pipeline.config import PROTOCOL

NAME = "llm_timeline"
HEADER = ("event", "time", "confidence")
#: A longer cell is not an event.
EVENT_CHARACTERS = 500


@dataclass(frozen=True)
class SingleStep:
    """One call that answers with the whole timeline.

    The answer may have at least `output_tokens`. If the context leaves less, the prompt is too long
    for this baseline.
    A truncated answer is marked as truncated and retried; it never becomes a shorter timeline.
    """

    asker: Asker
    output_tokens: int = PROTOCOL.single_step_tokens

    def timeline(self, note: str, window: Window) -> tuple[NamedTime, ...]:
        """Return the whole timeline of a note, in the model's order.

        Raises ModelError, Truncated, AttemptsExhausted.
        """
        return self.asker.run(self.ask, note, window)

    async def ask(self, note: str, window: Window) -> tuple[NamedTime, ...]:
        prompt = load("timelines/single_step").render(
            note=note, anchor=anchor_words(window.anchor), **stay_fields(window)
        )
        tokens = await limit_answer(
            self.asker.model,
            prompt.messages,
            at_least=self.output_tokens,
            at_most=2 * self.output_tokens,
        )

        def validate(reply: ModelReply) -> tuple[NamedTime, ...]:
            return read_events(reply.text, self.asker.model.name)

        return await self.asker.ask(prompt, validate, max_tokens=tokens, part="single step")


def read_events(text: str, decided_by: str) -> tuple[NamedTime, ...]:
    """Return the rows of a table `event | time | confidence`.

    Raises AnswerRejected, with row numbers, for anything else.
    """
    lines = answer_text(text).replace("\r\n", "\n").split("\n")
    if tuple(cell.casefold() for cell in split_row(lines[0])) != HEADER:
        raise AnswerRejected(
            [
                f"the first line must be exactly the header {' | '.join(HEADER)}, and nothing may"
                " stand before it"
            ]
        )
    faults: list[str] = []
    events: list[NamedTime] = []
    for number, line in enumerate(lines[1:], start=1):
        cells = split_row(line)
        fault = _fault(cells)
        if fault:
            faults.append(f"row {number}: {fault}")
        else:
            hours, _ = read_hours(cells[1])
            events.append(
                NamedTime(cells[0], hours, decided_by=decided_by, confidence=float(cells[2]))
            )
    if not events and not faults:
        faults.append("the table has no row")
    if faults:
        raise AnswerRejected(faults)
    return tuple(events)


def _fault(cells: Sequence[str]) -> str:
    if len(cells) != len(HEADER):
        return f"{len(cells)} columns, not {len(HEADER)}"
    event, time, confidence = cells
    if not event or len(event) > EVENT_CHARACTERS or not is_storable(event):
        return "no event, or a text that is none"
    hours, read = read_hours(time)
    if not read or hours is None:
        return "the time is not a number"
    sure, read = read_hours(confidence)
    if not read or sure is None or not 1 <= sure <= 9:
        return "the confidence is not a number from 1 to 9"
    return ""
