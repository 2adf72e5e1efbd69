"""doccano, Label Studio and brat by their published layouts.

Offsets of each tool, the meaning of its marks, damage named by its place.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.timelines.formats import foreign_cases as foreign
from timelines.domain import Lane, Polarity
from timelines.formats.doccano.writer import write_doccano
from timelines.formats.lines import Line

NOTE = "😀 Fever since Monday.\r\nNo chest\r\npain. Fever again."


def span(words: str, text: str = NOTE) -> tuple[int, int]:
    start = text.index(words)
    return start, start + len(words)


def doccano(folder: Path, *documents: object) -> Path:
    path = folder / "a.jsonl"
    path.write_text(
        "".join((d if isinstance(d, str) else json.dumps(d)) + "\n" for d in documents),
        encoding="utf-8",
    )
    return path


def studio(folder: Path, *tasks: object) -> Path:
    path = folder / "a.json"
    path.write_text(json.dumps(tasks), encoding="utf-8")
    return path


def region(words: str, key: str = "r1", text: str = NOTE, **more: object) -> dict:
    start, end = span(words, text)
    value = {"start": start, "end": end, "text": words, "labels": ["Lab"]}
    return {
        "id": key,
        "from_name": "label",
        "to_name": "text",
        "type": "labels",
        "value": value,
        **more,
    }


def control(name: str, value: dict, key: str = "r1") -> dict:
    return {
        "id": key,
        "from_name": name,
        "to_name": "text",
        "type": next(iter(value)),
        "value": {"start": 0, "end": 1, **value},
    }


def task(*result: object, text: str = NOTE, **more: object) -> dict:
    return {
        "id": 1,
        "data": {"text": text, "case_id": "a"},
        "annotations": [{"result": list(result)}],
        **more,
    }


def brat(folder: Path, *lines: str, text: str | None = NOTE) -> Path:
    (folder / "a.ann").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if text is not None:
        (folder / "a.txt").write_bytes(text.encode("utf-8"))
    return folder


# doccano


def test_doccano_labels_count_code_points_and_know_no_times(tmp_path):
    path = doccano(
        tmp_path,
        {
            "id": 7,
            "text": NOTE,
            "label": [[*span("Fever"), "Finding"], [*span("chest\r\npain"), "SYMPTOM"]],
        },
    )
    first, second = foreign.events("doccano", path, NOTE)
    assert (first.start, first.end, first.mention, first.time) == (2, 7, "Fever", None)
    assert (NOTE[second.start : second.end], second.mention, second.lane) == (
        "chest\r\npain",
        "chest pain",
        Lane.FINDING,
    )


def test_doccano_entities_may_carry_our_keys(tmp_path):
    start, end = span("Monday")
    entity = {
        "id": 1,
        "label": "History",
        "start_offset": start,
        "end_offset": end,
        "time": -72,
        "lower": -96.0,
        "known": 1,
        "confidence": 8,
    }
    document = {"text": NOTE, "entities": [entity], "relations": [], "meta": {"case_id": "a"}}
    (event,) = foreign.events("doccano", doccano(tmp_path, document), NOTE)
    assert (event.time, event.lower, event.known, event.confidence, event.lane) == (
        -72.0,
        -96.0,
        True,
        8.0,
        Lane.HISTORY,
    )


def test_doccano_marks_made_or_taken_away_since_our_export_count(tmp_path):
    def line(uid: str, words: str | None, time: float) -> Line:
        start, end = span(words) if words else (None, None)
        return Line(
            "a",
            "s",
            "text_only",
            1,
            uid,
            words or "loose",
            start,
            end,
            time,
            None,
            None,
            False,
            (),
            (),
            "present",
            "lab",
            None,
        )

    path = tmp_path / "a.jsonl"
    write_doccano(
        [
            foreign.case_lines(
                "a",
                NOTE,
                [
                    (
                        line("0001", "Fever", 1.0),
                        line("0002", "Monday", 2.0),
                        line("0003", None, 3.0),
                    )
                ],
            )
        ],
        path,
    )
    document = json.loads(path.read_text())
    document["label"] = [[*span("again"), "Lab"], [*span("Monday"), "Lab"]]
    found = foreign.events("doccano", doccano(tmp_path, document), NOTE)
    assert [(e.mention, e.uid, e.time) for e in found] == [
        ("Monday", "0002", 2.0),
        ("loose", "0003", 3.0),
        ("again", None, None),
    ]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ('{"text": "x', "a.jsonl, line 1: not JSON"),
        ("[]", "a.jsonl, line 1: not a JSON object"),
        (
            {"text": NOTE, "label": [[0, 999, "x"]]},
            "a.jsonl, line 1, label[0].end_offset: the span is empty, reversed or ends outside",
        ),
        (
            {"text": NOTE, "label": [[5, 2, "x"]]},
            "a.jsonl, line 1, label[0].end_offset: the span is empty, reversed",
        ),
        ({"text": NOTE, "label": ["x"]}, "a.jsonl, line 1, label[0]: neither an entity nor"),
        (
            {"text": NOTE, "label": [[-1, 2, "x"]]},
            "a.jsonl, line 1, label[0].start_offset: not a whole number",
        ),
        ({"text": NOTE, "label": {"a": 1}}, "a.jsonl, line 1, label: not a list of spans"),
        ({"label": [[0, 1, "x"]]}, "a.jsonl, line 1, text: missing"),
        (
            {"text": NOTE, "entities": [{"start_offset": 0, "end_offset": 1, "time": True}]},
            "a.jsonl, line 1, entities[0].time: neither",
        ),
        (
            {"text": NOTE, "entities": [{"start_offset": 0}]},
            "a.jsonl, line 1, entities[0].end_offset: missing",
        ),
        (
            {"text": NOTE, "entities": [{"start_offset": 0, "end_offset": 1, "mention": None}]},
            "a.jsonl, line 1, entities[0].mention: missing",
        ),
        ({"text": 7, "label": []}, "a.jsonl, line 1, text: not text"),
        (
            {"text": NOTE, "meta": {"alternative": 0}},
            "a.jsonl, line 1, alternative: alternatives count from 1",
        ),
        ({"text": NOTE, "occurrences": 7}, "a.jsonl, line 1, occurrences: not a list"),
        ({"text": NOTE, "occurrences": [7]}, "a.jsonl, line 1, occurrences[0]: not an object"),
        (
            {"text": NOTE, "occurrences": [{"mention": "x", "marked": "no"}]},
            "a.jsonl, line 1, occurrences[0].marked: must be a valid boolean",
        ),
        (
            {"text": NOTE, "occurrences": [{"mention": "x", "time": 1, "lower": 2}]},
            "a.jsonl, line 1, occurrences[0].lower: the time is outside the bounds",
        ),
        ({"text": NOTE, "entities": []}, "a.jsonl: no events"),
        (
            {"text": NOTE, "entities": [{"start_offset": 0, "end_offset": 1}], "label": []},
            "a.jsonl, line 1: entities and label mark different spans",
        ),
        (
            {"text": NOTE + "!", "label": []},
            "a.jsonl, line 1, text: the text is not this case's note",
        ),
        (
            {"text": NOTE, "case_id": "b", "label": []},
            "a.jsonl, line 1, case_id: the dataset has no case",
        ),
    ],
)
def test_damaged_doccano_documents(tmp_path, document, reason):
    assert foreign.faults("doccano", doccano(tmp_path, document), NOTE)[0].startswith(reason)


def test_every_fault_of_a_doccano_document_is_named_and_quotes_nothing(tmp_path):
    entities = [
        {"start_offset": "secret", "end_offset": 1, "known": "secret"},
        {"start_offset": 0, "end_offset": 1, "lane": "secret", "reason": ["secret"]},
    ]
    document = {"text": NOTE, "kind": "secret", "entities": entities}
    found = foreign.faults("doccano", doccano(tmp_path, document), NOTE)
    assert [words.partition(":")[0] for words in found] == [
        "a.jsonl, line 1, kind",
        "a.jsonl, line 1, entities[0].known",
        "a.jsonl, line 1, entities[0].start_offset",
        "a.jsonl, line 1, entities[1].lane",
        "a.jsonl, line 1, entities[1].reason",
    ]
    assert "secret" not in " ".join(found)


def test_only_one_field_of_spans_is_read(tmp_path):
    mark = {"label": "Lab", "start_offset": 2, "end_offset": 7}
    document = {"text": NOTE, "entities": [mark], "label": ["a class of the document"]}
    (event,) = foreign.events("doccano", doccano(tmp_path, document), NOTE)
    assert event.mention == "Fever"


def test_several_documents_must_name_their_cases(tmp_path):
    path = doccano(
        tmp_path, {"text": NOTE, "label": [[0, 1, "x"]]}, {"text": NOTE, "label": [[0, 1, "x"]]}
    )
    assert len([f for f in foreign.faults("doccano", path, NOTE) if "no case is named" in f]) == 2


# Label Studio


def test_label_studio_regions_with_controls(tmp_path):
    result = [
        region("Fever since"),
        control("time", {"number": -72.5}),
        control("lower", {"text": ["-96"]}),
    ]
    result += [
        control("polarity", {"choices": ["Absent"]}),
        control("known", {"choices": ["Known"]}),
        control("mention", {"text": ["fever, 3 days"]}),
    ]
    (event,) = foreign.events("label_studio", studio(tmp_path, task(*result)), NOTE)
    assert (event.start, event.mention, event.time, event.lower, event.known) == (
        2,
        "fever, 3 days",
        -72.5,
        -96.0,
        True,
    )
    assert (event.polarity, event.lane, event.upper) == (Polarity.ABSENT, Lane.LAB, None)


def test_label_studio_of_old_counted_utf_16_units(tmp_path):
    old = region("Fever since")
    old["value"] |= {"start": 3, "end": 14}
    (event,) = foreign.events("label_studio", studio(tmp_path, task(old)), NOTE)
    assert (event.start, event.end) == (2, 13)


def test_label_studio_text_with_folded_line_ends(tmp_path):
    text = NOTE.replace("\r\n", "\n")
    marked = region("chest\npain", text=text)
    marked["value"]["text"] = "chest\\npain"
    (event,) = foreign.events("label_studio", studio(tmp_path, task(marked, text=text)), NOTE)
    assert NOTE[event.start : event.end] == "chest\r\npain"


def test_a_time_changed_in_label_studio_is_a_new_estimate(tmp_path):
    own = {
        "uid4": "0001",
        "mention": "fever",
        "time": 1.0,
        "lower": 0.0,
        "upper": 2.0,
        "rows": [0],
        "reason": "row",
        "ordinal": 0,
    }
    result = [region("Fever", meta={"occurrent": own}), control("time", {"number": 9})]
    (event,) = foreign.events("label_studio", studio(tmp_path, task(*result)), NOTE)
    assert (
        event.uid,
        event.mention,
        event.time,
        event.lower,
        event.upper,
        event.rows,
        event.reason,
    ) == (
        "0001",
        "fever",
        9.0,
        None,
        None,
        (),
        "",
    )
    (event,) = foreign.events("label_studio", studio(tmp_path, task(result[0])), NOTE)
    assert (event.uid, event.time, event.lower) == ("0001", None, None)


def test_a_prediction_counts_where_nobody_annotated_and_cancelled_ones_never(tmp_path):
    asked = task() | {
        "annotations": [{"was_cancelled": True, "result": []}],
        "predictions": [{"result": [region("Monday")]}],
    }
    (event,) = foreign.events("label_studio", studio(tmp_path, asked), NOTE)
    assert event.mention == "Monday"


@pytest.mark.parametrize(
    ("tasks", "reason"),
    [
        (
            task(region("Fever")) | {"annotations": [{"result": []}, {"result": []}]},
            "a.json, [0].annotations: 2 of them",
        ),
        (task() | {"annotations": []}, "a.json, [0].annotations: the task is not annotated"),
        ({"text": NOTE, "label": []}, "a.json, [0].data: no task with data"),
        (7, "a.json, [0].data: no task with data"),
        (
            task(region("Fever"), region("Monday")),
            "a.json, [0].annotations[0].result[1].id: the same identifier twice",
        ),
        (
            task(
                region("Fever") | {"value": {"start": 4, "end": 9, "text": "Fever", "labels": []}}
            ),
            "a.json, [0].annotations[0].result: the offsets",
        ),
        (
            task(region("Fever") | {"value": {"start": 0, "end": 10**9, "labels": []}}),
            "a.json, [0].annotations[0].result: the offsets",
        ),
        (
            task(region("Fever") | {"value": {"start": "/p[1]", "end": "/p[1]"}}),
            "a.json, [0].annotations[0].result[0].value.start: not a whole number",
        ),
        (
            task(region("Fever"), control("time", {"text": ["noon"]})),
            "a.json, [0].annotations[0].result[0].time: neither a number",
        ),
        (task(text="x"), "a.json, [0].data.text: the text is not"),
        (task() | {"annotations": {}}, "a.json, [0].annotations: not a list"),
        (
            task() | {"annotations": [{"result": {}}]},
            "a.json, [0].annotations[0].result: not a list",
        ),
        (
            task(region("Fever"), 7),
            "a.json, [0].annotations[0].result[1]: not an object",
        ),
        (
            task(region("Fever") | {"value": {}}),
            "a.json, [0].annotations[0].result[0]: a region without offsets of characters",
        ),
        (
            task(region("Fever") | {"id": ["secret"]}),
            "a.json, [0].annotations[0].result[0].id: neither text nor a whole number",
        ),
        (
            task(region("Fever", meta={"occurrent": "secret"})),
            "a.json, [0].annotations[0].result[0].meta.occurrent: not an object",
        ),
        (
            task(region("Fever", meta={"occurrent": {"ordinal": -1}})),
            "a.json, [0].annotations[0].result[0].ordinal: not a whole number",
        ),
        (
            task(region("Fever"), control("polarity", {"choices": "secret"})),
            "a.json, [0].annotations[0].result[1].value.choices: not a list",
        ),
        (
            task(region("Fever")) | {"data": {"text": NOTE, "occurrent": [7]}},
            "a.json, [0].data.occurrent[0]: not an object",
        ),
        (
            task(region("Fever")) | {"data": {"text": NOTE, "occurrent": [{"mention": ""}]}},
            "a.json, [0].data.occurrent[0].mention: no text",
        ),
        (task(region("Fever")) | {"data": {"case_id": "a"}}, "a.json, [0].data.text: missing"),
    ],
)
def test_damaged_label_studio_tasks(tmp_path, tasks, reason):
    found = foreign.faults("label_studio", studio(tmp_path, tasks), NOTE)
    assert found[0].startswith(reason), found
    assert "secret" not in found[0]


def test_faults_of_what_is_not_read_do_not_matter(tmp_path):
    broken = {"result": [{"type": "labels"}]}
    asked = task(region("Monday")) | {"predictions": [17, broken]}
    asked["annotations"].append(broken | {"was_cancelled": True})
    (event,) = foreign.events("label_studio", studio(tmp_path, asked), NOTE)
    assert event.mention == "Monday"


def test_a_cut_off_label_studio_file(tmp_path):
    path = studio(tmp_path, task(region("Fever")))
    path.write_text(path.read_text()[:-30])
    assert foreign.faults("label_studio", path, NOTE)[0].startswith("a.json, line 1: not JSON")


# brat


def test_brat_annotations_attributes_and_notes(tmp_path):
    lines = [
        "T1\tFinding 2 7\tFever",
        "#1\tAnnotatorNotes T1\ttime=-72 lower=-96, known=1; as written",
        "T2\tSymptom 26 31;33 37\tchest pain",
    ]
    lines += [
        "A1\tNegation T2",
        "E1\tSymptom:T2",
        "R1\tBefore Arg1:T1 Arg2:T2",
        "#2\tAnnotatorNotes T2\tno idea when",
    ]
    first, second = foreign.events("brat", brat(tmp_path, *lines), NOTE)
    assert (first.start, first.end, first.time, first.lower, first.upper, first.known) == (
        2,
        7,
        -72.0,
        -96.0,
        None,
        True,
    )
    assert (NOTE[second.start : second.end], second.mention, second.polarity, second.time) == (
        "chest\r\npain",
        "chest pain",
        Polarity.ABSENT,
        None,
    )


def test_brat_without_its_text_points_into_our_note(tmp_path):
    (event,) = foreign.events("brat", brat(tmp_path, "T1\tLab 2 7\tFever", text=None), NOTE)
    assert (event.start, event.lane) == (2, Lane.LAB)


def test_brat_without_its_text_may_count_folded_line_ends(tmp_path):
    lines = ["T1\tLab 2 7\tFever", "T2\tLab 25 30;31 35\tchest pain"]
    _, event = foreign.events("brat", brat(tmp_path, *lines, text=None), NOTE)
    assert NOTE[event.start : event.end] == "chest\r\npain"


def test_brat_text_with_other_line_ends(tmp_path):
    text = NOTE.replace("\r\n", "\n")
    (event,) = foreign.events(
        "brat", brat(tmp_path, "T1\tLab 25 30;31 35\tchest pain", text=text), NOTE
    )
    assert NOTE[event.start : event.end] == "chest\r\npain"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["T1\tLab 2 7"], "a.ann, line 1, T: not `T1"),
        (["T1\tLab 2 9\tFever"], "a.ann, line 1, T: the text at these offsets"),
        (["T1\tLab 3 8\tFever"], "a.ann, line 1, T: the text at these offsets"),
        (["T1\tLab 7 2\tFever"], "a.ann, line 1, T: offsets are reversed"),
        (["T1\tLab a b\tFever"], "a.ann, line 1, T: offsets are not whole numbers"),
        (["T1\tLab 2 999\tFever"], "a.ann, line 1, T: the span ends outside the text"),
        (
            ["T1\tLab 2 7\tFever", "T1\tLab 2 7\tFever"],
            "a.ann, line 2, T: the same identifier twice",
        ),
        (["T1\tLab 2 7\tFever", "#1\tAnnotatorNotes T1\t{"], "a.ann, line 2, #: not JSON"),
        (
            ["T1\tLab 2 7\tFever", "#1\tAnnotatorNotes T1\ttime=soon"],
            "a.ann, line 1, time: neither a number",
        ),
        (
            ["T1\tLab 2 7\tFever", "#1\tAnnotatorNotes T1\ttime=2 lower=3"],
            "a.ann, line 1, lower: the time is outside the bounds",
        ),
        ([], "a.ann: no events"),
    ],
)
def test_damaged_brat_files(tmp_path, lines, reason):
    found = foreign.faults("brat", brat(tmp_path, *lines), NOTE)
    assert found[0].startswith(reason), found


def test_marks_stay_where_they_are_though_their_mention_stands_elsewhere(tmp_path):
    mark = {"label": "Lab", "start_offset": 2, "end_offset": 7, "mention": "Monday"}
    (event,) = foreign.events(
        "doccano", doccano(tmp_path, {"text": NOTE, "entities": [mark]}), NOTE
    )
    assert (event.start, event.end, event.mention) == (2, 7, "Monday")
