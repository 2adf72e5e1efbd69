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
from llm_runtime.schema import FaultMessage, Strict, Thoughts, grammar
from llm_runtime.structured import (
    add_reasoning,
    append_words,
    is_storable,
    json_object,
    object_schema,
    parse_model,
    set_reasoning,
)
from timelines.backbones.prompted.notes import show_note
from timelines.backbones.prompted.record import PrintedRecord, print_record
from timelines.backbones.prompted.rows import FIRST, KEEP, CitingRowAnswer, RowAnswer, Standing
from timelines.backbones.prompted.stay import stay_fields
from timelines.backbones.prompted.tables import (
    CITING_COLUMNS,
    COLUMNS,
    hours_text,
    read_table,
    read_why,
    timeline_table,
)
from timelines.backbones.prompted.timer import anchor_words, read_rows, row_schema
from timelines.domain import (
    Anchor,
    Evidence,
    Expansion,
    KeptSummary,
    NoRows,
    Occurrence,
    RowLink,
    TaggedNote,
    Timeline,
    Window,
)
from timelines.pipeline.config import PROTOCOL, PipelineConfig
from timelines.pipeline.revision import (
    ProposedEntry,
    ProposedTimeline,
    RevisionRejected,
    citation_faults,
    validate_revision,
)

#: At least and at most this many tokens for each row; a row of a schema answer may be one word.
ROW_TOKENS = (30, 100)
ROW_TOKENS_SCHEMA = (15, 90)
#: A clock time of a summary (`ehr.presentation.rendering.clock`).
_MOMENT = re.compile(r"\b(at|from|to) (\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?![\d:])")
#: Hours by which a rounded hour may differ.
MINUTE_AND_A_HALF = 0.025
CITED_BY_MODEL = "the model cites the rows that record it"
WORDS_KEPT = ""
WORDS_KEPT_TABLE = " and with its mention unchanged"


@dataclass(frozen=True)
class Material:
    """What every call of one revision shows.

    `summaries` (variant `no_rows`) replace rows. `record` has the printed rows that an answer
    cites; None: an answer names no rows (published preset, variant `no_rows`).
    """

    note: TaggedNote
    text_only: Timeline
    found: Expansion
    window: Window
    summaries: Sequence[KeptSummary] | None = None
    record: PrintedRecord | None = None

    @property
    def prompt(self) -> str:
        if self.summaries is not None:
            return "timelines/revise_no_rows"
        return "timelines/revise_published" if self.record is None else "timelines/revise"

    def print_evidence(self, most: int) -> str:
        """Return the part of the record that revision sees, in hours.

        Fields of a row have at most `most` characters; summaries are not cut.
        """
        if self.summaries is not None:
            return summary_lines(self.summaries, self.window.anchor)
        if self.record is None:
            return evidence_lines(self.found.evidence, most)
        return self.record.text

    def print_timeline(self) -> str:
        """Return the text-only table with the numbers of the rows found."""
        inventory, entries = self.note.inventory, self.text_only.by_uid
        if self.record is None:
            return timeline_table(inventory, entries)
        reasons = self.found.without_evidence
        rows = {
            uid: self.record.words_of(uid) or reasons.get(uid, NoRows.NONE_FOUND).value
            for uid in inventory.uids
        }
        return timeline_table(inventory, entries, rows)


class RevisionAnswer(Strict):
    """The timelines of one answer, each in the output protocol of the model."""

    reasoning_summary: Thoughts = ""
    timelines: Annotated[list[dict[str, Any]], FaultMessage("is not a list of objects")]


class Why(Strict):
    """Why one occurrence moved beyond tolerance, in a few words."""

    uid4: str
    words: str


class TableAnswer(Strict):
    """A timeline whose rows are a table."""

    timeline_id: Any
    data: str
    reasoning: Thoughts = ""


@dataclass(frozen=True)
class PromptedReviser:
    asker: Asker
    config: PipelineConfig

    def revise(
        self,
        note: TaggedNote,
        text_only: Timeline,
        found: Expansion,
        window: Window,
        alternatives: int,
    ) -> Sequence[Timeline]:
        """Return the primary timeline and, as asked or defensible, others.

        Raises ModelError, AttemptsExhausted.
        """
        record = None
        if self.config.cite_rows:
            record = print_record(found, self.config.evidence_field_characters)
        material = Material(note, text_only, found, window, record=record)
        return self.asker.run(self.timelines, material, alternatives)

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
            self.timelines,
            Material(note, text_only, Expansion(()), window, summaries),
            alternatives,
        )

    async def timelines(self, material: Material, alternatives: int) -> Sequence[Timeline]:
        asked = material.note.inventory.occurrences
        try:
            proposals = await self._ask(material, alternatives, alternatives, asked, "", "revise")
        except TooLarge:
            # Room for one timeline a call: the others are asked for only if they are required.
            wanted = alternatives if self.config.force_alternatives else 1
            proposals = [await self._alternative(material, wanted, n + 1) for n in range(wanted)]
        return self._validate(material, proposals, alternatives)

    async def _alternative(
        self, material: Material, alternatives: int, number: int
    ) -> ProposedTimeline:
        """Return one alternative, asked for in as many parts as needed."""
        waiting = [list(material.note.inventory.occurrences)]
        settled: list[ProposedEntry] = []
        thoughts: list[str] = []
        while waiting:
            part = waiting.pop(0)
            words = (
                f"revise timeline {number} of {alternatives}, {len(part)} events from {part[0].uid}"
            )
            scope = _scope(number, alternatives, part, settled, len(material.note.inventory))
            try:
                (answer,) = await self._ask(material, alternatives, 1, part, scope, words)
            except TooLarge:
                if len(part) < 2:
                    raise
                half = len(part) // 2
                waiting = [part[:half], part[half:], *waiting]
            else:
                settled += answer.rows
                thoughts.append(answer.reasoning)
        return ProposedTimeline(settled, "\n".join(t for t in thoughts if t))

    async def _ask(
        self,
        material: Material,
        alternatives: int,
        count: int,
        asked: Sequence[Occurrence],
        scope: str,
        words: str,
    ) -> list[ProposedTimeline]:
        """Return the rows of `asked` in at most `count` timelines.

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
    ) -> list[ProposedTimeline]:
        least = self._least(count)
        prompt = self._prompt(material.prompt, material, alternatives, WORDS_KEPT, scope=scope)
        thinking = self.asker.model.limits.reasoning
        prompt = set_reasoning(prompt, thinking)
        tokens = await self._room(prompt, count, len(asked), ROW_TOKENS_SCHEMA)
        known = frozenset(material.note.inventory.uids)
        kind = RowAnswer if material.record is None else CitingRowAnswer

        def validate(reply: ModelReply) -> list[ProposedTimeline]:
            answer = json_object(reply.text)
            summary, timelines = read_timelines(answer, count, least)
            found: list[list[ProposedEntry]] = []
            read: list[ProposedTimeline] = []
            for number, timeline in enumerate(timelines, start=1):
                what = f"timeline {number}"
                thoughts = read_thoughts(timeline.pop("reasoning", ""))
                why = read_whys(timeline.pop("why", []), known, what)
                words: Standing = {
                    KEEP: material.text_only.by_uid,
                    **({FIRST: {e.uid: e for e in found[0]}} if found else {}),
                }
                found.append(
                    read_rows(timeline, asked, known, self.asker.model.name, what, words, kind)
                )
                rows = _link_rows(found[-1], material, what, why, self.config)
                read.append(ProposedTimeline(rows, join_thoughts(summary, thoughts)))
            return read

        schema = revision_schema(
            [o.uid for o in asked],
            material.note.inventory.uids,
            count,
            thinking,
            least=least,
            printed=None if material.record is None else len(material.record.rows),
            cited=self.config.cited_rows,
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
    ) -> list[ProposedTimeline]:
        prompt = self._prompt(f"{material.prompt}_table", material, count, WORDS_KEPT_TABLE)
        prompt = append_words(prompt, scope) if scope else prompt
        prompt = set_reasoning(prompt, self.asker.model.limits.reasoning)
        tokens = await self._room(prompt, count, 2 * len(asked), ROW_TOKENS)
        inventory, known = material.note.inventory, frozenset(material.note.inventory.uids)
        least = self._least(count)
        columns = COLUMNS if material.record is None else CITING_COLUMNS

        def validate(reply: ModelReply) -> list[ProposedTimeline]:
            proposals = []
            summary, timelines = read_timelines(json_object(reply.text), count, least)
            for number, timeline in enumerate(timelines, start=1):
                what = f"timeline {number}"
                answer = parse_model(TableAnswer, timeline, what)
                rows = read_table(answer.data, asked, known, self.asker.model.name, what, columns)
                linked = _link_rows(rows, material, what, {}, self.config)
                thoughts = join_thoughts(summary, read_thoughts(answer.reasoning))
                proposals.append(ProposedTimeline(linked, thoughts))
            if len(asked) == len(inventory):
                self._validate(material, proposals, count)
            return proposals

        return await self.asker.ask(
            prompt, validate, max_tokens=tokens, part=words, covers=[o.uid for o in asked]
        )

    def _least(self, count: int) -> int:
        """Return how many of `count` timelines an answer must have."""
        return count if self.config.force_alternatives else 1

    def _validate(
        self, material: Material, proposals: Sequence[ProposedTimeline], alternatives: int
    ) -> Sequence[Timeline]:
        try:
            return validate_revision(
                material.note.inventory,
                proposals,
                alternatives,
                exactly=self.config.force_alternatives,
            )
        except RevisionRejected as rejection:
            raise AnswerRejected(rejection.reasons) from None

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
        limits = {} if material.record is None else {"cited": str(self.config.cited_rows)}
        prompt = load(name).render(
            note=shown.text,
            timelines=ask_timelines(alternatives, forced=self.config.force_alternatives),
            keeping=keeping,
            anchor=anchor_words(material.window.anchor),
            **stay_fields(material.window, material.note.parts),
            timeline=material.print_timeline(),
            evidence=material.print_evidence(self.config.evidence_field_characters),
            **limits,
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
        fields = (
            item.uid,
            row.event,
            value,
            hours_text(row.time),
            row.time_kind.value,
            f"{item.relevance:.2f}",
        )
        lines.append(" | ".join(" ".join(str(f).split()).replace("|", "/")[:most] for f in fields))
    return "\n".join(lines) if evidence else "none found"


def summary_lines(summaries: Sequence[KeptSummary], anchor: Anchor) -> str:
    """Return lines `uid4 | summary`, of an occurrence by relevance.

    Each summary is on one line, with its moments in hours.
    """
    lines = ["uid4 | summary"]
    lines += [
        f"{item.uid} | {' '.join(convert_clocks(item.text, anchor).split())}" for item in summaries
    ]
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
    uids: Sequence[str],
    context: Sequence[str],
    timelines: int,
    thinking: int = 1,
    *,
    least: int | None = None,
    printed: int | None = None,
    cited: int = PROTOCOL.cited_rows,
) -> dict[str, Any]:
    """Return the schema of an answer with `least` to `timelines` timelines.

    The answer is `reasoning_summary`, then the timelines, each with `reasoning`, one required row
    for each UID, which cites at most `cited` of the `printed` rows, and then `why`. Any row may be
    "keep"; from the second timeline on it may also be "first".
    """
    rows = {
        "row": row_schema(context, (KEEP,), printed, cited),
        "later_row": row_schema(context, (KEEP, FIRST), printed, cited),
    }
    why = {} if printed is None else {"why": {"$ref": "#/$defs/why"}}
    tables = [
        object_schema(
            add_reasoning(
                {**{uid: {"$ref": f"#/$defs/{row}"} for uid in uids}, **why}, "reasoning", thinking
            )
        )
        for row in rows
    ]
    places = [{"$ref": "#/$defs/timeline"}, *[{"$ref": "#/$defs/later_timeline"}] * (timelines - 1)]
    listed = {
        "type": "array",
        "prefixItems": places,
        "minItems": timelines if least is None else least,
        "maxItems": timelines,
    }
    defined = {**rows, "timeline": tables[0], "later_timeline": tables[1]}
    return {
        **object_schema(add_reasoning({"timelines": listed}, "reasoning_summary", thinking)),
        "$defs": {
            **{
                name: rule
                for name, rule in defined.items()
                if timelines > 1 or not name.startswith("later_")
            },
            **({"why": {"type": "array", "items": grammar(Why)}} if why else {}),
        },
    }


def read_timelines(
    answer: dict[str, Any], most: int, least: int | None = None
) -> tuple[str, list[dict[str, Any]]]:
    """Return (reasoning, the objects of an answer): `least` to `most` of them.

    Raises AnswerRejected.
    """
    read = parse_model(RevisionAnswer, answer, "answer")
    least = most if least is None else least
    if not least <= len(read.timelines) <= most:
        wanted = f"exactly {most}" if least == most else f"{least} to {most}"
        raise AnswerRejected([f"there are {len(read.timelines)} timelines, {wanted} are asked for"])
    return read_thoughts(read.reasoning_summary), read.timelines


def read_whys(value: object, known: frozenset[str], what: str) -> dict[str, str]:
    """Return UID → why it moved, of a list of {uid4, words}.

    The prompt asks for at most 120 characters. Longer words are accepted whole: a cut loses the end
    of the sentence, and a rejection costs a whole revision. Raises AnswerRejected.
    """
    if not isinstance(value, list):
        raise AnswerRejected([f"{what}: why is not a list"])
    whys = [parse_model(Why, item, f"{what}: why") for item in value]
    if any(why.uid4 not in known for why in whys):
        raise AnswerRejected([f"{what}: why names an identifier that the case does not have"])
    return {why.uid4: read_why(why.words) for why in whys}


def read_thoughts(value: object) -> str:
    """Return a reasoning text; "" for anything else.

    The raw answer still has it.
    """
    return value.strip() if isinstance(value, str) and is_storable(value) else ""


def join_thoughts(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)


def ask_timelines(most: int, *, forced: bool) -> str:
    """Say how many timelines to write."""
    if most == 1:
        return "Write one complete revised timeline, the likeliest course."
    if forced:
        return (
            f"Write {most} complete revised timelines. The first is the likeliest course; the others"
            " are the next most plausible courses, and differ from it where the record leaves room."
        )
    return (
        "Write one complete revised timeline, the likeliest course. Add a further timeline only if"
        " the record leaves room for a different course that a colleague could defend; at most"
        f" {most} timelines in all."
    )


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


def _link_rows(
    entries: Sequence[ProposedEntry],
    material: Material,
    what: str,
    whys: Mapping[str, str],
    config: PipelineConfig,
) -> list[ProposedEntry]:
    """Return the entries with the rows that they rest on and a reason.

    Numbers of printed rows become rows. Without them the link is inferred: rows that were found for
    the occurrence at the revised hour. Raises AnswerRejected if a cited row does not fit.
    """
    if material.record is None:
        by_uid: dict[str, list[Evidence]] = defaultdict(list)
        for item in material.found.evidence:
            by_uid[item.uid].append(item)
        return [_infer_link(entry, material, by_uid[entry.uid]) for entry in entries]
    faults: list[str] = []
    linked = []
    for entry in entries:
        cited, near = (
            [material.record.row(number) for number in numbers]
            for numbers in (entry.adopted_rows, entry.near_rows)
        )
        if None in cited or None in near:
            faults.append(f"{what}: UID {entry.uid}: a row number that was not printed")
            continue
        found = replace(
            entry,
            adopted_rows=tuple(row.row_index for row in cited if row),
            near_rows=tuple(row.row_index for row in near if row),
            link=RowLink.CITED if cited else None,
        )
        faults += [f"{what}: {fault}" for fault in citation_faults(found, material.found, config)]
        linked.append(
            replace(found, reason=whys.get(entry.uid) or entry.reason or _explain(found, material))
        )
    if faults:
        raise AnswerRejected(faults)
    return linked


def _infer_link(
    entry: ProposedEntry, material: Material, evidence: Sequence[Evidence]
) -> ProposedEntry:
    """Link rows of its own evidence at the revised hour.

    Models round to the minute or to the second decimal of the hour, hence one minute and a half.
    """
    near = [
        item.row.row_index
        for item in evidence
        if entry.time is not None
        and item.row.time is not None
        and abs(item.row.time - entry.time) <= MINUTE_AND_A_HALF
    ]
    linked = replace(
        entry,
        adopted_rows=tuple(dict.fromkeys(near)),
        link=RowLink.INFERRED if near else None,
    )
    return replace(linked, reason=_explain(linked, material))


def _explain(entry: ProposedEntry, material: Material) -> str:
    """Return why the entry has its time, as far as the answer shows it."""
    if entry.link is RowLink.CITED:
        return CITED_BY_MODEL
    if entry.link is RowLink.INFERRED:
        return "the revised hour is that of a row found for it"
    before = material.text_only.by_uid[entry.uid]
    if before.time != entry.time and (
        before.time is None
        or entry.time is None
        or abs(before.time - entry.time) > MINUTE_AND_A_HALF
    ):
        return (
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
    return "kept as inferred from the text" if whole else "time kept as inferred from the text"
