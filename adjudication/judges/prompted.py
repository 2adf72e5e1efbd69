"""The judge by a language model: one call a game, the fixed retry policy, the validator every judge shares (protocol section 4).

No name of a source reaches the prompt: all that is rendered is in JudgeInput, which has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjudication.judges.answer_schema import answer_schema
from adjudication.judging import CandidateRow, JudgedFinding, JudgeInput, Unjudged, one_line
from adjudication.validation import TOLERANCE, Tolerance, checked_findings
from llm_runtime.base import ModelReply
from llm_runtime.budget import room
from llm_runtime.calling import Asker
from llm_runtime.errors import AnswerRejected, AttemptsExhausted, SchemaRefused, TooLarge
from llm_runtime.prompts import Rendered, load
from llm_runtime.structured import json_array, json_object, keys_exactly
from timelines.backbones.prompted.tables import hours_text
from timelines.backbones.prompted.timer import anchor_words

PROMPT, PROMPT_ARRAY = "adjudication/judge", "adjudication/judge_array"
#: Tokens of an answer: room for a few findings at least, for one about every row at most.
LEAST_TOKENS, FINDING_TOKENS = 400, 250
HEADER = "row | event | time"
UID_HEADER = "row | uid4 | event | time | bounds | known | context uid4s | source words"


@dataclass(frozen=True)
class PromptedJudge:
    """`asker` is that of role "judge". A server that holds no answer to a schema is asked for a bare list instead."""

    asker: Asker
    tolerance: Tolerance = TOLERANCE

    @property
    def name(self) -> str:
        return f"prompted/{self.asker.model.name}"

    @property
    def version(self) -> str:
        """Of the prompt that is used first: another text is another judge."""
        return load(PROMPT if self.asker.model.limits.schema else PROMPT_ARRAY).sha256[:12]

    def judge(self, given: JudgeInput) -> list[JudgedFinding] | Unjudged:
        """The findings; Unjudged where every attempt was refused or the game does not fit the model. Raises Unavailable,
        Pending and RequestRefused, of which none says anything about the game."""
        return self.asker.run(self.judged, given)

    async def judged(self, given: JudgeInput) -> list[JudgedFinding] | Unjudged:
        try:
            if not self.asker.model.limits.schema:
                return await self._ask(given, schema=False)
            try:
                return await self._ask(given, schema=True)
            except SchemaRefused:
                return await self._ask(given, schema=False)
        except AttemptsExhausted as error:
            return Unjudged(tuple(f"attempt {n}: {reason}" for n, refused in enumerate(error.reasons, start=1) for reason in refused))
        except TooLarge as error:
            return Unjudged((f"{type(error).__name__}: {error}",))

    async def _ask(self, given: JudgeInput, *, schema: bool) -> list[JudgedFinding]:
        model = self.asker.model
        prompt = rendered(given, self.tolerance, schema=schema)
        thinking = model.limits.reasoning
        most = LEAST_TOKENS + thinking + FINDING_TOKENS * (len(given.a_rows) + len(given.b_rows))
        tokens = await room(model, prompt.messages, at_least=LEAST_TOKENS + thinking // 8, at_most=most)

        def validate(reply: ModelReply) -> list[JudgedFinding]:
            return read_answer(reply.text, given, self.tolerance, schema=schema)

        wanted = answer_schema(given, thinking) if schema else None
        return await self.asker.ask(prompt, validate, max_tokens=tokens, part="judge", schema=wanted)


def rendered(given: JudgeInput, tolerance: Tolerance = TOLERANCE, *, schema: bool = True) -> Rendered:
    """The prompt of one game; note, timelines and record stand in it as data."""
    return load(PROMPT if schema else PROMPT_ARRAY).render(
        anchor=anchor_words(given.anchor),
        tolerance=tolerance_words(tolerance),
        series=str(given.series_limit),
        note=given.note,
        timeline_a=timeline_table(given.a_rows, given),
        timeline_b=timeline_table(given.b_rows, given),
        record=given.record_text,
    )


def tolerance_words(tolerance: Tolerance) -> str:
    """ "3 hours, or less than 10 percent of the distance of the farther one from time 0, whichever is more," or "3 hours"."""
    hours = f"{tolerance.least:g} hours"
    if not tolerance.share:
        return hours
    return f"{hours}, or less than {100 * tolerance.share:g} percent of the distance of the farther one from time 0, whichever is more,"


def timeline_table(rows: Sequence[CandidateRow], given: JudgeInput) -> str:
    """`row | event | time` a line; with `uid_table` the six columns of the inventory and the words of the span beside them."""
    if not given.uid_table:
        return "\n".join([HEADER, *(f"{r.row} | {r.event} | {hours_text(r.time)}" for r in rows)])
    return "\n".join([UID_HEADER, *(_uid_line(r, given.note) for r in rows)])


def _uid_line(row: CandidateRow, note: str) -> str:
    c = row.source
    bounds = f"[{hours_text(c.lower)}, {hours_text(c.upper)}]"
    words = one_line(note[c.start : c.end]) if c.start is not None and c.end is not None else ""
    cells = (row.row, c.uid, row.event, hours_text(row.time), bounds, int(c.known), f"[{', '.join(c.context)}]", words)
    return " | ".join(str(cell) for cell in cells)


def read_answer(text: str, given: JudgeInput, tolerance: Tolerance = TOLERANCE, *, schema: bool) -> list[JudgedFinding]:
    """The findings of a reply in either form; [] for none. Raises AnswerRejected."""
    if not schema:
        return checked_findings(json_array(text), given, tolerance)
    answer = json_object(text)
    answer.pop("reasoning", None)
    if faults := keys_exactly(answer, ["findings"], "answer"):
        raise AnswerRejected(faults)
    if not isinstance(answer["findings"], list):
        raise AnswerRejected(["findings is not a list"])
    return checked_findings(answer["findings"], given, tolerance)
