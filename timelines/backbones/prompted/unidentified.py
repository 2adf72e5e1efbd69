"""Stage 6 of variant `no_uid` by a language model.

The note, the table and the evidence carry no identifiers, and the answer is a table. The variant
measures which occurrences are lost on the way, so only form and bounds are checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from llm_runtime.base import ModelReply
from llm_runtime.calls.budget import limit_answer
from llm_runtime.calls.calling import Asker
from llm_runtime.errors import AnswerRejected
from llm_runtime.prompts import Rendered, load
from llm_runtime.structured import is_storable, json_object, parse_model
from timelines.backbones.prompted.notes import Shown, cut_around, shortened_words
from timelines.backbones.prompted.reviser import ROW_TOKENS, TableAnswer, read_timelines
from timelines.backbones.prompted.rows import read_bounds, read_hours, split_row
from timelines.backbones.prompted.tables import hours_text
from timelines.backbones.prompted.timer import anchor_words
from timelines.domain import InvariantError, NamedRow, NamedTime, TaggedSpan, Window
from timelines.pipeline.config import PipelineConfig

COLUMNS = ("mention", "time", "bounds", "known")


@dataclass(frozen=True)
class PromptedUnidentifiedReviser:
    asker: Asker
    config: PipelineConfig

    def revise_unidentified(
        self,
        note: str,
        spans: Sequence[TaggedSpan],
        table: Sequence[NamedTime],
        evidence: Sequence[NamedRow],
        window: Window,
        alternatives: int,
    ) -> Sequence[Sequence[NamedTime]]:
        """Exactly `alternatives` tables. Raises ModelError, AttemptsExhausted."""
        discharge = window.discharge
        clock = None if discharge is None else window.anchor.clock(discharge)
        shown = self._show_note(note, spans)
        prompt = load("timelines/revise_no_uid").render(
            note=shown.text,
            alternatives=str(alternatives),
            admitted=anchor_words(window.anchor),
            discharged="not recorded"
            if discharge is None or clock is None
            else f"{hours_text(discharge)} ({clock:%Y-%m-%d %H:%M})",
            timeline=named_table(table),
            evidence=named_rows(evidence, self.config.evidence_field_characters),
        )
        return self.asker.run(
            self._tables, replace(prompt, shortened=shown.cut), len(table), alternatives
        )

    def _show_note(self, note: str, spans: Sequence[TaggedSpan]) -> Shown:
        """The note, cut as it is for a revision with identifiers."""
        whole, local = self.config.revise_note_characters, self.config.revise_local_characters
        if len(note) <= whole:
            return Shown(note)
        return Shown(
            cut_around(note, [(s.start, s.end) for s in spans], whole, local),
            shortened_words(note, local),
        )

    async def _tables(
        self, prompt: Rendered, rows: int, alternatives: int
    ) -> list[list[NamedTime]]:
        thinking = self.asker.model.limits.reasoning
        least = thinking // 6 + ROW_TOKENS[0] * alternatives * rows
        most = 100 + thinking * (1 + alternatives) + ROW_TOKENS[1] * alternatives * rows
        tokens = await limit_answer(self.asker.model, prompt.messages, at_least=least, at_most=most)

        def validate(reply: ModelReply) -> list[list[NamedTime]]:
            return read_unidentified(reply.text, alternatives, self.asker.model.name)

        return await self.asker.ask(
            prompt, validate, max_tokens=tokens, part="revise without identifiers"
        )


def named_table(table: Sequence[NamedTime]) -> str:
    """`mention | time | bounds | known` a line."""
    lines = [" | ".join(COLUMNS)]
    for line in table:
        bounds = f"[{hours_text(line.lower)}, {hours_text(line.upper)}]"
        lines.append(f"{line.event} | {hours_text(line.time)} | {bounds} | {int(bool(line.known))}")
    return "\n".join(lines)


def named_rows(evidence: Sequence[NamedRow], most: int) -> str:
    """Return the evidence as a table that names occurrences by mention.

    Columns: `mention | event | value | hours | kind of moment | relevance`. Fields have at most
    `most` characters.
    """
    lines = ["mention | event | value | hours | kind of moment | relevance"]
    for item in evidence:
        row = item.row
        value, kind = f"{row.value} {row.unit}".strip(), row.time_kind.value
        fields = (item.event, row.event, value, hours_text(row.time), kind, f"{item.relevance:.2f}")
        lines.append(" | ".join(" ".join(str(f).split()).replace("|", "/")[:most] for f in fields))
    return "\n".join(lines) if evidence else "none found"


def read_unidentified(text: str, alternatives: int, decided_by: str) -> list[list[NamedTime]]:
    """Return the lines of each table of the answer.

    Raises AnswerRejected with every fault of form.
    """
    return [
        _table(answer, number, decided_by)
        for number, answer in enumerate(read_timelines(json_object(text), alternatives), start=1)
    ]


def _table(answer: dict[str, object], number: int, decided_by: str) -> list[NamedTime]:
    what = f"timeline {number}"
    lines = [
        line for line in parse_model(TableAnswer, answer, what).data.split("\n") if line.strip()
    ]
    if not lines or [cell.casefold() for cell in split_row(lines[0])] != list(COLUMNS):
        raise AnswerRejected([f"{what}: the first line must be the header {'|'.join(COLUMNS)}"])
    read = [
        _line(line, f"{what}: row {at}", decided_by) for at, line in enumerate(lines[1:], start=1)
    ]
    faults = [fault for _, fault in read if fault]
    if faults or not read:
        raise AnswerRejected(faults or [f"{what} is empty"])
    return [line for line, _ in read if line is not None]


def _line(text: str, where: str, decided_by: str) -> tuple[NamedTime | None, str]:
    cells = split_row(text)
    if (
        len(cells) != len(COLUMNS)
        or not cells[0]
        or not is_storable(cells[0])
        or cells[3] not in ("0", "1")
    ):
        return None, f"{where} is not {'|'.join(COLUMNS)}"
    time, time_read = read_hours(cells[1])
    lower, upper, bounds_read = read_bounds(cells[2])
    if not (time_read and bounds_read):
        return None, f"{where}: time or bounds are not hours"
    try:
        return NamedTime(cells[0], time, lower, upper, cells[3] == "1", decided_by), ""
    except InvariantError:
        return None, f"{where}: the bounds do not contain the time"
