"""Stage 4's queries by a language model: at most 25 UIDs a call (protocol)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from llm_runtime.base import ModelReply
from llm_runtime.calls.budget import room
from llm_runtime.calls.calling import Asker, ask_in_parts, together
from llm_runtime.errors import AnswerRejected
from llm_runtime.prompts import load
from llm_runtime.structured import json_object, object_schema, storable
from timelines.backbones.prompted.notes import shown_note
from timelines.backbones.prompted.tables import mention_table
from timelines.domain import Occurrence, TaggedNote
from timelines.pipeline.config import PipelineConfig

#: Tokens of an answer for each UID, at least and at most.
UID_TOKENS = (30, 150)
#: A longer text is no query; it is refused like a fourth one.
QUERY_CHARACTERS = 300


@dataclass(frozen=True)
class PromptedQueryWriter:
    """Batches go out concurrently. A UID that the model leaves out, or gives an empty list, falls
    back to its mention.
    """

    asker: Asker
    config: PipelineConfig

    def write(self, note: TaggedNote) -> Mapping[str, Sequence[str]]:
        """1–3 queries per UID that got any. Raises ModelError, AttemptsExhausted."""
        return self.asker.run(self.queries, note)

    async def queries(self, note: TaggedNote) -> dict[str, list[str]]:
        size = self.config.query_batch_size
        batches = [
            note.inventory.occurrences[at : at + size] for at in range(0, len(note.inventory), size)
        ]

        async def batch(number: int, occurrences: Sequence[Occurrence]) -> dict[str, list[str]]:
            async def ask(part: Sequence[Occurrence]) -> Mapping[str, list[str]]:
                return await self._batch(
                    note,
                    f"query batch {number} of {len(batches)}, {len(part)} events from"
                    f" {part[0].uid}",
                    part,
                )

            return await ask_in_parts(occurrences, ask)

        answers = await together([batch(n, b) for n, b in enumerate(batches, start=1)])
        return {uid: texts for answer in answers for uid, texts in answer.items()}

    async def _batch(
        self, note: TaggedNote, part: str, asked: Sequence[Occurrence]
    ) -> dict[str, list[str]]:
        shown = shown_note(
            note,
            asked,
            whole=self.config.query_report_characters,
            local=self.config.query_local_characters,
        )
        prompt = load("timelines/query").render(note=shown.text, mentions=mention_table(asked))
        prompt = replace(prompt, shortened=shown.cut)
        least, most = UID_TOKENS[0] * len(asked), 400 + UID_TOKENS[1] * len(asked)
        tokens = await room(self.asker.model, prompt.messages, at_least=least, at_most=most)
        uids = [o.uid for o in asked]

        def validate(reply: ModelReply) -> dict[str, list[str]]:
            return read_queries(reply.text, uids, self.config.max_queries)

        schema = query_schema(uids, self.config) if self.asker.model.limits.schema else None
        return await self.asker.ask(
            prompt, validate, max_tokens=tokens, part=part, schema=schema, covers=uids
        )


def query_schema(uids: Sequence[str], config: PipelineConfig) -> dict[str, Any]:
    """One required list of 1–3 texts for each UID."""
    texts = {
        "type": "array",
        "items": {"type": "string"},
        "minItems": config.min_queries,
        "maxItems": config.max_queries,
    }
    return {
        **object_schema({uid: {"$ref": "#/$defs/texts"} for uid in uids}),
        "$defs": {"texts": texts},
    }


def read_queries(text: str, uids: Sequence[str], most: int) -> dict[str, list[str]]:
    """UID → its texts; a missing list is left to the fallback. Raises AnswerRejected for anything
    else that is not as asked.
    """
    answer = json_object(text)
    faults = []
    unknown = [key for key in answer if key not in set(uids)]
    if unknown:
        faults.append(f"{len(unknown)} keys that are no identifiers of the table")
    found: dict[str, list[str]] = {}
    for uid in uids:
        texts = answer.get(uid, [])
        if not isinstance(texts, list) or not all(isinstance(t, str) for t in texts):
            faults.append(f"{uid}: not a list of texts")
        elif len(texts) > most:
            faults.append(f"{uid}: {len(texts)} texts, at most {most}")
        elif any(len(t) > QUERY_CHARACTERS for t in texts):
            faults.append(
                f"{uid}: a text of more than {QUERY_CHARACTERS} characters is no search text"
            )
        elif not all(storable(t) for t in texts):
            faults.append(f"{uid}: a text contains an invalid character")
        elif kept := [" ".join(t.split()) for t in texts if t.strip()]:
            found[uid] = kept
    if faults:
        raise AnswerRejected(faults)
    return found
