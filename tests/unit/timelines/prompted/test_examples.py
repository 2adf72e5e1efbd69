"""The worked example of a prompt passes the checks that an answer passes."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Any

import pytest

from ehr.presentation.rendering import retrieval_text
from ehr.summarise import summarise
from llm_runtime.base import Limits
from llm_runtime.calls.calling import Asker, MemoryLedger
from llm_runtime.prompts import PROMPTS, load
from llm_runtime.providers.scripted import ScriptedModel
from llm_runtime.structured import json_object, parse_model
from tests.unit.ehr.rows import ADMITTED as RECORDED
from tests.unit.ehr.rows import table as observed_rows
from timelines.backbones.baselines.single_step import read_events
from timelines.backbones.baselines.tkw2 import (
    assemble,
    hour_lines,
    number_events,
    offset_lines,
    row_lines,
)
from timelines.backbones.baselines.tkw2_answers import (
    ADMISSION as ADMITTED,
)
from timelines.backbones.baselines.tkw2_answers import (
    Answer,
    CentralEvents,
    attached_answer,
    offsets_answer,
    times_answer,
)
from timelines.backbones.baselines.tkw2_rows import RowDocument
from timelines.backbones.prompted.backbone import ROLES, prompted_backbone
from timelines.backbones.prompted.notes import Sentence, list_names, mark_uids
from timelines.backbones.prompted.query_writer import query_answer, read_queries
from timelines.backbones.prompted.record import print_record
from timelines.backbones.prompted.reviser import Material
from timelines.backbones.prompted.rows import split_row
from timelines.backbones.prompted.stay import hospital_days, stay_fields
from timelines.backbones.prompted.tables import COLUMNS, mention_table, read_table
from timelines.backbones.prompted.tagger import read_quotes
from timelines.backbones.prompted.timer import anchor_words, read_entries
from timelines.domain import (
    Anchor,
    Entry,
    Evidence,
    Expansion,
    Inventory,
    KeptSummary,
    Lane,
    NoRows,
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
from timelines.pipeline.config import PipelineConfig, Preset, preset_config
from timelines.pipeline.revision import ProposedEntry, revise
from timelines.pipeline.summaries import revise_by_summaries
from timelines.pipeline.tagging import parse_tagged, sort_spans
from timelines.pipeline.unidentified import revise_unidentified

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


def indented(text: str, label: str) -> str:
    """Return the lines that are indented by two blanks behind a label."""
    block = re.match(r"\n+((?:  .*(?:\n|$)|\n(?=  ))+)", text.split(f"{label}\n", 1)[1])
    assert block, label
    return re.sub("^  ", "", block[1], flags=re.MULTILINE).strip("\n")


def example(name: str) -> str:
    """Return what a prompt shows behind its rules, as an example."""
    return user_text(name).split("## Example\n", 1)[1].split("## The record", 1)[0]


def example_answer(name: str, end: str = "\0") -> str:
    return re.split(r"\nThe answer[^\n]*:\n", example(name), maxsplit=1)[1].split(end)[0].strip()


@pytest.mark.parametrize("name", ["query", "query_names"])
def test_the_examples_of_the_query_writer_are_valid_answers(name: str) -> None:
    text = example(name)
    note, table = indented(text, "The note:"), indented(text, "The table:")
    marked = [uid for uid, _ in TAG.findall(note)]
    occurrences = [
        Occurrence(uid, n, mention, None, None)
        for n, (uid, mention) in enumerate(line.split(" | ") for line in table.split("\n")[1:])
    ]
    assert table == mention_table(occurrences)
    assert marked == [o.uid for o in occurrences]
    assert len(marked) == 5
    answer = query_answer(marked, PipelineConfig())
    found = read_queries(example_answer(name, "Answer with compact JSON"), answer)
    assert list(found) == marked
    assert all(1 <= len(texts) <= 3 for texts in found.values())


def test_the_names_in_the_query_writers_example_are_listed_as_the_code_lists_them() -> None:
    listed = indented(example("query_names"), "The names of the series:")
    names = [
        f"{source}:{name}:{ending}"
        for line in listed.split("\n")
        for source, endings, named in re.findall(r"^(\w+)(?: \((.*?)\))?: (.*)$", line)
        for name in named.split("; ")
        for ending in endings.split(", ")
    ]
    assert len(names) == 13
    assert list_names(names, 1000).text == listed
    answer = json.loads(example_answer("query_names", "Answer with compact JSON"))
    texts = [text for uid, found in answer.items() if uid != "90fd" for text in found]
    words = [set(re.findall(r"\w+", name)) for name in names]
    for text in texts:
        spoken = set(re.findall(r"[a-z]+", text))
        assert any(spoken <= found for found in words), text


EXAMPLE_UIDS = ("5e90", "3f0c", "9b21", "b7a0", "44e1", "5d02", "e513", "0c9a")
#: The rows of the revision's example: those of each occurrence, and of the stay.
LACTATE, INFUSION = "lab:lactate:blood", "med:norepinephrine"
ARRIVAL = SourceRow(
    1, -4.5, "transfer:ed", "Emergency Department", time_kind=TimeKind.ADMINISTRATIVE
)
ADMISSION = SourceRow(2, 0.0, "admission:hospital admission", time_kind=TimeKind.ADMINISTRATIVE)
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
FOUND = Expansion(
    tuple(
        Evidence(uid, 0, row, 1, 0.5)
        for uid, rows in (
            ("b7a0", INFUSED),
            ("44e1", COLLECTED),
            ("5d02", COLLECTED[::-1]),
            ("e513", [DRAINED]),
        )
        for row in rows
    ),
    without_evidence={"0c9a": NoRows.OVER_BUDGET},
    skeleton=(ARRIVAL, ADMISSION),
)
FOUND_PUBLISHED = Expansion(
    tuple(
        Evidence(uid, 0, row, 1, 0.5, relevance)
        for uid, rows, relevance in (
            ("3f0c", [ARRIVAL], 0.71),
            ("b7a0", INFUSED[:2], 0.93),
            ("44e1", COLLECTED, 0.9),
            ("5d02", COLLECTED[::-1], 0.9),
            ("e513", [DRAINED], 0.95),
        )
        for row in rows
    )
)
PUBLISHED = preset_config(Preset.PUBLISHED)
#: Prompt → settings, rows, whether a schema constrains the answer, timelines asked for.
REVISIONS = {
    "revise": (PipelineConfig(), FOUND, True, 3),
    "revise_table": (PipelineConfig(), FOUND, False, 3),
    "revise_published": (PUBLISHED, FOUND_PUBLISHED, True, 2),
    "revise_published_table": (PUBLISHED, FOUND_PUBLISHED, False, 1),
}
WINDOW = Window(Anchor(datetime(2170, 5, 2, 18, 30)), 65.5)
#: What the answers cite.
CITED = {"3f0c": (1,), "b7a0": (5,), "44e1": (3,), "5d02": (4,), "0c9a": (8,), "e513": (8,)}


def revised_example(name: str) -> tuple[TaggedNote, Timeline]:
    """Return the marked note and the text-only table of an example."""
    text = example(name)
    note, table = indented(text, "The note:"), indented(text, "The table:")
    cells = [split_row(line) for line in table.split("\n")[1:]]
    tags = dict(TAG.findall(note))
    assert tuple(tags) == EXAMPLE_UIDS
    clean = re.sub(r"</?[0-9a-f]{4}>", "", note)
    occurrences = []
    for n, (uid, mention, *_) in enumerate(cells):
        start = clean.index(tags[uid])
        occurrences.append(Occurrence(uid, n, mention, start, start + len(tags[uid])))
    inventory = Inventory(tuple(occurrences))
    entries = read_table(
        "\n".join("|".join(line[:6]) for line in [list(COLUMNS), *cells]),
        occurrences,
        frozenset(EXAMPLE_UIDS),
        "m",
        "table",
    )
    listed = [Entry(e.uid, e.time, e.lower, e.upper, e.known, e.context) for e in entries]
    return TaggedNote(clean, inventory), Timeline.complete(
        inventory, listed, TimelineKind.TEXT_ONLY
    )


@pytest.fixture(params=list(REVISIONS))
def revision(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_examples_of_the_reviser_show_what_the_code_prints(revision: str) -> None:
    config, found, _, _ = REVISIONS[revision]
    note, before = revised_example(revision)
    record = print_record(found, 160) if config.cite_rows else None
    material = Material(note, before, found, WINDOW, record=record)
    text = example(revision)
    assert indented(text, "The note:") == mark_uids(note.text, note.inventory)
    assert indented(text, "The table:") == material.print_timeline()
    assert indented(text, "The rows:") == material.print_evidence(160)


def test_the_examples_of_the_reviser_split_joined_events() -> None:
    for name in REVISIONS:
        _, before = revised_example(name)
        assert {"came to hospital", "cough for two days"} <= {
            o.mention for o in revised_example(name)[0].inventory
        }
        assert (before.by_uid["3f0c"].time, before.by_uid["9b21"].time) == (0, -48)


def revise_the_example(name: str) -> tuple[Timeline, ...]:
    """Return the timelines of the example's answer.

    One attempt, with the checks that a model's answer passes.
    """
    config, found, schema, count = REVISIONS[name]
    note, before = revised_example(name)
    model = ScriptedModel([example_answer(name)], limits=Limits(context=128_000, schema=schema))
    askers = {role: Asker(role, model, MemoryLedger(), attempts=1) for role in ROLES}
    reviser = prompted_backbone(askers, config).reviser
    timelines = revise(
        reviser,
        note,
        before,
        found,
        WINDOW,
        alternatives=count,
        exactly=config.force_alternatives,
    )
    assert model.requests[0].messages[-1].content.startswith("Here is a discharge summary.")
    return timelines


def test_the_answers_in_the_examples_of_the_reviser_are_accepted(revision: str) -> None:
    config, _, _, _ = REVISIONS[revision]
    first, *others = revise_the_example(revision)
    assert {e.uid: e.adopted_rows for e in first if e.adopted_rows} == (
        CITED if config.cite_rows else {u: r for u, r in CITED.items() if u != "0c9a"}
    )
    near = {e.uid: e.near_rows for e in first if e.near_rows}
    assert near == ({"9b21": (1,)} if config.cite_rows else {})
    assert [e.time for t in others for e in t if e.uid == "9b21"] == [-48] * len(others)


def test_all_examples_of_the_reviser_come_to_the_same_timeline() -> None:
    times = {tuple(values(timelines[0])) for timelines in map(revise_the_example, REVISIONS)}
    assert len(times) == 1


def test_the_example_without_identifiers_is_that_of_the_table_without_them() -> None:
    config, found, _, _ = REVISIONS["revise_table"]
    note, before = revised_example("revise_table")
    model = ScriptedModel([example_answer("revise_no_uid")], limits=Limits(context=128_000))
    askers = {role: Asker(role, model, MemoryLedger(), attempts=1) for role in ROLES}
    reviser = prompted_backbone(askers, config).unidentified_reviser
    assert reviser is not None
    (named,) = revise_unidentified(
        reviser, note, before, found, WINDOW, alternatives=3, exactly=False
    )
    revised, *_ = revise_the_example("revise_table")
    assert [
        (
            line.event,
            line.time,
            line.lower,
            line.upper,
            line.known,
            line.adopted_rows,
            line.near_rows,
        )
        for line in named
    ] == [
        (o.mention, e.time, e.lower, e.upper, e.known, e.adopted_rows, e.near_rows)
        for o, e in zip(note.inventory, revised, strict=True)
    ]
    reasons = {o.mention: revised.by_uid[o.uid].reason for o in note.inventory}
    assert {line.event: line.reason for line in named if line.reason} == {
        event: reason for event, reason in reasons.items() if "as inferred" not in reason
    }
    assert named.reasoning == revised.reasoning != ""
    shown = model.requests[0].messages[-1].content
    example = between(shown, "## Example", "## The record")
    asked = between(shown, "## The record", "\0")
    table = indented(example, "The table:")
    assert table in asked, "the example's table is printed by the code"
    assert indented(example, "The rows:") in asked
    assert indented(example, "The note:").split() == note.text.split()


def test_the_answer_in_the_revisions_example_gives_a_reason_for_every_change_that_needs_one() -> (
    None
):
    _, before = revised_example("revise")
    (timeline,) = json.loads(example_answer("revise"))["timelines"]
    moved = {
        e.uid
        for e in before
        if timeline[e.uid] != "keep" and abs(timeline[e.uid][0] - (e.time or 0)) >= 3
    }
    assert {why["uid4"] for why in timeline["why"]} == moved
    assert all(len(why["words"]) <= 120 for why in timeline["why"])


#: Observations of the example, as its record would have them: hours to the minute.
OBSERVED: list[tuple[float | None, str, str] | tuple[float | None, str, str, str]] = [
    (-4.5, "transfer:ed", "Emergency Department"),
    (1.25, f"{INFUSION}:start", "0.05", "mcg/kg/min"),
    (4, f"{INFUSION}:start", "0.12", "mcg/kg/min"),
    (-(3 + 52 / 60), LACTATE, "4.2", "mmol/L"),
    (6 + 8 / 60, LACTATE, "1.8", "mmol/L"),
    (26 + 25 / 60, "procedure:thoracentesis:start", ""),
]


def kept_summaries() -> list[KeptSummary]:
    texts = {s.event: retrieval_text(s) for s in summarise(observed_rows(OBSERVED))}
    found = {
        "3f0c": "transfer:ed",
        "b7a0": f"{INFUSION}:start",
        "44e1": LACTATE,
        "5d02": LACTATE,
        "e513": "procedure:thoracentesis:start",
    }
    return [KeptSummary(uid, 0, event, texts[event], 1, 0.9) for uid, event in found.items()]


@pytest.mark.parametrize("schema", [True, False], ids=["schema", "table"])
def test_the_examples_of_the_variant_without_rows_are_those_of_the_published_preset(
    schema: bool,
) -> None:
    form = "" if schema else "_table"
    name = f"revise_no_rows{form}"
    note, before = revised_example(name)
    summaries, window = kept_summaries(), Window(Anchor(RECORDED), 65.5)
    material = Material(note, before, Expansion(()), window, summaries)
    assert indented(example(name), "The note:") == mark_uids(note.text, note.inventory)
    assert indented(example(name), "The table:") == material.print_timeline()
    assert indented(example(name), "The summaries:") == material.print_evidence(160)
    answer = example_answer(name)
    model = ScriptedModel([answer], limits=Limits(context=128_000, schema=schema))
    askers = {role: Asker(role, model, MemoryLedger(), attempts=1) for role in ROLES}
    reviser = prompted_backbone(askers, PipelineConfig()).summary_reviser
    assert reviser is not None
    timelines = revise_by_summaries(
        reviser, note, before, summaries, window, alternatives=2, exactly=False
    )
    published = revise_the_example(f"revise_published{form}")
    assert [values(t) for t in timelines] == [values(t) for t in published]


def values(timeline: Timeline) -> list[tuple[Any, ...]]:
    return [(e.uid, e.time, e.lower, e.upper, e.known, e.context) for e in timeline]


#: Prompt without identifiers → the one with identifiers, and their settings and rows.
UNIDENTIFIED = {
    "revise_no_uid": ("revise_table", PipelineConfig(), FOUND),
    "revise_no_uid_published": ("revise_published_table", PUBLISHED, FOUND_PUBLISHED),
}


@pytest.mark.parametrize("name", UNIDENTIFIED)
def test_the_examples_without_identifiers_differ_in_identifiers_alone(name: str) -> None:
    full, config, found = UNIDENTIFIED[name]
    note, before = revised_example(full)
    assert indented(example(name), "The note:").split() == note.text.split()
    lines = [split_row(line) for line in indented(example(full), "The table:").split("\n")]
    plain = [" | ".join([*cells[1:5], *cells[6:]]) for cells in lines]
    assert indented(example(name), "The table:").split("\n") == plain
    rows = indented(example(full), "The rows:")
    for o in note.inventory:
        rows = rows.replace(f"{o.uid} |", f"{o.mention} |").replace("uid4 |", "mention |")
    assert indented(example(name), "The rows:") == rows

    model = ScriptedModel([example_answer(name)], limits=Limits(context=128_000, schema=False))
    askers = {role: Asker(role, model, MemoryLedger(), attempts=1) for role in ROLES}
    reviser = prompted_backbone(askers, config).unidentified_reviser
    assert reviser is not None
    (revised,) = revise_unidentified(
        reviser, note, before, found, WINDOW, alternatives=1, exactly=False
    )
    timeline, *_ = revise_the_example(full)
    assert [line.event for line in revised.entries] == [o.mention for o in note.inventory]
    assert [(e.time, e.lower, e.upper, e.known) for e in revised.entries] == [
        row[1:5] for row in values(timeline)
    ]


def test_the_example_of_the_single_step_is_a_valid_answer() -> None:
    events = read_events(example_answer("single_step", "\n\nAnswer with"), "m")
    assert [e.event for e in events[:5]] == [
        "71 years old",
        "female sex",
        "came to hospital",
        "cough for two days",
        "wheeze for two days",
    ]
    assert len(events) == 9


CENTRAL = (
    "cough for two days",
    "came to the emergency department",
    ADMITTED,
    "norepinephrine started",
    "thoracentesis",
    "discharged home",
)
#: Step of TKW2 → the type of its answer about the central events of its example.
STEPS: dict[str, type[Answer]] = {
    "tkw2_central": CentralEvents,
    "tkw2_offsets": offsets_answer(len(CENTRAL)),
    "tkw2_scaffold": times_answer(len(CENTRAL), 3),
    "tkw2_calibrate": times_answer(len(CENTRAL), 3),
    "tkw2_attach": attached_answer(len(CENTRAL)),
}


def step_answer(name: str) -> dict[str, Any]:
    return dict(parse_model(STEPS[name], json_object(example_answer(name))))


def test_the_examples_of_the_seven_steps_are_valid_and_follow_from_each_other() -> None:
    assert step_answer("tkw2_central")["events"] == list(CENTRAL)
    offsets = step_answer("tkw2_offsets")["offsets"]
    pairs = {(o.first, o.second) for o in offsets}
    assert {(n, n + 1) for n in range(1, 6)} <= pairs
    assert {frozenset((3, n)) for n in (1, 2, 4, 5, 6)} <= {frozenset(pair) for pair in pairs}
    scaffold = [hours for _, hours in step_answer("tkw2_scaffold")["times"]]
    follows = [o for o in offsets if scaffold[o.second - 1] - scaffold[o.first - 1] == o.hours]
    (against,) = [o for o in offsets if o not in follows]
    assert against.confidence < 6, "the offset that was overruled is the less certain one"
    full = assemble(CENTRAL, scaffold, step_answer("tkw2_attach")["events"])
    assert len(full) == 10
    calibrated = [hours for _, hours in step_answer("tkw2_calibrate")["times"]]
    assert calibrated == [-52.5, -4.5, 0, 1.25, 26.42, 65.5]


def test_the_examples_of_the_seven_steps_show_what_the_code_prints() -> None:
    assert len({indented(example(name), "The note:") for name in STEPS}) == 1
    scaffold = [hours for _, hours in step_answer("tkw2_scaffold")["times"]]
    timed = hour_lines(CENTRAL, scaffold)
    assert indented(example("tkw2_attach"), "Its central events:") == timed
    calibrated = example("tkw2_calibrate")
    assert f"Admission: {anchor_words(WINDOW.anchor)}. Discharge: 65.5.\n" in calibrated
    assert indented(calibrated, "The timeline:") == timed
    for name in ("tkw2_offsets", "tkw2_scaffold"):
        assert indented(example(name), "The central events:") == number_events(CENTRAL)
    offsets = step_answer("tkw2_offsets")["offsets"]
    assert indented(example("tkw2_scaffold"), "The offsets:") == offset_lines(offsets)
    rows = indented(calibrated, "The rows:")
    found: list[list[RowDocument]] = [[] for _ in CENTRAL]
    for line in rows.split("\n")[1:]:
        number, event, value, times = split_row(line)
        hours = tuple(float(hour) for hour in times.split(", "))
        found[int(number) - 1].append(RowDocument(event, value, hours))
    assert row_lines(found) == rows


def test_every_prompt_of_the_timelines_has_an_example_that_is_checked() -> None:
    """A new prompt needs an example, and a test of its answer."""
    read = {"tag", "tag_table", "infer", "infer_table", "query", "query_names", "single_step"}
    checked = read | set(STEPS) | set(REVISIONS) | set(UNIDENTIFIED)
    checked |= {"revise_no_rows", "revise_no_rows_table"}
    assert {path.stem for path in (PROMPTS / "timelines").glob("*.md")} == checked
    for name in checked:
        assert "## Example\n" in user_text(name), name
