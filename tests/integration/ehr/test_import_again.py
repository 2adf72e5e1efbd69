"""Bring changed files again: only the stays that differ are new."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from accounts.models import AuditEvent, Study
from ehr.actions import import_dataset
from ehr.formats import delimited
from ehr.formats.fhir import blocks
from ehr.ingest import again
from ehr.ingest.cases import NOTHING, OTHER_CONTENT, Replacing
from ehr.models import Dataset, Encounter, EventSeries, ImportedPart, Note, RejectedRow, SourceRow
from ehr.report import ImportReport
from tests.import_fuzz.worlds import WORLDS
from tests.paths import DATA
from tests.worlds.authored import make_author, make_draft
from tests.worlds.fhir_exports import make_stay, write_bundle, write_lines

pytestmark = pytest.mark.django_db
REPLACE = Replacing(changed=True)
Edit = Callable[[Path], None]
ROW = ("row_index", "time", "result_time", "event", "value", "numeric_value", "unit", "source")
TABLES = (Encounter, Note, EventSeries, SourceRow, ImportedPart, RejectedRow)


@pytest.fixture
def study() -> Study:
    return Study.objects.create(name="again")


@pytest.fixture
def bring(study: Study, tmp_path: Path) -> Callable[..., ImportReport]:
    """Import the folder, which is in the format of its name."""

    def bring(format: str, name: str = "cohort", **options: Any) -> ImportReport:
        path = tmp_path / format
        return import_dataset(path=path, format=format, name=name, study=study, by=None, **options)

    return bring


def edit(file: str, old: str, new: str) -> Edit:
    """Return what replaces a text in a file, gzipped or not."""

    def act(root: Path) -> None:
        path = root / file
        packed = path.suffix == ".gz"
        text = (gzip.decompress(path.read_bytes()) if packed else path.read_bytes()).decode()
        assert old in text, file
        data = text.replace(old, new, 1).encode()
        path.write_bytes(gzip.compress(data, mtime=0) if packed else data)

    return act


def edit_table(file: str, column: str, old: float, new: float) -> Edit:
    """Return what replaces the first such number of a Parquet file."""

    def act(root: Path) -> None:
        table = pq.read_table(root / file)
        values = table[column].to_pylist()
        values[values.index(old)] = new
        place = table.schema.get_field_index(column)
        changed = pa.array(values, table.schema.field(column).type)
        pq.write_table(table.set_column(place, column, changed), root / file)

    return act


def add_lines(file: str, lines: str) -> Edit:
    def act(root: Path) -> None:
        with (root / file).open("a") as opened:
            opened.write(lines)

    return act


def cut(file: str) -> Edit:
    def act(root: Path) -> None:
        data = (root / file).read_bytes()
        (root / file).write_bytes(data[: len(data) // 2])

    return act


def make(format: str, root: Path) -> None:
    """Write stays in a format."""
    if format == "mimic_iv":
        shutil.copytree(DATA / "ehr" / "mimic_iv", root)
    else:
        WORLDS[format](root)


def show(name: str) -> dict[str, tuple[object, ...]]:
    """Return everything that a dataset has of each stay, without keys."""
    return {
        e.case_id: (
            (e.admitted_at, e.discharged_at, e.title, e.subject_key, e.row_count, e.headline),
            list(e.rows.order_by("row_index").values_list(*ROW)),
            sorted(e.notes.values_list("kind", "text")),
            sorted(e.series.values_list("event", "summary", "row_indices")),
        )
        for e in Encounter.objects.filter(dataset__name=name)
    }


def keys(name: str = "cohort") -> dict[str, int]:
    return dict(Encounter.objects.filter(dataset__name=name).values_list("case_id", "pk"))


def dump() -> list[list[object]]:
    return [[*table._default_manager.order_by("pk").values()] for table in TABLES]


#: Format, what changes one row or note, and the stay that it is of.
CHANGES: list[tuple[str, Edit, str]] = [
    ("csv", edit("a.csv", "4.1", "9.1"), "a"),
    ("text", edit("c.txt", "discharge", "long"), "c"),
    (
        "mimic_iv",
        add_lines(
            "icu/chartevents.csv",
            "10007928,20338077,1,2,2129-04-06 01:31:00,2129-04-06 01:35:00,220045,99,99,bpm,0\n",
        ),
        "20338077",
    ),
    ("omop", edit_table("MEASUREMENT.parquet", "VALUE_AS_NUMBER", 88.0, 89.0), "10"),
    ("omop", edit("note.csv.gz", "An ED note.", "Another note."), "10"),
    ("omop", edit("visit_occurrence.csv", "21500303", "21500304"), "20"),
    ("meds", edit_table("data/1.parquet", "numeric_value", 2.5, 3.5), "3"),
    ("fhir", edit("Observation.000.ndjson", "4.1", "5.2"), "one"),
    ("fhir", edit("more/two.ndjson.gz", "female", "male"), "two"),
]
IDS = [f"{format}-{case}-{i}" for i, (format, _, case) in enumerate(CHANGES)]


@pytest.mark.parametrize(("format", "change", "case"), CHANGES, ids=IDS)
def test_only_the_stay_that_changed_is_new(bring, tmp_path, format, change, case):
    make(format, tmp_path / format)
    first = bring(format)
    before, stored = keys(), show("cohort")
    change(tmp_path / format)
    bring(format, "afresh")
    afresh = show("afresh")
    (case,) = [name for name in stored if stored[name] != afresh[name]]
    refused = bring(format)
    assert (refused.imported, refused.unchanged) == (0, first.imported - 1)
    assert (keys(), show("cohort")) == (before, stored)
    fault = RejectedRow.objects.get(reason=OTHER_CONTENT)
    assert (fault.case_id, fault.dataset.name) == (case, "cohort")
    # The refusal comes again, until the stay is replaced.
    assert bring(format).refused == refused.refused == 1 + first.refused
    report = bring(format, replacing=REPLACE)
    assert (report.imported, report.unchanged) == (1, first.imported - 1)
    assert {name for name, pk in keys().items() if before[name] != pk} == {case}
    assert show("cohort") == afresh
    assert not RejectedRow.objects.filter(reason=OTHER_CONTENT).exists()
    assert AuditEvent.objects.filter(action="case.replace").count() == 1
    lines = ("key", "rows", "rejected", "lines", "left_out")
    parts = [
        sorted(ImportedPart.objects.filter(dataset__name=name).values_list(*lines))
        for name in ("cohort", "afresh")
    ]
    assert parts[0] == parts[1]
    settled = dump()
    assert bring(format).unchanged == first.imported
    assert dump() == settled


#: Format, what makes a stay unreadable, and the stay.
FAULTS: list[tuple[str, Edit, str]] = [
    ("csv", edit("encounters.csv", "e,2150-01-01", "e,never"), "e"),
    ("text", edit("c.txt", "A discharge summary.", " "), "c"),
    ("mimic_iv", edit("hosp/admissions.csv", "2176-11-25 21:28:00", "never"), "27882036"),
    ("omop", edit("visit_occurrence.csv", "21500301", "never"), "20"),
    ("meds", cut("data/1.parquet"), "3"),
    ("fhir", edit("more/two.ndjson.gz", '"start": "2150-02-03T08', '"start": "x2150-02-03T08'), ""),
]


@pytest.mark.parametrize(("format", "fault", "case"), FAULTS, ids=[f[0] for f in FAULTS])
def test_a_mended_stay_is_added(bring, tmp_path, format, fault, case):
    make(format, tmp_path / "good")
    shutil.copytree(tmp_path / "good", tmp_path / format)
    fault(tmp_path / format)
    assert not bring(format).clean
    before = keys()
    shutil.rmtree(tmp_path / format)
    shutil.copytree(tmp_path / "good", tmp_path / format)
    report = bring(format)
    assert (report.imported, report.refused) == (1, 0)
    after = keys()
    assert {name: pk for name, pk in after.items() if name in before} == before
    assert len(after) == len(before) + 1
    bring(format, "afresh")
    assert show("cohort") == show("afresh")


def test_rows_in_another_order_change_nothing(bring, tmp_path):
    make("omop", tmp_path / "omop")
    bring("omop")
    before, stored = keys(), show("cohort")
    path = tmp_path / "omop" / "MEASUREMENT.parquet"
    table = pq.read_table(path)
    turned = table.take(pc.sort_indices(table, [("MEASUREMENT_ID", "descending")]))
    pq.write_table(turned, path)
    report = bring("omop")
    assert (report.imported, report.unchanged, report.refused) == (0, 2, 0)
    assert (keys(), show("cohort")) == (before, stored)


def test_what_people_wrote_protects_a_stay(bring, tmp_path):
    for day in (1, 2):
        stay = make_stay(f"s{day}", day=f"2150-01-0{day}")
        write_lines(tmp_path / "fhir" / f"{day}.ndjson", stay)
    bring("fhir")
    before = keys()
    make_draft(
        Encounter.objects.get(case_id="s1"), make_author(Encounter.objects.get(case_id="s1"))
    )
    for day in (1, 2):
        edit(f"{day}.ndjson", "4.1", "5.2")(tmp_path / "fhir")
    report = bring("fhir", replacing=REPLACE)
    assert (report.imported, report.refused) == (1, 1)
    assert "1 authored timeline" in report.rejections[-1].reason
    after = keys()
    assert (after["s1"] == before["s1"], after["s2"] == before["s2"]) == (True, False)
    kinds = AuditEvent.objects.filter(action__startswith="case.replace")
    assert sorted(kinds.values_list("action", flat=True)) == [
        "case.replace",
        "case.replace_refused",
    ]
    report = bring("fhir", replacing=Replacing(changed=True, authored=True))
    assert (report.imported, report.unchanged, report.refused) == (1, 1, 0)
    bring("fhir", "afresh")
    assert show("cohort") == show("afresh")


def test_other_stays_join_and_old_ones_stay(bring, tmp_path):
    """Bring the stays of another month under the names of the first."""
    write_bundle(tmp_path / "fhir" / "Bundle.json", make_stay("one"))
    bring("fhir")
    before = keys()
    write_bundle(tmp_path / "fhir" / "Bundle.json", make_stay("two", day="2150-02-01"))
    report = bring("fhir")
    assert (report.imported, report.refused) == (1, 0)
    assert keys()["one"] == before["one"]
    assert set(keys()) == {"one", "two"}
    assert Encounter.objects.get(case_id="one").rows.exists()
    assert Dataset.objects.get().state == Dataset.State.READY


def test_a_table_that_is_missing_now_changes_nothing(bring, tmp_path):
    make("omop", tmp_path / "omop")
    bring("omop")
    before = show("cohort")
    (tmp_path / "omop" / "MEASUREMENT.parquet").rename(tmp_path / "away.parquet")
    edit("person.csv", "1950", "1951")(tmp_path / "omop")
    report = bring("omop", replacing=REPLACE)
    assert report.refused == 1
    assert (report.rejections[-1].file, "missing" in report.rejections[-1].reason) == (
        "MEASUREMENT.parquet",
        True,
    )
    assert show("cohort") == before


def test_a_damaged_file_changes_nothing(bring, tmp_path):
    make("mimic_iv", tmp_path / "mimic_iv")
    bring("mimic_iv")
    before = show("cohort")
    cut("hosp/transfers.csv.gz")(tmp_path / "mimic_iv")
    report = bring("mimic_iv", replacing=REPLACE)
    assert [r.file for r in report.rejections if "damaged" in r.reason] != []
    assert show("cohort") == before


@pytest.mark.parametrize("replacing", [NOTHING, REPLACE], ids=["kept", "replaced"])
@pytest.mark.parametrize("format", ["fhir", "omop"])
def test_an_interrupted_change_continues(bring, tmp_path, monkeypatch, format, replacing):
    """Stop after each step in turn; nothing is half or twice."""
    monkeypatch.setattr(blocks, "ROWS_AT_ONCE", 9)
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 200)
    monkeypatch.setattr(again, "BATCH", 1)
    make(format, tmp_path / format)
    bring(format)
    stored = show("cohort")
    for other, change, _ in CHANGES:
        if other == format:
            change(tmp_path / format)
    if format == "fhir":
        write_lines(tmp_path / "fhir" / "more" / "new.ndjson", make_stay("new", day="2150-05-01"))
    bring(format, "afresh")
    afresh = show("afresh")
    for stop in count(1):
        assert stop < 500
        steps = count(1)

        def progress(*_: object, steps: Any = steps, stop: int = stop) -> None:
            if next(steps) == stop:
                raise KeyboardInterrupt

        try:
            bring(format, replacing=replacing, progress=progress)
            break
        except KeyboardInterrupt:
            continue
    assert stop > 20
    expected = afresh if replacing.changed else {**afresh, **stored}
    assert show("cohort") == expected
    assert not ImportedPart.objects.filter(key__contains="#").exists()
    assert not ImportedPart.objects.filter(key="again").exists()


def test_files_that_change_during_an_interrupted_import(bring, tmp_path, monkeypatch):
    """Begin again with stays that are half there."""
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 200)
    make("omop", tmp_path / "omop")
    steps = count(1)

    def progress(*_: object) -> None:
        if next(steps) == 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bring("omop", progress=progress)
    assert SourceRow.objects.exists()
    assert not EventSeries.objects.exists()
    edit("person.csv", "1950", "1951")(tmp_path / "omop")
    edit("condition_occurrence.csv", "A41.9", "A41.8")(tmp_path / "omop")
    assert bring("omop").imported == 2
    bring("omop", "afresh")
    assert show("cohort") == show("afresh")
