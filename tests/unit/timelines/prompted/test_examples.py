"""The worked example of a prompt passes the checks that an answer passes."""

from __future__ import annotations

import re

from llm_runtime.prompts import load
from timelines.backbones.prompted.notes import Sentence
from timelines.backbones.prompted.tagger import read_quotes
from timelines.domain import Lane, Polarity, TaggedSpan
from timelines.pipeline.tagging import parse_tagged, sort_spans

SENTENCES = re.compile(r"^  \d+: (.*)$", re.MULTILINE)


def user_text(name: str) -> str:
    return load(f"timelines/{name}").parts[-1][1]


def between(text: str, start: str, end: str) -> str:
    return text.split(start, 1)[1].split(end, 1)[0].strip("\n")


def example_sentences() -> list[str]:
    return SENTENCES.findall(user_text("tag"))


def quoted_example() -> tuple[str, list[TaggedSpan]]:
    """The note of the example, and the spans of its answer."""
    lines = example_sentences()
    note = "\n".join(lines)
    starts = [sum(len(line) + 1 for line in lines[:n]) for n in range(len(lines))]
    places = [Sentence(at, at + len(line)) for at, line in zip(starts, lines, strict=True)]
    answer = between(user_text("tag"), "get this answer:", "Answer with one JSON object")
    return note, [s for found in read_quotes(answer, note, places).values() for s in found]


def test_the_example_of_the_tagger_is_a_valid_answer() -> None:
    note, spans = quoted_example()
    assert len(spans) == 23
    assert {s.polarity for s in spans} == set(Polarity)
    assert {s.lane for s in spans} == set(Lane)
    assert all(note[s.start : s.end] for s in spans)


def test_both_output_protocols_of_the_tagger_show_the_same_example() -> None:
    note, spans = quoted_example()
    text = user_text("tag_table")
    shown = re.sub("^  ", "", between(text, "The text\n", "becomes"), flags=re.MULTILINE)
    tagged = re.sub(
        "^  ", "", between(text, "becomes\n", "Answer with the tagged"), flags=re.MULTILINE
    )
    assert shown.strip() == note
    assert set(parse_tagged(tagged, note)) == set(sort_spans(spans))
