"""The single-step and TKW2 baselines over scripted models.

What they accept, refuse and compute without a model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime

import numpy as np
import pytest

from llm_runtime.base import Limits, ModelReply, ModelRequest
from llm_runtime.calls.calling import Asker, MemoryLedger
from llm_runtime.errors import AnswerRejected, AttemptsExhausted, PromptTooLong, Truncated
from llm_runtime.providers.scripted import ScriptedModel
from llm_runtime.schema import grammar
from llm_runtime.structured import parse_model
from timelines.backbones.baselines.single_step import SingleStep, read_events
from timelines.backbones.baselines.tkw2 import Tkw2, assemble
from timelines.backbones.baselines.tkw2_answers import (
    ADMISSION,
    Answer,
    Attached,
    CentralEvents,
    attached_answer,
    offsets_answer,
    times_answer,
)
from timelines.backbones.baselines.tkw2_rows import (
    RowDocument,
    build_documents,
    nearest,
    select_times,
)
from timelines.domain import Anchor, SourceRow, Window
from timelines.pipeline.config import Preset, preset_config

NOTE = "Fever for two days. Lactate 4.1. Sent home."
WINDOW = Window(Anchor(datetime(2180, 3, 4, 14, 38)), 30.0)


def asker(model: ScriptedModel) -> Asker:
    return Asker("baseline", model, MemoryLedger())


# Single step


def test_a_table_becomes_events_with_confidence() -> None:
    table = "event | time | confidence\nfever|-48|8\nlactate 4.1|0.5|5\na \\| b|0|1"
    found = SingleStep(asker(ScriptedModel([table]))).timeline(NOTE, WINDOW)
    assert [(e.event, e.time, e.confidence) for e in found] == [
        ("fever", -48, 8),
        ("lactate 4.1", 0.5, 5),
        ("a \\| b", 0, 1),
    ]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "Here it is:\nevent | time | confidence\nfever|0|1",
            "the first line must be exactly the header",
        ),
        ("event | time\nfever|0", "the first line must be exactly the header"),
        ("event | time | confidence", "the table has no row"),
        ("event | time | confidence\nfever|0", "row 1: 2 columns, not 3"),
        ("event | time | confidence\nfever|N/A|3", "row 1: the time is not a number"),
        (
            "event | time | confidence\nfever|0|10",
            "row 1: the confidence is not a number from 1 to 9",
        ),
        ("event | time | confidence\n|0|3", "row 1: no event"),
        ("event | time | confidence\nfever|0|3\n\nrash|0|3", "row 2: 1 columns, not 3"),
    ],
)
def test_anything_else_is_refused_with_its_row(table: str, message: str) -> None:
    with pytest.raises(AnswerRejected, match=message):
        read_events(table, "m")


def test_a_cut_table_is_flagged_and_never_a_shorter_timeline() -> None:
    cut = ModelReply(
        "event | time | confidence\nfever|0|3", finish_reason="length", tokens_out=16_000
    )
    with pytest.raises(Truncated):
        SingleStep(asker(ScriptedModel([cut] * 3))).timeline(NOTE, WINDOW)


def test_the_answer_has_sixteen_thousand_tokens_or_is_not_asked_for() -> None:
    model = ScriptedModel(["event | time | confidence\nfever|0|3"])
    SingleStep(asker(model)).timeline(NOTE, WINDOW)
    assert model.requests[0].max_tokens >= 16_000
    with pytest.raises(PromptTooLong):
        SingleStep(asker(ScriptedModel([], limits=Limits(context=16_000)))).timeline(NOTE, WINDOW)


# TKW2


def answers(request: ModelRequest) -> str:
    """A short, valid walk through all steps."""
    text = request.messages[1].content
    if "Choose its central events" in text:
        return json.dumps({"reasoning": "r", "events": ["fever", ADMISSION]})
    if "For each pair of them" in text:
        return json.dumps(
            {
                "reasoning": "r",
                "offsets": [{"first": 2, "second": 1, "hours": -48, "confidence": 8}],
            }
        )
    if "Place every central event" in text:
        return json.dumps({"reasoning": "r", "times": {"1": -48, "2": 0}})
    if "List every other clinical event" in text:
        return json.dumps(
            {"reasoning": "r", "events": [{"event": "lactate 4.1", "central": 2, "hours": 1.5}]}
        )
    times = (
        {"1": -50, "2": 0}
        if "3 | " not in text.split("TIMELINE")[1]
        else {"1": -50, "2": 0, "3": 1.25}
    )
    return json.dumps({"reasoning": "r", "times": times})


def embed_letters(texts: Sequence[str]) -> np.ndarray:
    vectors = np.array(
        [[t.lower().count(c) for c in "abcdefghijklmnopqrstuvwxyz"] for t in texts],
        dtype=np.float32,
    )
    unit: np.ndarray = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return unit


ROWS = [
    SourceRow(0, 1.25, "lab:lactate:blood", "4.1"),
    SourceRow(1, -50.0, "chart:temperature:", "39"),
    SourceRow(2, None, "diagnosis:fever:", "R50"),
]


@pytest.mark.parametrize("schema", [True, False])
def test_the_unimodal_form_takes_five_calls_less_the_calibrations(schema: bool) -> None:
    model = ScriptedModel(answers, limits=Limits(context=64_000, schema=schema))
    found = Tkw2(asker(model)).text_only(NOTE)
    assert [(e.event, e.time) for e in found] == [
        ("fever", -48),
        (ADMISSION, 0),
        ("lactate 4.1", 1.5),
    ]
    assert len(model.requests) == 4
    assert all((r.schema is not None) == schema for r in model.requests)


def test_the_multimodal_form_calibrates_the_scaffold_and_then_everything() -> None:
    model = ScriptedModel(answers)
    found = Tkw2(asker(model), embed_letters).multimodal(NOTE, ROWS, WINDOW)
    assert [(e.event, e.time) for e in found] == [
        ("fever", -50),
        (ADMISSION, 0),
        ("lactate 4.1", 1.25),
    ]
    assert len(model.requests) == 6
    last = model.requests[-1].messages[1].content
    assert "3 | lab:lactate:blood | 4.1 | 1.25" in last
    assert "diagnosis" not in last


def test_the_multimodal_form_says_that_it_needs_an_embedder() -> None:
    with pytest.raises(ValueError, match="embedder"):
        Tkw2(asker(ScriptedModel(answers))).multimodal(NOTE, ROWS, WINDOW)


def test_full_timeline_by_hour_with_central_events_first_among_equals() -> None:
    full = assemble(
        ["b", ADMISSION],
        [-2.0, 0.0],
        [
            Attached(event="x", central=1, hours=-1.0),
            Attached(event="y", central=2, hours=0.0),
            Attached(event="z", central=2, hours=-2.0),
        ],
    )
    assert full == [("x", -3.0), ("b", -2.0), ("z", -2.0), (ADMISSION, 0.0), ("y", 0.0)]


def test_rows_alike_are_one_document_with_five_times_equally_spaced_and_the_last_kept() -> None:
    rows = [SourceRow(n, float(n), "chart:hr:", "90") for n in range(9)] + [
        SourceRow(9, 3.0, "chart:hr:", "91")
    ]
    assert build_documents(rows) == (
        RowDocument("chart:hr:", "90", (0.0, 2.0, 4.0, 6.0, 8.0)),
        RowDocument("chart:hr:", "91", (3.0,)),
    )
    assert select_times([1.0, 2.0]) == (1.0, 2.0)
    # positions 0, 1.25, 2.5, 3.75, 5 of six times, rounded half to even
    assert select_times([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]) == (0.0, 1.0, 2.0, 4.0, 5.0)


def test_how_many_rows_and_times_are_retrieved_are_settings() -> None:
    rows = [SourceRow(n, float(n), "chart:hr:", "90") for n in range(9)]
    assert build_documents(rows, 3)[0].times == (0.0, 4.0, 8.0)
    assert build_documents(rows, 1)[0].times == (8.0,)
    documents = [RowDocument(c * 3, "", (0.0,)) for c in "abcdefg"]
    assert [len(found) for found in nearest(["a"], documents, embed_letters, 2)] == [2]


def test_the_calibration_of_a_run_has_the_runs_numbers() -> None:
    model = ScriptedModel(answers)
    config = preset_config(Preset.DEFAULT, tkw2_rows=1, tkw2_times=1)
    Tkw2(asker(model), embed_letters, config).multimodal(NOTE, ROWS, WINDOW)
    rows = model.requests[-1].messages[1].content.split("BEGIN ROWS")[1]
    assert re.findall(r"^(\d) \| (?!row)", rows, re.M) == ["1", "2", "3"]


def test_five_nearest_documents_and_none_of_an_empty_record() -> None:
    documents = [RowDocument(c * 3, "", (0.0,)) for c in "abcdefg"]
    assert nearest(["a"], documents, embed_letters)[0][0].event == "aaa"
    assert len(nearest(["a"], documents, embed_letters)[0]) == 5
    assert nearest(["a"], [], embed_letters) == [[]]


@pytest.mark.parametrize(
    ("expected", "answer", "message"),
    [
        (CentralEvents, {"events": ["fever"]}, "events lacks the admission"),
        (CentralEvents, {"events": [ADMISSION, ADMISSION]}, "events lists an event twice"),
        (CentralEvents, {"events": "fever"}, "events is not a list"),
        (CentralEvents, {"events": [ADMISSION, " "]}, "events[1] is not a text of 1 to 500"),
        (CentralEvents, {"events": [ADMISSION, *map(str, range(25))]}, "has 26 events, at most 25"),
        (CentralEvents, {"other": []}, "missing events"),
        (
            offsets_answer(2),
            {"offsets": [{"first": 1, "second": 1, "hours": 0, "confidence": 1}]},
            "offsets[0] is an offset of an event from itself",
        ),
        (
            offsets_answer(2),
            {"offsets": [{"first": 1, "second": 3, "hours": 0, "confidence": 1}]},
            "offsets[0].second is not the number of an event, 1 to 2",
        ),
        (
            offsets_answer(2),
            {"offsets": [{"first": 1, "second": 2, "hours": 0, "confidence": 11}]},
            "offsets[0].confidence is not a number from 1 to 9",
        ),
        (
            attached_answer(2),
            {"events": [{"event": "x", "central": 0, "hours": 0}]},
            "events[0].central is not the number of an event, 1 to 2",
        ),
        (
            attached_answer(2),
            {"events": [{"event": ADMISSION, "central": 1, "hours": 0}]},
            "events[0].event is the admission",
        ),
        (times_answer(2, 1), {"times": {"1": 0}}, "times missing 2"),
        (times_answer(2, 1), {"times": {"1": 0, "2": "noon"}}, "times.2 is not a number of hours"),
        (times_answer(2, 1), {"times": {"1": 3, "2": 0}}, "its time must be 0"),
    ],
)
def test_answers_that_break_a_rule_are_refused(
    expected: type[Answer], answer: dict[str, object], message: str
) -> None:
    with pytest.raises(AnswerRejected, match=re.escape(message)):
        parse_model(expected, answer, "answer")


def test_grammars_of_the_steps_ask_for_what_validation_accepts() -> None:
    assert grammar(offsets_answer(2)) == {
        "type": "object",
        "properties": {
            "reasoning": {"type": "string"},
            "offsets": {"type": "array", "items": {"$ref": "#/$defs/Offset"}},
        },
        "required": ["reasoning", "offsets"],
        "additionalProperties": False,
        "$defs": {
            "Offset": {
                "type": "object",
                "properties": {
                    "first": {"type": "integer", "minimum": 1, "maximum": 2},
                    "second": {"type": "integer", "minimum": 1, "maximum": 2},
                    "hours": {"type": "number"},
                    "confidence": {"type": "number"},
                },
                "required": ["first", "second", "hours", "confidence"],
                "additionalProperties": False,
            }
        },
    }
    assert grammar(CentralEvents, 0)["properties"] == {
        "events": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 25}
    }
    assert list(grammar(times_answer(3, 1))["$defs"]["Times"]["properties"]) == ["1", "2", "3"]


def test_an_admission_moved_by_calibration_is_asked_for_again_and_then_a_failure() -> None:
    def moved(request: ModelRequest) -> str:
        text = answers(request)
        return (
            text.replace('"2": 0', '"2": 5')
            if "Correct the timeline" in request.messages[1].content
            else text
        )

    with pytest.raises(AttemptsExhausted, match="calibrate scaffold"):
        Tkw2(asker(ScriptedModel(moved)), embed_letters).multimodal(NOTE, ROWS, WINDOW)
