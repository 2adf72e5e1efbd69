"""Stage 1 by a language model.

The note never changes: quotes are located in it, markup is transferred to it, or the answer is
rejected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Strict as Typed

from llm_runtime.base import ModelReply
from llm_runtime.calls.budget import limit_answer
from llm_runtime.calls.calling import Asker, ask_in_parts, gather_results
from llm_runtime.errors import AnswerRejected
from llm_runtime.prompts import load
from llm_runtime.schema import FaultMessage, Strict, grammar
from llm_runtime.structured import (
    add_reasoning,
    extract_answer,
    find_key_faults,
    is_storable,
    json_object,
    object_schema,
    parse_model,
    set_reasoning,
)
from timelines.backbones.prompted.notes import Sentence, find_sentences, number_sentences
from timelines.domain import InvariantError, Lane, Polarity, TaggedSpan
from timelines.pipeline.config import PipelineConfig
from timelines.pipeline.tagging import Chunk, TaggingRejected, chunk_note, parse_tagged, sort_spans

#: At most this many tokens of an answer for each character of the note.
TOKENS_A_CHARACTER = 2.5


class Event(Strict):
    """An occurrence: its words in the sentence, and what it is."""

    quote: Annotated[str, FaultMessage("is no text")]
    mention: Annotated[str, FaultMessage("is no text")]
    polarity: Annotated[Polarity, Typed(False), FaultMessage(f"is none of {', '.join(Polarity)}")]
    kind: Annotated[Lane, Typed(False), FaultMessage(f"is none of {', '.join(Lane)}")]


@dataclass(frozen=True)
class PromptedTagger:
    """A tagger whose chunks run concurrently.

    A chunk that is too large for one call is split in half at a sentence.
    """

    asker: Asker
    config: PipelineConfig

    def tag(self, note: str, kind: str = "") -> Sequence[TaggedSpan]:
        """Return every occurrence that the model names, in order.

        Raises ModelError, AttemptsExhausted.
        """
        return self.asker.run(self.spans, note)

    async def spans(self, note: str) -> Sequence[TaggedSpan]:
        chunks = chunk_note(note, self.config)
        by_chunk = await gather_results(
            [self._chunk(note, n, chunk) for n, chunk in enumerate(chunks, start=1)]
        )
        # Two chunks share no text, and one span with one mention counts once, however often it was
        # named.
        return sort_spans(list(dict.fromkeys(span for spans in by_chunk for span in spans)))

    async def _chunk(self, note: str, number: int, chunk: Chunk) -> list[TaggedSpan]:
        sentences = find_sentences(note, chunk)

        async def ask(part: Sequence[Sentence]) -> Mapping[str, list[TaggedSpan]]:
            words = f"tag chunk {number}, {len(part)} sentences from {part[0].start}"
            if self.asker.model.limits.schema:
                return await self._find_quotes(note, words, part)
            return {
                str(part[0].start): await self._find_tags(
                    note, words, Chunk(part[0].start, part[-1].end)
                )
            }

        found = await ask_in_parts(sentences, ask) if sentences else {}
        return [span for sentence in sentences for span in found.get(str(sentence.start), ())]

    async def _find_quotes(
        self, note: str, part: str, sentences: Sequence[Sentence]
    ) -> dict[str, list[TaggedSpan]]:
        """Sentence start → its spans."""
        thinking = self.asker.model.limits.reasoning
        prompt = set_reasoning(
            load("timelines/tag").render(sentences=number_sentences(note, sentences)), thinking
        )
        characters = sum(s.end - s.start for s in sentences)
        least, most = (
            thinking // 4 + characters // 3,
            200 + thinking + int(TOKENS_A_CHARACTER * characters),
        )
        tokens = await limit_answer(self.asker.model, prompt.messages, at_least=least, at_most=most)

        def validate(reply: ModelReply) -> dict[str, list[TaggedSpan]]:
            return read_quotes(reply.text, note, sentences)

        covers = [f"{sentences[0].start}:{sentences[-1].end}"]
        schema = quote_schema(len(sentences), thinking)
        return await self.asker.ask(
            prompt, validate, max_tokens=tokens, part=part, schema=schema, covers=covers
        )

    async def _find_tags(self, note: str, part: str, chunk: Chunk) -> list[TaggedSpan]:
        text = note[chunk.start : chunk.end]
        prompt = load("timelines/tag_table").render(note=text)
        most = 200 + self.asker.model.limits.reasoning + int(TOKENS_A_CHARACTER * len(text))
        tokens = await limit_answer(
            self.asker.model, prompt.messages, at_least=len(text) // 3, at_most=most
        )

        def validate(reply: ModelReply) -> list[TaggedSpan]:
            try:
                spans = parse_tagged(extract_answer(reply.text), text)
            except TaggingRejected as rejection:
                raise AnswerRejected(rejection.reasons) from None
            if not all(is_storable(s.mention) for s in spans):
                raise AnswerRejected(["a mention contains an invalid character"])
            return [replace(s, start=s.start + chunk.start, end=s.end + chunk.start) for s in spans]

        return await self.asker.ask(
            prompt, validate, max_tokens=tokens, part=part, covers=[f"{chunk.start}:{chunk.end}"]
        )


def quote_schema(sentences: int, thinking: int = 1) -> dict[str, Any]:
    """Reasoning, then one required list for each sentence number."""
    lists = {
        str(n): {"type": "array", "items": {"$ref": "#/$defs/event"}}
        for n in range(1, sentences + 1)
    }
    return {
        **object_schema(add_reasoning(lists, "reasoning", thinking)),
        "$defs": {"event": grammar(Event)},
    }


def read_quotes(text: str, note: str, sentences: Sequence[Sentence]) -> dict[str, list[TaggedSpan]]:
    """Return the spans of each sentence, by the sentence's start.

    The n-th entry with a quote is the n-th place of these words in the sentence; entries beyond
    the last place share it. Raises AnswerRejected, with sentence and entry numbers, for a quote
    that the sentence does not contain, and for an entry with an unknown polarity or kind.
    """
    answer = json_object(text)
    answer.pop("reasoning", None)
    faults = find_key_faults(answer, [str(n) for n in range(1, len(sentences) + 1)], "sentences")
    found: dict[str, list[TaggedSpan]] = {str(s.start): [] for s in sentences}
    for number, sentence in enumerate(sentences, start=1):
        entries = answer.get(str(number), [])
        if not isinstance(entries, list):
            faults.append(f"sentence {number}: not a list")
            continue
        used: dict[str, int] = {}
        for count, entry in enumerate(entries, start=1):
            span, fault = _span(entry, note, sentence, used)
            if span is not None and span not in found[str(sentence.start)]:
                found[str(sentence.start)].append(span)
            if fault:
                faults.append(f"sentence {number}, entry {count}: {fault}")
    if faults:
        raise AnswerRejected(faults)
    return found


def _span(
    entry: object, note: str, sentence: Sentence, used: dict[str, int]
) -> tuple[TaggedSpan | None, str]:
    try:
        event = parse_model(Event, entry)
    except AnswerRejected as rejection:
        return None, "; ".join(rejection.reasons)
    quote, mention = event.quote.strip(), " ".join(event.mention.split())
    if not quote or not mention:
        return None, "the quote or the mention is empty"
    if not is_storable(mention):
        return None, "the mention contains an invalid character"
    at = note.find(quote, used.get(quote, sentence.start), sentence.end)
    if at < 0 and quote in used:
        # Two events in the same words: "62M" is an age and a sex.
        at = used[quote] - len(quote)
    if at < 0:
        return None, "the sentence does not contain these words"
    used[quote] = at + len(quote)
    try:
        return TaggedSpan(at, at + len(quote), mention, event.polarity, event.kind), ""
    except InvariantError:
        return None, "the quote or the mention is empty"
