"""The worked example of a prompt passes the checks that an answer passes."""

from __future__ import annotations

import re
from datetime import datetime

import pytest

from llm_runtime.prompts import load
from timelines.backbones.prompted.notes import Sentence
from timelines.backbones.prompted.query_writer import query_answer, read_queries
from timelines.backbones.prompted.stay import hospital_days, stay_fields
from timelines.backbones.prompted.tables import read_table
from timelines.backbones.prompted.tagger import read_quotes
from timelines.backbones.prompted.timer import read_entries
from timelines.domain import Anchor, Lane, Occurrence, Polarity, TaggedSpan, Window
from timelines.pipeline.config import PipelineConfig
from timelines.pipeline.revision import ProposedEntry
from timelines.pipeline.tagging import parse_tagged, sort_spans

TAG = re.compile(r"<([0-9a-f]{4})>(.*?)</\1>")
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


def timed_examples() -> tuple[list[ProposedEntry], list[ProposedEntry]]:
    """The rows of the timer's example, as JSON and as a table."""
    text, table = (
        user_text("infer"),
        between(user_text("infer_table"), "## Example", "The table, as"),
    )
    body = between(table, "<answer>", "</answer>")
    mentions = dict(line.split(" | ")[:2] for line in body.split("\n")[1:])
    asked = [
        Occurrence(uid, n, mentions[uid], None, None)
        for n, (uid, _) in enumerate(TAG.findall(between(text, "## Example", "The answer:")))
    ]
    known = frozenset(mentions)
    answer = between(text, "The answer:", "The table, as")
    return read_entries(answer, asked, known, "m"), read_table(body, asked, known, "m", "table")


def test_both_output_protocols_of_the_timer_show_the_same_valid_example() -> None:
    as_json, as_table = timed_examples()
    assert len(as_json) == 12
    for one, other in zip(as_json, as_table, strict=True):
        assert (one.uid, one.time, one.lower, one.upper, one.known, one.context) == (
            other.uid,
            other.time,
            other.lower,
            other.upper,
            other.known,
            other.context,
        )


def test_the_examples_of_tagger_and_timer_split_two_days_of_cough_alike() -> None:
    _, spans = quoted_example()
    assert {"cough for two days", "wheeze for two days"} <= {s.mention for s in spans}
    _, timed = timed_examples()
    found = {e.mention: (e.time, e.known) for e in timed}
    assert found["cough for two days"] == found["wheeze for two days"] == (-48, True)


def test_the_days_in_the_timers_example_are_those_that_the_code_computes() -> None:
    window = Window(Anchor(datetime(2170, 5, 2, 18, 30)), 65.5)
    shown = between(user_text("infer"), "Discharge is at hour 65.5.", "  <3f0c>")
    lines = [line.strip() for line in shown.strip().split("\n")]
    assert lines == hospital_days(window).split("\n")


def test_single_step_and_timer_see_the_same_stay() -> None:
    fields = {
        "anchor": "the hospital admission, 2170-05-02 18:30",
        **stay_fields(Window(Anchor(datetime(2170, 5, 2, 18, 30)), 65.5)),
    }
    texts = [
        load("timelines/infer").render(note="n", mentions="m", **fields),
        load("timelines/infer_table").render(note="n", mentions="m", thinking="", **fields),
        load("timelines/single_step").render(note="n", **fields),
    ]
    stays = {between(t.messages[-1].content, "## This stay", "## What to return") for t in texts}
    assert len(stays) == 1
    (stay,) = stays
    assert "Hour 0 is the hospital admission, 2170-05-02 18:30. Discharge is at hour 65.5." in stay


@pytest.mark.parametrize("name", ["query", "query_names"])
def test_the_examples_of_the_query_writer_are_valid_answers(name: str) -> None:
    text = between(user_text(name), "## Example", "Answer with compact JSON")
    uids = re.findall(r"^  ([0-9a-f]{4}) \|", text, re.MULTILINE)
    found = read_queries(
        between(text, "gets the answer", "\0"), query_answer(uids, PipelineConfig())
    )
    assert list(found) == uids
    assert len(uids) == 4
