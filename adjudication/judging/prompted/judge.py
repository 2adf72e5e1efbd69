"""The judge by a language model (protocol section 4).

One call per game, with the fixed retry policy and the validator that every judge uses. No source
name reaches the prompt: it renders only JudgeInput, which has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from adjudication.domain import Side
from adjudication.judging.answers import Findings
from adjudication.judging.input import (
    CandidateRow,
    Judged,
    JudgedFinding,
    JudgeInput,
    RecordTimes,
    Unjudged,
    format_one_line,
)
from adjudication.judging.prompted.answer_schema import answer_schema
from adjudication.judging.prompted.repair import Repair
from adjudication.judging.validation import TOLERANCE, Tolerance, validate_findings
from llm_runtime.base import LanguageModel, ModelReply
from llm_runtime.calls.budget import limit_answer
from llm_runtime.calls.calling import Asker
from llm_runtime.errors import (
    AttemptsExhausted,
    PromptTooLong,
    SchemaRefused,
    TooLarge,
    Truncated,
)
from llm_runtime.prompts import Rendered, load
from llm_runtime.structured import json_array, json_object, parse_model, set_reasoning
from timelines.backbones.prompted.tables import hours_text
from timelines.backbones.prompted.timer import anchor_words
from timelines.pipeline.uids import draw_uid

PROMPTS: Mapping[RecordTimes, str] = {
    "hours": "adjudication/judge",
    "iso": "adjudication/judge_published",
}
#: Lower limits of series, tried in order if the record does not fit the model's context.
SERIES_STEPS = (600, 400, 250, 150, 80, 40)
#: Tokens of an answer: at least room for a few findings, at most for one about every row.
LEAST_TOKENS, FINDING_TOKENS = 400, 250
HEADER = "row | event | time"
UID_HEADER = "row | uid4 | event | time | bounds | known | context uid4s | source words"


@dataclass(frozen=True)
class PromptedJudge:
    """`asker` asks for role "judge".

    A server that cannot constrain an answer to a schema is asked for a bare list instead.
    """

    asker: Asker
    tolerance: Tolerance = TOLERANCE
    record_times: RecordTimes = "hours"
    repair: bool = True

    @property
    def name(self) -> str:
        return f"prompted/{self.asker.model.name}"

    @property
    def version(self) -> str:
        """Return the hash of the prompt used first: another text, another judge."""
        schema = _takes_schema(self.asker.model)
        return load(_prompt_name(self.record_times, schema)).sha256[:12]

    def judge(self, given: JudgeInput) -> Judged | Unjudged:
        """Return the findings, or Unjudged if the model gave no valid answer.

        Unjudged: every attempt was rejected, or the game does not fit the model even with the
        smallest record. Raises Unavailable, Pending and RequestRefused; none of them says anything
        about the game.
        """
        return self.asker.run(self.judge_async, given)

    async def judge_async(self, given: JudgeInput) -> Judged | Unjudged:
        limits = list_limits(given)
        for limit in limits:
            smaller = replace(given, series_limit=limit)
            try:
                findings, dropped = await self._ask_in_form(smaller)
                return Judged(tuple(findings), len(smaller.series), dropped)
            except AttemptsExhausted as error:
                return Unjudged(
                    tuple(
                        f"attempt {n}: {reason}"
                        for n, refused in enumerate(error.reasons, start=1)
                        for reason in refused
                    )
                )
            except TooLarge as error:
                if limit == limits[-1] or not isinstance(error, PromptTooLong):
                    return Unjudged((f"{type(error).__name__}: {error}",))
        raise AssertionError("a game has at least one limit")

    async def _ask_in_form(
        self, given: JudgeInput
    ) -> tuple[Sequence[JudgedFinding], tuple[str, ...]]:
        """Ask with a schema if the server takes it, else for a bare list.

        Returns the findings, and the faults of those that stayed invalid.
        """
        if self.asker.model.limits.schema:
            with suppress(SchemaRefused):
                return await self._ask(given, schema=True)
        return await self._ask(given, schema=False)

    async def _ask(
        self, given: JudgeInput, *, schema: bool
    ) -> tuple[Sequence[JudgedFinding], tuple[str, ...]]:
        model = self.asker.model
        prompt = render_game(given, self.tolerance, schema=schema)
        thinking = model.limits.reasoning
        prompt = set_reasoning(prompt, thinking) if schema else prompt
        if left_out := _count_left_out(given):
            prompt = replace(prompt, shortened=f"the record without {left_out} series")
        most = LEAST_TOKENS + thinking + FINDING_TOKENS * (len(given.a_rows) + len(given.b_rows))
        tokens = await limit_answer(
            model, prompt.messages, at_least=LEAST_TOKENS + thinking // 8, at_most=most
        )

        repair = Repair(given, self.tolerance)

        def validate(reply: ModelReply) -> list[JudgedFinding]:
            raw = read_answer(reply.text, schema=schema)
            return (
                repair.validate(raw)
                if self.repair
                else validate_findings(raw, given, self.tolerance)
            )

        wanted = answer_schema(given, thinking) if schema else None
        try:
            findings = await self.asker.ask(
                prompt,
                validate,
                max_tokens=tokens,
                part="judge",
                schema=wanted,
                complain=repair.complain,
            )
            return findings, ()
        except (AttemptsExhausted, Truncated) as error:
            if repair.valid:
                return repair.valid, repair.dropped
            if isinstance(error, AttemptsExhausted) or tokens == most:
                raise
            raise PromptTooLong(
                f"{error}, and the prompt leaves no more tokens for an answer"
            ) from error


def _takes_schema(model: LanguageModel) -> bool:
    """Return whether the model takes a schema.

    A model that describes itself knows this before its server was asked for its limits.
    """
    describe = getattr(model, "describe", None)
    output = None if describe is None else describe().get("output")
    return model.limits.schema if output is None else bool(output == "schema")


def list_limits(given: JudgeInput) -> list[int]:
    """Return the game's limit, then each lower step that shows less."""
    shown = min(given.series_limit, len(given.series))
    return [given.series_limit, *(step for step in SERIES_STEPS if step < shown)]


def _count_left_out(given: JudgeInput) -> int:
    return len(given.summaries) - len(given.series)


def _prompt_name(times: RecordTimes, schema: bool) -> str:
    return PROMPTS[times] if schema else f"{PROMPTS[times]}_array"


def render_game(
    given: JudgeInput, tolerance: Tolerance = TOLERANCE, *, schema: bool = True
) -> Rendered:
    """Render the prompt of one game, with note, timelines and record as data."""
    return load(_prompt_name(given.record_times, schema)).render(
        anchor=anchor_words(given.anchor),
        tolerance=tolerance_words(tolerance),
        series=str(given.series_limit),
        note=given.note,
        timeline_a=timeline_table(Side.A, given),
        timeline_b=timeline_table(Side.B, given),
        record=given.record_text,
    )


def tolerance_words(tolerance: Tolerance) -> str:
    """Return the tolerance in words: "3 hours", with the share if it has one.

    "3 hours, or less than 10 percent of the larger distance from time 0, whichever is more,".
    """
    hours = f"{tolerance.least:g} hours"
    if not tolerance.share:
        return hours
    return (
        f"{hours}, or less than {100 * tolerance.share:g} percent of the larger distance from time"
        " 0, whichever is more,"
    )


def timeline_table(side: Side, given: JudgeInput) -> str:
    """Return the rows of a side, one `row | event | time` a line.

    With `uid_table`, the inventory's columns and the words of the span too.
    """
    rows = given.a_rows if side is Side.A else given.b_rows
    if not given.uid_table:
        return "\n".join([HEADER, *(f"{r.row} | {r.event} | {hours_text(r.time)}" for r in rows)])
    shown = _distinct_events(given)[side]
    return "\n".join([UID_HEADER, *(_uid_line(r, given.note, shown) for r in rows)])


def _distinct_events(given: JudgeInput) -> Mapping[Side, Mapping[str, str]]:
    """Map each side to the UIDs that the prompt replaces there.

    Two inventories may share a UID by chance, and equal UIDs are read as one occurrence. The line
    with the higher row number gets another UID, so that swapping the labels swaps the tables and no
    more.
    """
    rows = {
        side: {r.uid: r for r in of if r.uid is not None}
        for side, of in ((Side.A, given.a_rows), (Side.B, given.b_rows))
    }
    taken = {u for of in rows.values() for uid, r in of.items() for u in (uid, *r.source.context)}
    rng = Random(",".join(sorted(taken)))
    found: dict[Side, dict[str, str]] = {Side.A: {}, Side.B: {}}
    for uid in sorted(rows[Side.A].keys() & rows[Side.B].keys()):
        a, b = rows[Side.A][uid], rows[Side.B][uid]
        if a.source.start != b.source.start:
            other = draw_uid(rng, taken)
            taken.add(other)
            found[Side.A if a.row > b.row else Side.B][uid] = other
    return found


def _uid_line(row: CandidateRow, note: str, shown: Mapping[str, str]) -> str:
    c = row.source
    bounds = f"[{hours_text(c.lower)}, {hours_text(c.upper)}]"
    words = (
        format_one_line(note[c.start : c.end]) if c.start is not None and c.end is not None else ""
    )
    uid, *context = (shown.get(u, u) for u in (c.uid or "", *c.context))
    cells = (
        row.row,
        uid,
        row.event,
        hours_text(row.time),
        bounds,
        int(c.known),
        f"[{', '.join(context)}]",
        words,
    )
    return " | ".join(str(cell) for cell in cells)


def read_answer(text: str, *, schema: bool) -> list[Any]:
    """Return the findings of a reply in either form, not yet validated.

    Raises AnswerRejected.
    """
    return parse_model(Findings, json_object(text)).findings if schema else json_array(text)
