"""The export through a doccano project, by doccano's own rules.

A project reads one column of labels. Every other key is metadata, which its export repeats as it
was. Unless the project allows overlapping spans, the import drops each span that begins before the
last one ends, in order of their starts, and reports nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.timelines.formats import foreign_cases as foreign
from timelines.formats.doccano.writer import write_doccano
from timelines.formats.lines import Line

NOTE = "😀 Fever since Monday. No chest pain."
PLACES = ("Fever", "Fever since Monday", "chest pain")


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """A document whose first two occurrences overlap."""
    lines = tuple(
        Line(
            case_id="a",
            source="s",
            kind="text_only",
            alternative=1,
            uid4=f"000{n}",
            mention=words,
            start=NOTE.index(words),
            end=NOTE.index(words) + len(words),
            time=float(n),
            lower=None,
            upper=None,
            known=False,
            context=(),
            evidence=(),
            polarity="present",
            lane="lab",
            span_text=words,
        )
        for n, words in enumerate(PLACES)
    )
    path = tmp_path / "a.jsonl"
    write_doccano([foreign.case_lines("a", NOTE, [lines])], path)
    return path


def pass_through(path: Path, *, overlapping: bool, column: str = "label") -> None:
    """Replace the document by what a project exports after it imported it."""
    document = json.loads(path.read_text(encoding="utf-8"))
    marks, last = [], -1
    for start, end, label in sorted(document.pop(column, [])):
        if overlapping or start >= last:
            last = end
            marks.append([start, end, label])
    text = document.pop("text")
    exported = {"id": 71, "text": text, **document, column: marks, "Comments": []}
    path.write_text(json.dumps(exported) + "\n", encoding="utf-8")


def test_a_project_that_allows_overlaps_returns_every_occurrence(export: Path) -> None:
    before = foreign.events("doccano", export, NOTE)
    pass_through(export, overlapping=True)
    assert foreign.events("doccano", export, NOTE) == before
    assert [event.mention for event in before] == list(PLACES)


def test_a_file_without_the_spans_that_doccano_dropped_is_refused(export: Path) -> None:
    pass_through(export, overlapping=False)
    (fault,) = foreign.faults("doccano", export, NOTE)
    assert fault.startswith("a.jsonl, line 1, occurrences: occurrences that overlap a marked one")
    assert "(1)" in fault


def test_a_file_of_a_project_that_read_another_column_is_refused(export: Path) -> None:
    pass_through(export, overlapping=True, column="entities")
    (fault,) = foreign.faults("doccano", export, NOTE)
    assert fault.startswith("a.jsonl, line 1: entities and label mark different spans")
    document = json.loads(export.read_text(encoding="utf-8"))
    del document["label"]
    export.write_text(json.dumps(document) + "\n", encoding="utf-8")
    (fault,) = foreign.faults("doccano", export, NOTE)
    assert "no occurrence has its mark (3 without)" in fault


def test_a_mark_that_a_person_removed_removes_its_occurrence(export: Path) -> None:
    document = json.loads(export.read_text(encoding="utf-8"))
    document["label"].pop()
    export.write_text(json.dumps(document) + "\n", encoding="utf-8")
    found = foreign.events("doccano", export, NOTE)
    assert [event.mention for event in found] == list(PLACES[:2])
