"""Reference timelines are imported with their cases, whole or not at all.

Every fault has file, line and field.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ehr.actions import import_dataset
from ehr.models import Dataset, Encounter, RejectedRow
from ehr.report import ImportReport
from tests import factories
from tests.paths import DEMO
from timelines.models import Entry, Inventory, Occurrence, Timeline

pytestmark = pytest.mark.django_db

CASE = DEMO / "intro" / "intro-ich"
GOOD = {
    "start": 0,
    "end": 4,
    "mention": "name",
    "time": 1,
    "lower": 0,
    "upper": 2,
    "known": 1,
    "polarity": "present",
    "rows": [0],
    "why": "x",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(CASE, tmp_path / "cases" / "one")
    return tmp_path / "cases"


def write(folder: Path, *lines: object) -> None:
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    (folder / "one" / "reference.jsonl").write_text(text, encoding="utf-8")


def run_import(folder: Path, study=None) -> ImportReport:
    return import_dataset(
        path=folder, format="cases", name="cohort", study=study or factories.make_study(), by=None
    )


def test_a_reference_becomes_a_sealed_inventory_and_a_timeline_over_it(folder):
    write(
        folder,
        GOOD,
        {
            **GOOD,
            "start": 5,
            "end": 8,
            "mention": 'a "b" | c',
            "time": None,
            "lower": None,
            "polarity": "absent",
            "rows": [],
        },
    )
    assert run_import(folder).clean
    inventory = Inventory.objects.get()
    assert (inventory.origin, inventory.run, inventory.sealed_at is not None) == (
        "reference",
        None,
        True,
    )
    first, second = Occurrence.objects.order_by("ordinal")
    assert (first.start, first.end, first.mention, second.mention, second.polarity) == (
        0,
        4,
        "name",
        'a \\"b\\" \\| c',
        "absent",
    )
    timeline = Timeline.objects.get()
    assert (timeline.kind, timeline.source, timeline.case_run) == ("reference", "reference", None)
    entries = list(
        Entry.objects.order_by("occurrence__ordinal").values_list(
            "time", "lower", "upper", "known", "adopted_rows", "reason"
        )
    )
    assert entries == [(1.0, 0.0, 2.0, True, [0], "x"), (None, None, 2.0, True, [], "x")]


@pytest.mark.parametrize(
    ("line", "field", "reason"),
    [
        ("{", "", "not JSON"),
        ("[1]", "", "not a JSON object"),
        ({k: v for k, v in GOOD.items() if k != "upper"}, "upper", "missing"),
        ({**GOOD, "end": 99999}, "end", "the span [0, 99999) is outside the note"),
        ({**GOOD, "start": 4}, "end", "the span [4, 4) is outside the note"),
        ({**GOOD, "start": -1}, "start", "whole numbers"),
        ({**GOOD, "start": True}, "start", "whole numbers"),
        ({**GOOD, "mention": " "}, "mention", "no text"),
        ({**GOOD, "time": "1"}, "time", "neither a number of hours nor null"),
        ({**GOOD, "time": True}, "time", "neither a number of hours nor null"),
        (
            '{"start": 0, "end": 4, "mention": "m", "time": NaN, "lower": 0, "upper": 1, "known": 1}',
            "",
            "NaN and Infinity are no numbers",
        ),
        ('{"start": ' + "9" * 5000 + "}", "", "too many digits"),
        ('{"start": 0, "start": 1}', "", "a key appears twice"),
        ({**GOOD, "time": 10**400}, "time", "neither a number of hours nor null"),
        ({**GOOD, "mention": "\ud800"}, "mention", "no text"),
        ({**GOOD, "why": "\ud800"}, "why", "not text that can be stored"),
        ({**GOOD, "why": ["x"]}, "why", "not text that can be stored"),
        ({**GOOD, "rows": [2**40]}, "rows", "not a list"),
        ({**GOOD, "rowz": [0]}, "", "fields with unknown names: 1"),
        ({**GOOD, "lower": 1.5}, "lower", "the time is outside the bounds"),
        ({**GOOD, "known": 2}, "known", "neither 0 nor 1"),
        ({**GOOD, "polarity": "maybe"}, "polarity", "not one of"),
        ({**GOOD, "rows": [0, 102]}, "rows", "no row 102"),
        ({**GOOD, "rows": "0"}, "rows", "not a list"),
    ],
)
def test_a_fault_names_file_line_and_field_and_leaves_no_partial_reference(
    folder, line, field, reason
):
    write(folder, GOOD, line)
    report = run_import(folder)
    assert report.imported == 1, "the case itself is taken"
    assert not Timeline.objects.exists()
    fault = RejectedRow.objects.get()
    assert (fault.file, fault.line, fault.field, fault.case_id) == (
        "one/reference.jsonl",
        2,
        field,
        "intro-ich",
    )
    assert reason in fault.reason
    assert "Left" not in fault.reason


def test_the_same_input_twice_changes_nothing(folder):
    study = factories.make_study()
    run_import(folder, study)
    before = list(Occurrence.objects.order_by("pk").values_list("pk", "uid4"))
    report = run_import(folder, study)
    assert (report.imported, report.unchanged) == (0, 1)
    assert list(Occurrence.objects.order_by("pk").values_list("pk", "uid4")) == before
    assert len(before) == len((CASE / "reference.jsonl").read_text(encoding="utf-8").splitlines())


def test_a_case_without_a_reference_has_none(folder):
    (folder / "one" / "reference.jsonl").unlink()
    assert run_import(folder).clean
    assert Encounter.objects.count() == 1
    assert not Timeline.objects.exists()


def test_a_deleted_dataset_takes_its_references_along(folder):
    run_import(folder)
    Dataset.objects.get().delete()
    assert not Inventory.objects.exists()


@pytest.mark.parametrize(
    ("protocol", "stored"), [(None, ""), ("", ""), (" two readers ", "two readers")]
)
def test_the_case_says_by_which_protocol_its_reference_was_annotated(folder, protocol, stored):
    write(folder, GOOD)
    say_protocol(folder, protocol)
    assert run_import(folder).clean
    assert Timeline.objects.get().protocol == stored


@pytest.mark.parametrize("protocol", [7, "x" * 61, "a\tb"])
def test_a_protocol_that_cannot_be_shown_is_refused_by_file_and_field(folder, protocol):
    write(folder, GOOD)
    say_protocol(folder, protocol)
    run_import(folder)
    rejected = RejectedRow.objects.get()
    assert rejected.file == "one/encounter.json"
    assert rejected.field == "reference_protocol"
    assert not Timeline.objects.exists()


def say_protocol(folder: Path, protocol: object) -> None:
    path = folder / "one" / "encounter.json"
    case = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**case, "reference_protocol": protocol}), encoding="utf-8")
