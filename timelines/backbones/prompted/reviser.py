"""Stage 6 by a language model: one pass over the complete timeline.

Source: protocol. If one answer for all alternatives does not fit the schema, the context or the
answer, the alternatives are asked for one by one. After that the inventory is split into parts;
each call sees everything and what earlier parts decided. Nothing is left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any

from llm_runtime.base import ModelReply
from llm_runtime.calls.budget import limit_answer
from llm_runtime.calls.calling import Asker
from llm_runtime.errors import AnswerRejected, TooLarge
from llm_runtime.prompts import Rendered, load
from llm_runtime.schema import FaultMessage, Strict, Thoughts
from llm_runtime.structured import (
    add_reasoning,
    append_words,
    json_object,
    object_schema,
    parse_model,
    set_reasoning,
)
from timelines.backbones.prompted.notes import show_note
from timelines.backbones.prompted.rows import FIRST, KEEP, Standing
from timelines.backbones.prompted.tables import hours_text, read_table, timeline_table
from timelines.backbones.prompted.timer import anchor_words, read_rows, row_schema
from timelines.domain import Anchor, Evidence, KeptSummary, Occurrence, TaggedNote, Timeline, Window
from timelines.pipeline.config import PipelineConfig
from timelines.pipeline.revision import ProposedEntry, RevisionRejected, validate_revision

#: At least and at most this many tokens for each row; a row of a schema answer may be one word.
ROW_TOKENS = (30, 100)
ROW_TOKENS_SCHEMA = (15, 90)
#: A clock time of a summary (`ehr.presentation.rendering.clock`).
_MOMENT = re.compile(r"\b(at|from|to) (\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?![\d:])")
WORDS_KEPT = ""
WORDS_KEPT_TABLE = " and with its mention unchanged"


@dataclass(frozen=True)
class Material:
    """What every call of one revision shows.

    `summaries` (variant `no_rows`) replace rows.
    """

    note: TaggedNote
    text_only: Timeline
    evidence: Sequence[Evidence]
    window: Window
    summaries: Sequence[KeptSummary] | None = None

    @property
    def prompt(self) -> str:
        return "timelines/revise" if self.summaries is None else "timelines/revise_no_rows"

    def lines(self, most: int) -> str:
        """Return the part of the record that revision sees, in hours.

        Fields of a row have at most `most` characters; summaries are not cut.
        """
        if self.summaries is None:
            return evidence_lines(self.evidence, most)
        return summary_lines(self.summaries, self.window.anchor)


class RevisionAnswer(Strict):
    """The timelines of one answer, each in the output protocol of the model."""

    reasoning_summary: Thoughts
    timelines: Annotated[list[dict[str, Any]], FaultMessage("is not a list of objects")]


class TableAnswer(Strict):
    """A timeline whose rows are a table."""

    timeline_id: Any
    data: str
    reasoning: Thoughts


@dataclass(frozen=True)
class PromptedReviser:
    asker: Asker
    config: PipelineConfig

    def revise(
        self,
        note: TaggedNote,
        text_only: Timeline,
        evidence: Sequence[Evidence],
        window: Window,
        alternatives: int,
    ) -> Sequence[Timeline]:
        """Return exactly `alternatives` complete timelines.

        Raises ModelError, AttemptsExhausted.
        """
        return self.asker.run(
            self.timelines, Material(note, text_only, evidence, window), alternatives
        )

    def revise_by_summaries(
        self,
        note: TaggedNote,
        text_only: Timeline,
        summaries: Sequence[KeptSummary],
        window: Window,
        alternatives: int,
    ) -> Sequence[Timeline]:
        """Return timelines as `revise` does, from summaries of series.

        No time rests on a row. Raises ModelError, AttemptsExhausted.
        """
        return self.asker.run(
            self.timelines, Material(note, text_only, (), window, summaries), alternatives
        )

    async def timelines(self, material: Material, alternatives: int) -> Sequence[Timeline]:
        asked = material.note.inventory.occurrences
        try:
            proposals = await self._ask(material, alternatives, alternatives, asked, "", "revise")
        except TooLarge:
            proposals = [
                await self._alternative(material, alternatives, n)
                for n in range(1, alternatives + 1)
            ]
        return _validate(material, proposals, alternatives)

    async def _alternative(
        self, material: Material, alternatives: int, number: int
    ) -> list[ProposedEntry]:
        """Return one alternative, asked for in as many parts as needed."""
        waiting = [list(material.note.inventory.occurrences)]
        settled: list[ProposedEntry] = []
        while waiting:
            part = waiting.pop(0)
            words = (
                f"revise timeline {number} of {alternatives}, {len(part)} events from {part[0].uid}"
            )
            scope = _scope(number, alternatives, part, settled, len(material.note.inventory))
            try:
                settled += (await self._ask(material, alternatives, 1, part, scope, words))[0]
            except TooLarge:
                if len(part) < 2:
                    raise
                half = len(part) // 2
                waiting = [part[:half], part[half:], *waiting]
        return settled

    async def _ask(
        self,
        material: Material,
        alternatives: int,
        count: int,
        asked: Sequence[Occurrence],
        scope: str,
        words: str,
    ) -> list[list[ProposedEntry]]:
        """Return the rows of `asked` in `count` timelines.

        The model's limits decide the output protocol: schema or tables.
        """
        if self.asker.model.limits.schema:
            return await self._schema(material, alternatives, count, asked, scope, words)
        return await self._tables(material, count, asked, scope, words)

    async def _schema(
        self,
        material: Material,
        alternatives: int,
        count: int,
        asked: Sequence[Occurrence],
        scope: str,
        words: str,
    ) -> list[list[ProposedEntry]]:
        prompt = self._prompt(
            material.prompt, material, alternatives, WORDS_KEPT, asked=str(count), scope=scope
        )
        prompt = set_reasoning(prompt, self.asker.model.limits.reasoning)
        tokens = await self._room(prompt, count, len(asked), ROW_TOKENS_SCHEMA)
        known = frozenset(material.note.inventory.uids)
        by_uid = _group_by_uid(material.evidence)

        def validate(reply: ModelReply) -> list[list[ProposedEntry]]:
            answer = json_object(reply.text)
            timelines = read_timelines({"reasoning_summary": "", **answer}, count)
            rows: list[list[ProposedEntry]] = []
            for number, timeline in enumerate(timelines, start=1):
                timeline.pop("reasoning", None)
                words: Standing = {
                    KEEP: material.text_only.by_uid,
                    **({FIRST: {e.uid: e for e in rows[0]}} if rows else {}),
                }
                found = read_rows(
                    timeline, asked, known, self.asker.model.name, f"timeline {number}", words
                )
                rows.append([_cite_rows(entry, material, by_uid) for entry in found])
            return rows

        schema = revision_schema(
            [o.uid for o in asked],
            material.note.inventory.uids,
            count,
            self.asker.model.limits.reasoning,
        )
        return await self.asker.ask(
            prompt,
            validate,
            max_tokens=tokens,
            part=words,
            schema=schema,
            covers=[o.uid for o in asked],
        )

    async def _tables(
        self, material: Material, count: int, asked: Sequence[Occurrence], scope: str, words: str
    ) -> list[list[ProposedEntry]]:
        prompt = self._prompt(f"{material.prompt}_table", material, count, WORDS_KEPT_TABLE)
        prompt = append_words(prompt, scope) if scope else prompt
        tokens = await self._room(prompt, count, 2 * len(asked), ROW_TOKENS)
        inventory, known = material.note.inventory, frozenset(material.note.inventory.uids)
        by_uid = _group_by_uid(material.evidence)

        def validate(reply: ModelReply) -> list[list[ProposedEntry]]:
            proposals = []
            for number, timeline in enumerate(
                read_timelines(json_object(reply.text), count), start=1
            ):
                what = f"timeline {number}"
                data = parse_model(TableAnswer, timeline, what).data
                rows = read_table(data, asked, known, self.asker.model.name, what)
                proposals.append([_cite_rows(entry, material, by_uid) for entry in rows])
            if len(asked) == len(inventory):
                _validate(material, proposals, count)
            return proposals

        return await self.asker.ask(
            prompt, validate, max_tokens=tokens, part=words, covers=[o.uid for o in asked]
        )

    def _prompt(
        self, name: str, material: Material, alternatives: int, keeping: str, **more: str
    ) -> Rendered:
        inventory = material.note.inventory
        shown = show_note(
            material.note,
            inventory.occurrences,
            whole=self.config.revise_note_characters,
            local=self.config.revise_local_characters,
        )
        discharge = material.window.discharge
        clock = None if discharge is None else material.window.anchor.clock(discharge)
        prompt = load(name).render(
            note=shown.text,
            alternatives=str(alternatives),
            keeping=keeping,
            admitted=anchor_words(material.window.anchor),
            discharged="not recorded"
            if discharge is None or clock is None
            else f"{hours_text(discharge)} ({clock:%Y-%m-%d %H:%M})",
            timeline=timeline_table(inventory, material.text_only.by_uid),
            evidence=material.lines(self.config.evidence_field_characters),
            **more,
        )
        return replace(prompt, shortened=shown.cut)

    async def _room(
        self, prompt: Rendered, timelines: int, rows: int, row_tokens: tuple[int, int]
    ) -> int:
        thinking = self.asker.model.limits.reasoning
        least = thinking // 6 + row_tokens[0] * timelines * rows
        most = 100 + thinking * (1 + timelines) + row_tokens[1] * timelines * rows
        return await limit_answer(self.asker.model, prompt.messages, at_least=least, at_most=most)


def evidence_lines(evidence: Sequence[Evidence], most: int) -> str:
    """Return the evidence as a table, in the order given.

    Columns: `uid4 | event | value | hours | kind of moment | relevance`. Fields have at most `most`
    characters.
    """
    lines = ["uid4 | event | value | hours | kind of moment | relevance"]
    for item in evidence:
        row = item.row
        value = f"{row.value} {row.unit}".strip()
        score = item.rerank_score if item.rerank_score is not None else item.dense_score
        fields = (
            item.uid,
            row.event,
            value,
            hours_text(row.time),
            row.time_kind.value,
            f"{score:.2f}",
        )
        lines.append(" | ".join(" ".join(str(f).split()).replace("|", "/")[:most] for f in fields))
    return "\n".join(lines) if evidence else "none found"


def summary_lines(summaries: Sequence[KeptSummary], anchor: Anchor) -> str:
    """Return lines `uid4 | relevance | summary`, in the order given.

    Each summary is on one line, with its moments in hours.
    """
    lines = ["uid4 | relevance | summary"]
    for item in summaries:
        score = item.rerank_score if item.rerank_score is not None else item.dense_score
        lines.append(
            f"{item.uid} | {score:.2f} | {' '.join(convert_clocks(item.text, anchor).split())}"
        )
    return "\n".join(lines) if summaries else "none found"


def convert_clocks(summary: str, anchor: Anchor) -> str:
    """Replace the clock times of a summary with hours from `anchor`.

    The prompt names hours. The renderer writes clock times after these words (at, from, to).
    """

    def convert(match: re.Match[str]) -> str:
        try:
            return f"{match[1]} {hours_text(anchor.hours(datetime.fromisoformat(match[2])))} h"
        except ValueError:  # a value that only looks like a moment
            return match[0]

    return _MOMENT.sub(convert, summary)


def revision_schema(
    uids: Sequence[str], context: Sequence[str], timelines: int, thinking: int = 1
) -> dict[str, Any]:
    """Return the schema of an answer with exactly that many timelines.

    The answer is `reasoning_summary`, then the timelines, each with `reasoning` and one required
    row for each UID. Any row may be "keep"; from the second timeline on it may also be "first".
    """
    rows = {"row": row_schema(context, (KEEP,)), "later_row": row_schema(context, (KEEP, FIRST))}
    tables = [
        object_schema(
            add_reasoning({uid: {"$ref": f"#/$defs/{row}"} for uid in uids}, "reasoning", thinking)
        )
        for row in rows
    ]
    places = [{"$ref": "#/$defs/timeline"}, *[{"$ref": "#/$defs/later_timeline"}] * (timelines - 1)]
    listed = {"type": "array", "prefixItems": places, "minItems": timelines, "maxItems": timelines}
    defined = {**rows, "timeline": tables[0], "later_timeline": tables[1]}
    return {
        **object_schema(add_reasoning({"timelines": listed}, "reasoning_summary", thinking)),
        "$defs": {
            name: rule
            for name, rule in defined.items()
            if timelines > 1 or not name.startswith("later_")
        },
    }


def read_timelines(answer: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Return the list in an answer, of exactly that many objects.

    Raises AnswerRejected.
    """
    timelines = parse_model(RevisionAnswer, answer, "answer").timelines
    if len(timelines) != count:
        raise AnswerRejected(
            [f"there are {len(timelines)} timelines, exactly {count} are asked for"]
        )
    return timelines


def _scope(
    number: int,
    alternatives: int,
    part: Sequence[Occurrence],
    settled: Sequence[ProposedEntry],
    total: int,
) -> str:
    """Describe its part to a partial call.

    The prompt before it is the same for every part.
    """
    words = [f"This call is for timeline {number} of {alternatives} alone."]
    if len(part) < total:
        words.append(f"Of it, answer for these identifiers only: {', '.join(o.uid for o in part)}.")
    if settled:
        rows = "; ".join(f"{e.uid} {hours_text(e.time)}" for e in settled)
        words.append(f"Already decided in this timeline, as identifier and hours: {rows}.")
    return " ".join(words)


def _group_by_uid(evidence: Sequence[Evidence]) -> Mapping[str, Sequence[Evidence]]:
    found: dict[str, list[Evidence]] = defaultdict(list)
    for item in evidence:
        found[item.uid].append(item)
    return found


def _cite_rows(
    entry: ProposedEntry, material: Material, evidence: Mapping[str, Sequence[Evidence]]
) -> ProposedEntry:
    """Return the entry with the rows that its time rests on.

    These are rows of its own evidence at the revised hour. If there are none, the reason says
    whether the time changed. Models round to the minute or to the second decimal of the hour, hence
    one minute and a half.
    """
    before = material.text_only.by_uid[entry.uid]
    near = [
        item.row.row_index
        for item in evidence.get(entry.uid, ())
        if entry.time is not None
        and item.row.time is not None
        and abs(item.row.time - entry.time) <= 0.025
    ]
    moved = before.time != entry.time and (
        before.time is None or entry.time is None or abs(before.time - entry.time) > 0.025
    )
    if near:
        return replace(
            entry,
            adopted_rows=tuple(dict.fromkeys(near)),
            reason="the revised hour is that of a row found for it",
        )
    how = (
        "revised by the model without a row of its own"
        if material.summaries is None
        else "revised by the model from summaries of series"
    )
    whole = (entry.lower, entry.upper, entry.known, entry.context) == (
        before.lower,
        before.upper,
        before.known,
        before.context,
    )
    return replace(
        entry,
        reason=how
        if moved
        else "kept as inferred from the text"
        if whole
        else "time kept as inferred from the text",
    )


def _validate(
    material: Material, proposals: Sequence[Sequence[ProposedEntry]], alternatives: int
) -> Sequence[Timeline]:
    try:
        return validate_revision(material.note.inventory, proposals, alternatives)
    except RevisionRejected as rejection:
        raise AnswerRejected(rejection.reasons) from None
