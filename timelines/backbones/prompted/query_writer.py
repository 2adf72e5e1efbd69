"""Stage 4: queries by a language model, `query_batch_size` UIDs a call.

A call begins with the note and the names of the series, which are the same in every call of a case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import AfterValidator, Field, create_model
from typing_extensions import TypeAliasType

from llm_runtime.base import ModelReply
from llm_runtime.calls.budget import limit_answer
from llm_runtime.calls.calling import Asker, ask_in_parts, gather_results
from llm_runtime.prompts import load
from llm_runtime.schema import FaultMessage, Strict, grammar
from llm_runtime.structured import is_storable, json_object, parse_model
from timelines.backbones.prompted.notes import Shown, list_names, show_note
from timelines.backbones.prompted.tables import mention_table
from timelines.domain import Occurrence, TaggedNote
from timelines.pipeline.config import PipelineConfig

#: At least and at most this many tokens of an answer for each UID.
UID_TOKENS = (30, 150)
#: A longer text is not a query; it is rejected like a fourth query.
QUERY_CHARACTERS = 300


def _searchable(text: str) -> str:
    if len(text) > QUERY_CHARACTERS or not is_storable(text):
        raise ValueError("no search text")
    return text


Query = Annotated[
    str,
    AfterValidator(_searchable),
    FaultMessage(f"is no search text: at most {QUERY_CHARACTERS} characters, none of them invalid"),
]


@dataclass(frozen=True)
class PromptedQueryWriter:
    """A query writer whose batches run concurrently.

    A UID that the model omits, or answers with an empty list, is searched by its mention.
    """

    asker: Asker
    config: PipelineConfig

    def write(self, note: TaggedNote, names: Sequence[str] = ()) -> Mapping[str, Sequence[str]]:
        """1–3 queries per UID that got any. Raises ModelError, AttemptsExhausted."""
        return self.asker.run(self.queries, note, names)

    async def queries(self, note: TaggedNote, names: Sequence[str] = ()) -> dict[str, list[str]]:
        listed = list_names(names, self.config.query_names_characters)
        size = self.config.query_batch_size
        batches = [
            note.inventory.occurrences[at : at + size] for at in range(0, len(note.inventory), size)
        ]

        async def batch(number: int, occurrences: Sequence[Occurrence]) -> dict[str, list[str]]:
            async def ask(part: Sequence[Occurrence]) -> Mapping[str, list[str]]:
                return await self._batch(
                    note,
                    listed,
                    f"query batch {number} of {len(batches)}, {len(part)} events from"
                    f" {part[0].uid}",
                    part,
                )

            return await ask_in_parts(occurrences, ask)

        answers = await gather_results([batch(n, b) for n, b in enumerate(batches, start=1)])
        return {uid: texts for answer in answers for uid, texts in answer.items()}

    async def _batch(
        self, note: TaggedNote, names: Shown, part: str, asked: Sequence[Occurrence]
    ) -> dict[str, list[str]]:
        shown = show_note(
            note,
            asked,
            whole=self.config.query_report_characters,
            local=self.config.query_local_characters,
        )
        fields = {"note": shown.text, "mentions": mention_table(asked)}
        prompt = (
            load("timelines/query_names").render(names=names.text, **fields)
            if names.text
            else load("timelines/query").render(**fields)
        )
        cuts = [cut for cut in (shown.cut, names.cut) if cut]
        prompt = replace(prompt, shortened="; ".join(cuts))
        least, most = UID_TOKENS[0] * len(asked), 400 + UID_TOKENS[1] * len(asked)
        tokens = await limit_answer(self.asker.model, prompt.messages, at_least=least, at_most=most)
        uids = [o.uid for o in asked]
        answer = query_answer(uids, self.config)

        def validate(reply: ModelReply) -> dict[str, list[str]]:
            return read_queries(reply.text, answer)

        schema = grammar(answer) if self.asker.model.limits.schema else None
        return await self.asker.ask(
            prompt, validate, max_tokens=tokens, part=part, schema=schema, covers=uids
        )


def query_answer(uids: Sequence[str], config: PipelineConfig) -> type[Strict]:
    """Return the type of the answer for these UIDs: 1–3 texts each.

    A missing or empty list is accepted, because the mention replaces it, but the schema that
    servers decode by does not allow one.
    """
    bounds: dict[str, Any] = {"minItems": config.min_queries, "maxItems": config.max_queries}
    texts = Annotated[
        list[Query],
        Field(max_length=config.max_queries, json_schema_extra=bounds),
    ]
    named = TypeAliasType("texts", texts)  # type: ignore[misc]
    fields: dict[str, Any] = {uid: (named, []) for uid in uids}
    return create_model("QueryAnswer", __base__=Strict, **fields)


def read_queries(text: str, answer: type[Strict]) -> dict[str, list[str]]:
    """UID → its texts, without empty ones. Raises AnswerRejected."""
    found = parse_model(answer, json_object(text)).model_dump()
    kept = {uid: [" ".join(t.split()) for t in texts if t.strip()] for uid, texts in found.items()}
    return {uid: texts for uid, texts in kept.items() if texts}
