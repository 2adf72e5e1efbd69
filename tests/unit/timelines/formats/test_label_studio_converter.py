"""Label Studio's own converter reads the export."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.unit.timelines.formats.cohorts import bare_case
from timelines.formats.label_studio.writer import write_label_studio

NOTE = "😀 Fever since Monday.\r\nNo chest pain."


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """Two tasks, each with one mark."""
    path = tmp_path / "tasks.json"
    cases = [bare_case("a", NOTE, (2, 7)), bare_case("b", NOTE, (26, 36))]
    write_label_studio(cases, path)
    return path


def convert(tasks: Path, format: str) -> str:
    """Return the file that the converter makes of the tasks."""
    from label_studio_converter import Converter

    interface = tasks.with_name(f"{tasks.name}.config.xml").read_text(encoding="utf-8")
    out = tasks.parent / format
    Converter(interface, project_dir=None).convert(str(tasks), str(out), format, is_dir=False)
    (file,) = out.iterdir()
    return file.read_text(encoding="utf-8")


def test_json_min_has_a_record_with_the_spans_of_each_task(tasks: Path) -> None:
    first, second = json.loads(convert(tasks, "JSON_MIN"))
    assert [(r["id"], r["annotation_id"], r["case_id"]) for r in (first, second)] == [
        (1, 1, "a"),
        (2, 2, "b"),
    ]
    (mark,) = first["label"]
    assert (mark["start"], mark["end"], mark["text"], mark["labels"]) == (2, 7, "Fever", ["Lab"])
    assert first["polarity"] == "Present"


@pytest.mark.parametrize(("format", "separator"), [("CSV", ","), ("TSV", "\t")])
def test_tables_have_a_line_for_each_task(tasks: Path, format: str, separator: str) -> None:
    lines = list(csv.DictReader(convert(tasks, format).splitlines(), delimiter=separator))
    assert [(line["id"], line["annotation_id"], line["case_id"]) for line in lines] == [
        ("1", "1", "a"),
        ("2", "2", "b"),
    ]
    assert json.loads(lines[1]["label"])[0]["text"] == "chest pain"


def test_conll_tags_the_words_of_the_spans(tasks: Path) -> None:
    tagged = [
        line.split(" -X- _ ") for line in convert(tasks, "CONLL2003").splitlines()[1:] if line
    ]
    assert [pair for pair in tagged if pair[1] != "O"] == [
        ["Fever", "B-Lab"],
        ["chest", "B-Lab"],
        ["pain", "I-Lab"],
    ]


def test_every_control_of_the_tasks_is_in_the_interface(tasks: Path) -> None:
    from label_studio_converter.utils import parse_config

    interface = parse_config(tasks.with_name(f"{tasks.name}.config.xml").read_text())
    listed = json.loads(tasks.read_text())
    results = [item for task in listed for item in task["annotations"][0]["result"]]
    assert {item["from_name"] for item in results} <= set(interface)
    labels = {label for item in results for label in item["value"].get("labels", [])}
    assert labels <= set(interface["label"]["labels"])
