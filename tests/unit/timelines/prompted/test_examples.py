"""The worked example of a prompt passes the checks that an answer passes."""

from __future__ import annotations

import json
import re
from datetime import datetime

import pytest

from llm_runtime.base import Limits
from llm_runtime.calls.calling import Asker, MemoryLedger
from llm_runtime.prompts import load
from llm_runtime.providers.scripted import ScriptedModel
from timelines.backbones.prompted.backbone import ROLES, prompted_backbone
from timelines.backbones.prompted.notes import Sentence
from timelines.backbones.prompted.query_writer import query_answer, read_queries
from timelines.backbones.prompted.record import print_record
from timelines.backbones.prompted.reviser import MOST_WHY
from timelines.backbones.prompted.stay import hospital_days, stay_fields
from timelines.backbones.prompted.tables import CITING_COLUMNS, hours_text, read_table
from timelines.backbones.prompted.tagger import read_quotes
from timelines.backbones.prompted.timer import read_entries
from timelines.domain import (
    Anchor,
    Entry,
    Evidence,
    Expansion,
    Inventory,
    Lane,
    Occurrence,
    Polarity,
    SourceRow,
    TaggedNote,
    TaggedSpan,
    TimeKind,
    Timeline,
    TimelineKind,
    Window,
)
from timelines.pipeline.config import PipelineConfig
from timelines.pipeline.revision import ProposedEntry, revise
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


EXAMPLE_UIDS = ("3f0c", "9b21", "b7a0", "44e1", "5d02", "e513", "0c9a")
#: The rows of the revision's example: those of each occurrence, and of the stay.
LACTATE, INFUSION = "lab:lactate:blood", "med:norepinephrine"
ARRIVAL = SourceRow(1, -4.5, "transfer:ed", "Emergency Department")
ADMISSION = SourceRow(2, 0.0, "admission:hospital admission")
COLLECTED = [
    SourceRow(3, -3.87, LACTATE, "4.2", "mmol/L", time_kind=TimeKind.COLLECTION),
    SourceRow(4, 6.13, LACTATE, "1.8", "mmol/L", time_kind=TimeKind.COLLECTION),
]
INFUSED = [
    SourceRow(n, hour, f"{INFUSION}:{moment}", rate, unit, time_kind=TimeKind.ADMINISTRATION)
    for n, hour, moment, rate, unit in (
        (5, 1.25, "start", "0.05", "mcg/kg/min"),
        (6, 4.0, "start", "0.12", "mcg/kg/min"),
        (7, 19.5, "end", "", ""),
    )
]
DRAINED = SourceRow(8, 26.42, "procedure:thoracentesis:start", time_kind=TimeKind.PERFORMED)


def shown_example() -> str:
    """Note, table and rows of the example."""
    return between(user_text("revise"), "## Example", "Answer:")


def revision_example() -> tuple[TaggedNote, Timeline, Expansion]:
    """The note, text-only table and rows of the example."""
    words = TAG.findall(shown_example())
    assert tuple(uid for uid, _ in words) == EXAMPLE_UIDS
    occurrences = tuple(Occurrence(uid, n, w, None, None) for n, (uid, w) in enumerate(words))
    note = TaggedNote("x", Inventory(occurrences))
    times = dict(zip(EXAMPLE_UIDS, (0, -48, 3, 3, 9, 20, 20), strict=True))
    context = {"5d02": ("44e1",), "0c9a": ("e513",)}
    entries = [Entry(uid, t, context=context.get(uid, ())) for uid, t in times.items()]
    found = [("44e1", COLLECTED), ("b7a0", INFUSED), ("e513", [DRAINED])]
    evidence = [Evidence(uid, 0, row, 1, 0.5) for uid, rows in found for row in rows]
    before = Timeline.complete(note.inventory, entries, TimelineKind.TEXT_ONLY)
    return note, before, Expansion(tuple(evidence), skeleton=(ARRIVAL, ADMISSION))


def test_the_record_in_the_revisions_example_is_what_the_code_prints() -> None:
    _, _, found = revision_example()
    shown = shown_example()
    printed = print_record(found, 160).text.replace("\n\n", "\n")
    assert shown[shown.index("== the stay") :].strip() == printed


def test_the_table_in_the_revisions_example_is_the_one_that_is_revised() -> None:
    _, before, _ = revision_example()
    (line,) = re.findall(r"^Table: (.*)$", shown_example(), re.MULTILINE)
    shown = [
        f"{e.uid} {hours_text(e.time)}"
        + (f", context [{', '.join(e.context)}]" if e.context else "")
        for e in before
    ]
    assert line.split(" | ") == shown


def revise_the_example(answer: str) -> Timeline:
    note, before, found = revision_example()
    model = ScriptedModel([answer], limits=Limits(context=128_000))
    askers = {role: Asker(role, model, MemoryLedger()) for role in ROLES}
    reviser = prompted_backbone(askers, PipelineConfig()).reviser
    window = Window(Anchor(datetime(2170, 5, 2, 18, 30)), 65.5)
    (timeline,) = revise(reviser, note, before, found, window, alternatives=3, exactly=False)
    return timeline


def test_the_answer_in_the_revisions_example_is_accepted() -> None:
    answer = between(user_text("revise"), "Answer:\n", "## The record")
    timeline = revise_the_example(answer)
    cited = {e.uid: e.adopted_rows for e in timeline if e.adopted_rows}
    assert cited == {
        "3f0c": (1,),
        "b7a0": (5,),
        "44e1": (3,),
        "5d02": (4,),
        "0c9a": (8,),
        "e513": (8,),
    }
    assert {e.uid: e.near_rows for e in timeline if e.near_rows} == {"9b21": (1,)}


def test_the_answer_in_the_revisions_example_gives_a_reason_for_every_change_that_needs_one() -> (
    None
):
    answer = json.loads(between(user_text("revise"), "Answer:\n", "## The record"))
    _, before, _ = revision_example()
    (timeline,) = answer["timelines"]
    moved = {e.uid for e in before if abs(timeline[e.uid][0] - (e.time or 0)) >= 3}
    assert {why["uid4"] for why in timeline["why"]} == moved
    assert all(len(why["words"]) <= MOST_WHY for why in timeline["why"])


def test_the_table_in_the_revisions_example_is_read_and_says_the_same() -> None:
    text = between(user_text("revise_table"), "Answer (its first lines):\n", "## The record")
    (timeline,) = json.loads(text)["timelines"]
    lines = timeline["data"].split("\n")[1:]
    asked = [
        Occurrence(uid, n, mention, None, None)
        for n, (uid, mention, *_) in enumerate(line.split("|") for line in lines)
    ]
    known = frozenset(EXAMPLE_UIDS)
    rows = read_table(timeline["data"], asked, known, "m", "table", CITING_COLUMNS)
    answer = json.loads(between(user_text("revise"), "Answer:\n", "## The record"))
    for row in rows:
        listed = answer["timelines"][0][row.uid]
        assert [row.time, row.lower, row.upper, int(bool(row.known))] == listed[:4]
        assert [list(row.adopted_rows), list(row.near_rows)] == [*listed[4:6], []][:2]
