"""Stage 3 by a language model, in batches of 60 occurrences at most.

Each call sees the whole tagged note (protocol).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llm_runtime.base import ModelReply
from llm_runtime.calls.budget import limit_answer
from llm_runtime.calls.calling import Asker, ask_in_parts, gather_results
from llm_runtime.errors import AnswerRejected
from llm_runtime.prompts import load
from llm_runtime.schema import grammar
from llm_runtime.structured import (
    add_reasoning,
    extract_answer,
    find_key_faults,
    json_object,
    object_schema,
    set_reasoning,
)
from timelines.backbones.prompted.notes import mark_uids
from timelines.backbones.prompted.rows import (
    MOST_NEAR,
    NOTHING,
    REQUIRED,
    AnyRow,
    CitingRowAnswer,
    RowAnswer,
    Standing,
    parse_row,
)
from timelines.backbones.prompted.stay import stay_fields
from timelines.backbones.prompted.tables import mention_table, read_table
from timelines.domain import (
    MAX_CONTEXT,
    Anchor,
    Entry,
    Occurrence,
    TaggedNote,
    Timeline,
    TimelineKind,
    Window,
)
from timelines.pipeline.config import PROTOCOL, PipelineConfig
from timelines.pipeline.revision import ProposedEntry

#: Asks a model without a schema to think in its answer.
THINK = "Think first, between <think> and </think>. "
#: At least and at most this many tokens of an answer for each row.
ROW_TOKENS = (30, 90)


@dataclass(frozen=True)
class PromptedTimer:
    """A timer whose batches run concurrently.

    A batch that is too large for schema, context or answer is split in half.
    """

    asker: Asker
    config: PipelineConfig

    def infer(self, note: TaggedNote, anchor: Anchor, discharge: float | None = None) -> Timeline:
        """A complete text-only timeline. Raises ModelError, AttemptsExhausted."""
        return self.asker.run(self.timeline, note, Window(anchor, discharge))

    async def timeline(self, note: TaggedNote, window: Window) -> Timeline:
        shown = mark_uids(note.text, note.inventory)
        size = self.config.infer_batch_size
        batches = [
            note.inventory.occurrences[at : at + size] for at in range(0, len(note.inventory), size)
        ]

        async def batch(number: int, occurrences: Sequence[Occurrence]) -> dict[str, Entry]:
            async def ask(part: Sequence[Occurrence]) -> Mapping[str, Entry]:
                words = (
                    f"infer batch {number} of {len(batches)}, {len(part)} events from {part[0].uid}"
                )
                return await self._batch(shown, note, window, words, part)

            return await ask_in_parts(occurrences, ask)

        answers = await gather_results([batch(n, b) for n, b in enumerate(batches, start=1)])
        entries = {uid: entry for answer in answers for uid, entry in answer.items()}
        return Timeline.complete(note.inventory, list(entries.values()), TimelineKind.TEXT_ONLY)

    async def _batch(
        self,
        shown: str,
        note: TaggedNote,
        window: Window,
        part: str,
        asked: Sequence[Occurrence],
    ) -> dict[str, Entry]:
        schema = self.asker.model.limits.schema
        thinking = self.asker.model.limits.reasoning
        fields = {
            "note": shown,
            "mentions": mention_table(asked),
            "anchor": anchor_words(window.anchor),
            **stay_fields(window, note.parts),
        }
        if schema:
            prompt = set_reasoning(load("timelines/infer").render(**fields), thinking)
        else:
            prompt = load("timelines/infer_table").render(
                **fields, thinking=THINK if thinking else ""
            )
        least, most = (
            thinking // 8 + ROW_TOKENS[0] * len(asked),
            100 + thinking + ROW_TOKENS[1] * len(asked),
        )
        tokens = await limit_answer(self.asker.model, prompt.messages, at_least=least, at_most=most)
        known = frozenset(note.inventory.uids)

        def validate(reply: ModelReply) -> dict[str, Entry]:
            read = read_entries if schema else read_answer_table
            return {p.uid: _entry(p) for p in read(reply.text, asked, known, self.asker.model.name)}

        wanted = (
            entries_schema([o.uid for o in asked], note.inventory.uids, thinking)
            if schema
            else None
        )
        return await self.asker.ask(
            prompt,
            validate,
            max_tokens=tokens,
            part=part,
            schema=wanted,
            covers=[o.uid for o in asked],
        )


def anchor_words(anchor: Anchor) -> str:
    """Describe the anchor: "the hospital admission, 2180-03-04 14:38".

    Without an admission it is the earliest documented presentation.
    """
    what = (
        "the hospital admission"
        if anchor.kind == "admission"
        else "the earliest documented presentation"
    )
    return f"{what}, {anchor.at:%Y-%m-%d %H:%M}"


def row_schema(
    context: Sequence[str],
    words: Sequence[str] = (),
    printed: int | None = None,
    cited: int = PROTOCOL.cited_rows,
) -> dict[str, Any]:
    """Return the schema of one row.

    A row is `[time, lower, upper, known]`, these and further lists, or one of the `words` that
    replace a row. The lists are contexts, limited to the UIDs of the case; before them, if rows are
    `printed`, the numbers of rows, at most `cited` of those that record the event. Every row refers
    to the same rule, so the schema stays small. The grammars of the servers have lists of exact
    length without `items` in common.
    """
    kind = RowAnswer if printed is None else CitingRowAnswer
    fields = dict(grammar(kind)["properties"])
    of_the_case = {"items": {"type": "string", "enum": list(context)}, "maxItems": MAX_CONTEXT}
    fields["context"] = {**fields["context"], **of_the_case}
    if printed is not None:
        number = {"type": "integer", "minimum": 1, "maximum": max(printed, 1)}
        for name, most in (("rows", cited), ("near", MOST_NEAR)):
            fields[name] = {"type": "array", "items": number, "maxItems": most if printed else 0}
    ordered = list(fields.values())
    lists = [
        {"type": "array", "prefixItems": ordered[:n], "minItems": n, "maxItems": n}
        for n in range(REQUIRED, len(ordered) + 1)
    ]
    return {"anyOf": [*([{"type": "string", "enum": list(words)}] if words else []), *lists]}


def entries_schema(
    uids: Sequence[str], context: Sequence[str], thinking: int = 1
) -> dict[str, Any]:
    """Return the schema of the answer: reasoning, then a row per UID.

    Rows are required and in inventory order (protocol "schema").
    """
    rows = {uid: {"$ref": "#/$defs/row"} for uid in uids}
    return {
        **object_schema(add_reasoning(rows, "reasoning", thinking)),
        "$defs": {"row": row_schema(context)},
    }


def read_entries(
    text: str, asked: Sequence[Occurrence], context: frozenset[str], decided_by: str
) -> list[ProposedEntry]:
    """Return the rows of a schema answer.

    Raises AnswerRejected with every fault.
    """
    answer = json_object(text)
    answer.pop("reasoning", None)
    return read_rows(answer, asked, context, decided_by, "answer")


def read_rows(
    answer: Mapping[str, Any],
    asked: Sequence[Occurrence],
    context: frozenset[str],
    decided_by: str,
    what: str,
    words: Standing = NOTHING,
    kind: AnyRow = RowAnswer,
) -> list[ProposedEntry]:
    """Return one row for each UID asked for, and no other.

    `words` and `kind` as in `parse_row`. Raises AnswerRejected.
    """
    faults = find_key_faults(answer, [o.uid for o in asked], what)
    entries: list[ProposedEntry] = []
    for o in asked:
        if o.uid in answer:
            entry, found = parse_row(o.uid, answer[o.uid], context, decided_by, words, kind)
            faults += [f"{what}: {fault}" for fault in found]
            if entry is not None:
                entries.append(entry)
    if faults:
        raise AnswerRejected(faults)
    return entries


def read_answer_table(
    text: str, asked: Sequence[Occurrence], context: frozenset[str], decided_by: str
) -> list[ProposedEntry]:
    """The table between <answer> and </answer>. Raises AnswerRejected."""
    return read_table(extract_answer(text), asked, context, decided_by, "table")


def _entry(p: ProposedEntry) -> Entry:
    return Entry(
        p.uid,
        p.time,
        p.lower,
        p.upper,
        p.known,
        p.context,
        p.decided_by,
        "inferred from the text by the model",
    )
