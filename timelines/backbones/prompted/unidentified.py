"""Stage 6 of variant `no_uid` by a language model.

The note, the table and the evidence carry no identifiers; rows, `near`, `why` and reasoning are those
of `full`. The answer is a table, also if the server supports schemas (protocol section 2,
"Variants"): a schema requires each occurrence once only because it has a property for each UID. An
array of lines could not, and would be the same table in other brackets. The variant measures which
occurrences are lost on the way, so only form, bounds and citations are checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from llm_runtime.base import ModelReply
from llm_runtime.calls.budget import limit_answer
from llm_runtime.calls.calling import Asker
from llm_runtime.errors import AnswerRejected
from llm_runtime.prompts import Rendered, load
from llm_runtime.structured import is_storable, json_object, parse_model, set_reasoning
from timelines.backbones.prompted.notes import Shown, cut_around, shortened_words
from timelines.backbones.prompted.record import PrintedRecord, print_record
from timelines.backbones.prompted.reviser import (
    CITED_BY_MODEL,
    ROW_TOKENS,
    TableAnswer,
    ask_timelines,
    join_thoughts,
    read_thoughts,
    read_timelines,
)
from timelines.backbones.prompted.rows import MOST_NEAR, read_bounds, read_hours, split_row
from timelines.backbones.prompted.stay import stay_fields
from timelines.backbones.prompted.tables import WHY, hours_text, read_row_numbers, read_why
from timelines.backbones.prompted.timer import anchor_words
from timelines.domain import (
    Evidence,
    Expansion,
    InvariantError,
    NamedRow,
    NamedTime,
    NamedTimeline,
    NoRows,
    RowLink,
    TaggedSpan,
    Window,
)
from timelines.pipeline.config import PROTOCOL, PipelineConfig
from timelines.pipeline.revision import citation_faults

COLUMNS = ("mention", "time", "bounds", "known")
CITING_COLUMNS = (*COLUMNS, "rows", "near")


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
        missing: Mapping[str, NoRows],
        window: Window,
        alternatives: int,
    ) -> Sequence[NamedTimeline]:
        """Return timelines as a revision with identifiers does.

        Raises ModelError, AttemptsExhausted.
        """
        shown = self._show_note(note, spans)
        most, record = self.config.evidence_field_characters, None
        if self.config.cite_rows:
            numbers = {event: str(n) for n, event in enumerate({line.event for line in table})}
            record = print_record(_number_events(evidence, numbers), most)
            rows = [
                record.words_of(numbers[line.event]) or missing.get(line.event, NoRows.NONE_FOUND)
                for line in table
            ]
            shown_table, printed = named_table(table, rows), record.text
        else:
            shown_table, printed = named_table(table), named_rows(evidence, most)
        prompt = load(f"timelines/revise_no_uid{'' if record else '_published'}").render(
            note=shown.text,
            timelines=ask_timelines(alternatives, forced=self.config.force_alternatives),
            anchor=anchor_words(window.anchor),
            **stay_fields(window),
            timeline=shown_table,
            evidence=printed,
            **({"cited": str(self.config.cited_rows)} if record else {}),
        )
        prompt = replace(prompt, shortened=shown.cut)
        prompt = set_reasoning(prompt, self.asker.model.limits.reasoning)
        return self.asker.run(self._tables, prompt, len(table), alternatives, record)

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
        self, prompt: Rendered, rows: int, alternatives: int, record: PrintedRecord | None
    ) -> list[NamedTimeline]:
        thinking = self.asker.model.limits.reasoning
        least = thinking // 6 + ROW_TOKENS[0] * alternatives * rows
        most = 100 + thinking * (1 + alternatives) + ROW_TOKENS[1] * alternatives * rows
        tokens = await limit_answer(self.asker.model, prompt.messages, at_least=least, at_most=most)

        def validate(reply: ModelReply) -> list[NamedTimeline]:
            fewest = alternatives if self.config.force_alternatives else 1
            return read_unidentified(
                reply.text, alternatives, self.asker.model.name, fewest, record, self.config
            )

        return await self.asker.ask(
            prompt, validate, max_tokens=tokens, part="revise without identifiers"
        )


def _number_events(evidence: Sequence[NamedRow], numbers: Mapping[str, str]) -> Expansion:
    """Return the rows under numbers that stand for event texts.

    These numbers are never shown.
    """
    return Expansion(
        tuple(
            Evidence(numbers[item.event], 0, item.row, 1, item.relevance)
            for item in evidence
            if item.event in numbers
        ),
        skeleton=tuple(item.row for item in evidence if not item.event),
    )


def named_table(table: Sequence[NamedTime], rows: Sequence[str] | None = None) -> str:
    """`mention | time | bounds | known` a line, and its rows if given."""
    lines = [" | ".join((*COLUMNS, *(["rows found for it"] if rows else [])))]
    for at, line in enumerate(table):
        bounds = f"[{hours_text(line.lower)}, {hours_text(line.upper)}]"
        cells = [line.event, hours_text(line.time), bounds, str(int(bool(line.known)))]
        lines.append(" | ".join([*cells, *([rows[at]] if rows else [])]))
    return "\n".join(lines)


def named_rows(evidence: Sequence[NamedRow], most: int) -> str:
    """Return the evidence as a table that names occurrences by mention.

    Columns: `mention | event | value | hours | kind of moment | relevance`. Fields have at most
    `most` characters.
    """
    lines = ["mention | event | value | hours | kind of moment | relevance"]
    for item in evidence:
        if not item.event:
            continue
        row = item.row
        value, kind = f"{row.value} {row.unit}".strip(), row.time_kind.value
        fields = (item.event, row.event, value, hours_text(row.time), kind, f"{item.relevance:.2f}")
        lines.append(" | ".join(" ".join(str(f).split()).replace("|", "/")[:most] for f in fields))
    return "\n".join(lines) if evidence else "none found"


def read_unidentified(
    text: str,
    alternatives: int,
    decided_by: str,
    fewest: int | None = None,
    record: PrintedRecord | None = None,
    config: PipelineConfig = PROTOCOL,
) -> list[NamedTimeline]:
    """Return the timelines of the answer with their reasoning.

    With a `record` the lines cite its rows. Raises AnswerRejected with every fault of form.
    """
    summary, answers = read_timelines(json_object(text), alternatives, fewest)
    read = [
        _table(answer, number, decided_by, record, config)
        for number, answer in enumerate(answers, start=1)
    ]
    return [replace(t, reasoning=join_thoughts(summary, t.reasoning)) for t in read]


def _table(
    answer: dict[str, object],
    number: int,
    decided_by: str,
    record: PrintedRecord | None,
    config: PipelineConfig,
) -> NamedTimeline:
    what = f"timeline {number}"
    columns = COLUMNS if record is None else CITING_COLUMNS
    table = parse_model(TableAnswer, answer, what)
    lines = [line for line in table.data.split("\n") if line.strip()]
    header = [cell.casefold() for cell in split_row(lines[0])] if lines else []
    explained = record is not None and header[-1:] == [WHY]
    if header[: -1 if explained else None] != list(columns):
        raise AnswerRejected([f"{what}: the first line must be the header {'|'.join(columns)}"])
    read = [
        _line(line, f"{what}: row {at}", decided_by, record, config, explained=explained)
        for at, line in enumerate(lines[1:], start=1)
    ]
    faults = [fault for _, fault in read if fault]
    if faults or not read:
        raise AnswerRejected(faults or [f"{what} is empty"])
    named = tuple(line for line, _ in read if line is not None)
    return NamedTimeline(named, number, reasoning=read_thoughts(table.reasoning))


def _line(
    text: str,
    where: str,
    decided_by: str,
    record: PrintedRecord | None,
    config: PipelineConfig,
    *,
    explained: bool,
) -> tuple[NamedTime | None, str]:
    """Return (line, fault); if `explained`, a last cell may say why it moved."""
    cells = split_row(text)
    columns = COLUMNS if record is None else CITING_COLUMNS
    why = cells.pop() if explained and len(cells) > len(columns) else ""
    if (
        len(cells) != len(columns)
        or not cells[0]
        or not is_storable(cells[0])
        or cells[3] not in ("0", "1")
    ):
        return None, f"{where} is not {'|'.join(columns)}"
    time, time_read = read_hours(cells[1])
    lower, upper, bounds_read = read_bounds(cells[2])
    if not (time_read and bounds_read):
        return None, f"{where}: time or bounds are not hours"
    try:
        line = NamedTime(cells[0], time, lower, upper, cells[3] == "1", decided_by)
    except InvariantError:
        return None, f"{where}: the bounds do not contain the time"
    if record is None:
        return line, ""
    cited, fault = _cite(line, cells[4], cells[5], record, config)
    if fault:
        return None, f"{where}: {fault}"
    return replace(cited, reason=read_why(why) or cited.reason), ""


def _cite(
    line: NamedTime, rows: str, near: str, record: PrintedRecord, config: PipelineConfig
) -> tuple[NamedTime, str]:
    """Return (the line with its rows, what is wrong with them or "")."""
    numbers, leaning = read_row_numbers(rows), read_row_numbers(near)
    cited = [record.row(number) for number in numbers or ()]
    near_rows = [record.row(number) for number in leaning or ()]
    if numbers is None or None in cited or len(cited) > config.cited_rows:
        return line, f"rows are not at most {config.cited_rows} numbers of printed rows in brackets"
    if leaning is None or None in near_rows or len(near_rows) > MOST_NEAR:
        return line, f"near are not at most {MOST_NEAR} numbers of printed rows in brackets"
    if len({*numbers, *leaning}) != len(numbers) + len(leaning):
        return line, "a row is named twice"
    linked = replace(
        line,
        reason=CITED_BY_MODEL if cited else "",
        adopted_rows=tuple(row.row_index for row in cited if row),
        near_rows=tuple(row.row_index for row in near_rows if row),
        link=RowLink.CITED if cited else None,
    )
    faults = citation_faults(linked, Expansion((), skeleton=record.rows), config)
    return linked, "; ".join(faults).removeprefix("a line: ")
