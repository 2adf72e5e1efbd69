"""Import MIMIC-IV, MEDS and plain rows from small real excerpts.

They are read block by block, repeated without change, and continued after a kill.
"""

import shutil
from datetime import datetime
from itertools import accumulate

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accounts.models import Study
from config.env import BASE_DIR
from ehr.actions import import_dataset
from ehr.formats import delimited as csv_blocks
from ehr.formats.base import FormatError
from ehr.models import Dataset, Encounter, EventSeries, ImportedPart, Note, RejectedRow, SourceRow
from tests.worlds.ehr_cases import ROWS

DATA = BASE_DIR / "tests" / "data" / "ehr"
MIMIC = DATA / "mimic_iv"
CASE = "20338077"


@pytest.fixture
def bring(db):
    study = Study.objects.create(name="imports")
    return lambda path, format, **options: import_dataset(
        path=path, format=format, name="cohort", study=study, by=None, **options
    )


def load_rows(case_id: str, source: str) -> list[tuple[object, ...]]:
    """Return the rows of a case from one table.

    A row is (hours-and-minutes time, event, value, unit, time kind).
    """
    rows = SourceRow.objects.filter(encounter__case_id=case_id, source=source).order_by("row_index")
    return [
        (r.time and r.time.isoformat(" ", "minutes"), r.event, r.value, r.unit, r.time_kind)
        for r in rows
    ]


def test_every_table_of_mimic_iv_has_its_own_time_kind(bring):
    report = bring(MIMIC, "mimic_iv")
    found = dict(SourceRow.objects.order_by().values_list("source", "time_kind").distinct())
    assert found == {
        "admissions": "administrative", "transfers": "administrative", "services": "administrative", "icustays": "administrative",
        "diagnoses_icd": "unknown", "drgcodes": "unknown", "procedures_icd": "administrative", "procedureevents": "performed",
        "emar": "administration", "inputevents": "administration", "prescriptions": "order", "pharmacy": "order", "poe": "order",
        "labevents": "collection", "microbiologyevents": "collection", "chartevents": "charted", "datetimeevents": "charted",
        "outputevents": "charted", "omr": "charted",
    }  # fmt: skip
    missing = ["icu/ingredientevents", "hosp/d_icd_procedures", "note/radiology"]
    assert report.missing_files == missing
    encounter = Encounter.objects.get(case_id=CASE)
    assert (encounter.admitted_at, encounter.discharged_at) == (
        datetime(2129, 4, 5, 22, 56),
        datetime(2129, 4, 11, 17, 25),
    )
    assert (encounter.subject_key, encounter.row_count) == (
        "10007928",
        SourceRow.objects.filter(encounter=encounter).count(),
    )


def test_labs_by_hand(bring):
    bring(MIMIC, "mimic_iv")
    assert load_rows(CASE, "labevents") == [
        ("2129-04-06 01:05", "lab:lactate:blood", "4.1", "mmol/L", "collection"),
        # No hadm_id: after the registration at 21:18, so of this stay. The one at 21:17 is of none.
        ("2129-04-05 21:30", "lab:lactate:blood", "5.0", "mmol/L", "collection"),
        ("2129-04-06 06:00", "lab:hematocrit:blood", "30.5", "%", "collection"),
        ("2129-04-06 06:00", "lab:99999:", "HEMOLYZED,\nREPEATED.", "", "collection"),
    ]
    lactate = SourceRow.objects.get(event="lab:lactate:blood", value="4.1")
    assert (lactate.result_time, lactate.numeric_value) == (datetime(2129, 4, 6, 1, 40), 4.1)
    rejected = RejectedRow.objects.get()
    assert (rejected.file, rejected.line, rejected.field) == ("hosp/labevents.csv", 8, "charttime")


def test_doses_orders_and_codes_by_hand(bring):
    bring(MIMIC, "mimic_iv")
    assert load_rows(CASE, "emar") == [
        ("2129-04-06 04:12", "med:pantoprazole:administered", "80", "mg", "administration"),
        ("2129-04-06 08:00", "med:metoprolol tartrate:not given", "", "", "administration"),
    ]
    assert load_rows(CASE, "poe") == [
        ("2129-04-06 03:50", "order:respiratory oxygen therapy:start", "Inactive", "", "order"),
        ("2129-04-07 09:00", "order:respiratory oxygen therapy:stop", "Inactive", "", "order"),
    ]
    assert load_rows(CASE, "inputevents") == [
        (
            "2129-04-06 00:04",
            "med:pantoprazole (protonix):start",
            "8.067",
            "mg/hour",
            "administration",
        ),
        ("2129-04-06 10:04", "med:pantoprazole (protonix):end", "80.67", "mg", "administration"),
        ("2129-04-06 00:10", "med:nacl 0.9%:start", "500", "ml", "administration"),
        ("2129-04-06 00:11", "med:nacl 0.9%:end", "500", "ml", "administration"),
    ]
    titled = SourceRow.objects.get(value="53240")
    assert titled.event.startswith("diagnosis:chronic or unspecified duodenal ulcer")
    assert (titled.time, titled.numeric_value) == (None, None)
    assert load_rows(CASE, "prescriptions")[0] == (
        "2129-04-09 10:00",
        "order:multivitamins:start",
        "1",
        "TAB PO/NG",
        "order",
    )
    assert load_rows(CASE, "admissions") == [
        ("2129-04-05 21:18", "admission:ed registration:", "", "", "administrative"),
        ("2129-04-06 00:25", "admission:ed out:", "", "", "administrative"),
        ("2129-04-05 22:56", "admission:ew emer.:", "", "", "administrative"),
        ("2129-04-05 22:56", "admission:emergency room:", "", "", "administrative"),
        ("2129-04-11 17:25", "admission:discharge:home", "", "", "administrative"),
    ]


def test_days_without_an_hour_belong_to_the_stay_and_say_so(bring):
    bring(MIMIC, "mimic_iv")
    assert load_rows("27882036", "omr") == [
        ("2176-11-26 00:00", "omr:bmi (kg/m2):", "29.2", "date only", "charted")
    ]


def test_a_note_comes_as_it_is(bring):
    bring(MIMIC, "mimic_iv")
    assert (
        Note.objects.get().text == 'Lactate was 4.1, said the "night" team.\n\nDischarged home.\n'
    )


def test_chosen_admissions_alone_and_unknown_ones_named(bring):
    report = bring(MIMIC, "mimic_iv", cases=["27882036", "1"])
    assert list(Encounter.objects.values_list("case_id", flat=True)) == ["27882036"]
    assert [r.reason for r in report.rejections if r.field == "hadm_id"] == ["no such admission"]
    assert not SourceRow.objects.exclude(encounter__case_id="27882036").exists()


def test_the_size_of_blocks_changes_nothing_but_their_number(bring, monkeypatch):
    monkeypatch.setattr(csv_blocks, "BLOCK_BYTES", 2000)
    bring(MIMIC, "mimic_iv")
    assert SourceRow.objects.count() == 158
    assert [r[1] for r in load_rows(CASE, "labevents")][-1] == "lab:99999:"
    for encounter in Encounter.objects.all():
        indices = list(
            SourceRow.objects.filter(encounter=encounter).values_list("row_index", flat=True)
        )
        assert indices == list(range(encounter.row_count))


def test_series_are_made_of_what_is_stored(bring):
    bring(MIMIC, "mimic_iv")
    lactate = EventSeries.objects.get(encounter__case_id=CASE, event="lab:lactate:blood")
    rows = SourceRow.objects.filter(
        encounter__case_id=CASE, row_index__in=lactate.row_indices
    ).order_by("time")
    assert [r.value for r in rows] == ["5.0", "4.1"]
    assert lactate.row_indices == [r.row_index for r in rows]
    assert (lactate.first, lactate.last) == (
        datetime(2129, 4, 5, 21, 30),
        datetime(2129, 4, 6, 1, 5),
    )


@pytest.mark.parametrize(
    ("path", "format"),
    [(MIMIC, "mimic_iv"), (DATA / "meds", "meds"), (DATA / "omop", "omop")],
)
def test_the_same_files_twice_change_nothing(bring, path, format):
    tables = (Dataset, Encounter, Note, EventSeries, ImportedPart, RejectedRow, SourceRow)
    first = bring(path, format)
    before = [list(t._default_manager.order_by("pk").values()) for t in tables]
    again = bring(path, format)
    assert [list(t._default_manager.order_by("pk").values()) for t in tables] == before
    assert (again.imported, again.rows, again.rejected) == (0, 0, first.rejected)


@pytest.mark.parametrize("format", ["mimic_iv", "meds", "csv", "omop", "text"])
def test_a_path_in_no_format_is_named(bring, tmp_path, format):
    with pytest.raises(FormatError, match=tmp_path.name):
        bring(tmp_path, format)


def test_meds_001(bring):
    bring(DATA / "meds", "meds")
    encounter = Encounter.objects.get()
    assert (encounter.case_id, encounter.subject_key) == ("10007928-1", "10007928")
    assert (encounter.admitted_at, encounter.discharged_at) == (
        datetime(2129, 4, 5, 22, 56),
        datetime(2129, 4, 11, 17, 25),
    )
    rows = SourceRow.objects
    assert rows.get(event="admission:ed registration:").time == datetime(2129, 4, 5, 21, 18)
    assert rows.filter(event__startswith="order:", time_kind="order").exists()
    assert rows.filter(
        event__startswith="lab:", time_kind="collection", numeric_value__isnull=False
    ).exists()
    assert rows.filter(event__startswith="chart:", time_kind="charted").exists()
    assert not rows.filter(event__contains="birth").exists()
    # 12.4 in single precision is 12.399999618530273.
    assert not any(
        len(value) > 12
        for value in rows.exclude(numeric_value=None).values_list("value", flat=True)
    )


def test_meds_04(bring, tmp_path):
    shard = {
        "subject_id": pa.array([1, 1, 1, 1, 1, 2], pa.int64()),
        "time": pa.array(
            [None, *(datetime(2150, 1, day, 6) for day in (1, 2, 3, 9, 2))], pa.timestamp("us")
        ),
        "code": [
            "GENDER//F",
            "HOSPITAL_ADMISSION//URGENT",
            "LAB//50813//mmol/L",
            "HOSPITAL_DISCHARGE//HOME",
            "LAB//50813//mmol/L",
            "LAB//1//UNK",
        ],
        "numeric_value": pa.array([None, None, 4.1, None, 2.0, 1.0], pa.float32()),
        "text_value": pa.array([None, None, None, None, None, "x"]),
    }
    (tmp_path / "data" / "train").mkdir(parents=True)
    (tmp_path / "metadata").mkdir()
    pq.write_table(pa.table(shard), tmp_path / "data" / "train" / "0.parquet")
    pq.write_table(
        pa.table({"code": ["LAB//50813//mmol/L"], "description": ["Lactate"]}),
        tmp_path / "metadata" / "codes.parquet",
    )
    report = bring(tmp_path, "meds")
    lines = "subject_id,time,kind,text\n1,2150-01-03,DS,Went home.\n1,2150-01-02,ed note,Fell.\n"
    (tmp_path / "notes.csv").write_text(lines)
    assert bring(tmp_path, "meds").missing_files == []
    kinds = Note.objects.order_by("charted_at").values_list("kind", "text")
    assert list(kinds) == [("ed note", "Fell."), ("discharge summary", "Went home.")]
    assert report.missing_files == ["notes"]
    stored = SourceRow.objects.order_by("row_index").values_list(
        "event", "value", "unit", "time_kind"
    )
    assert list(stored) == [
        ("admission:urgent:", "", "", "administrative"),
        ("lab:lactate:", "4.1", "mmol/L", "collection"),
        ("admission:discharge:home", "", "", "administrative"),
    ]


def test_plain_files(bring, tmp_path):
    (tmp_path / "a.csv").write_text(ROWS)
    (tmp_path / "a.txt").write_text("A note.")
    table = {
        "t": ["2150-03-02T10:00:00", "2150-03-01 09:00"],
        "event": ["lab:k:", "lab:k:"],
        "value": pa.array([4.5, 4.0]),
    }
    pq.write_table(pa.table(table), tmp_path / "b.parquet")
    (tmp_path / "encounters.csv").write_text(
        "case_id,admitted_at,discharged_at\na,2150-01-01T08:00:00,2150-01-03T08:00:00\n"
    )
    report = bring(tmp_path, "csv")
    a, b = Encounter.objects.order_by("case_id")
    assert (a.anchor_kind, a.discharged_at, a.notes.get().text, a.row_count) == (
        "admission",
        datetime(2150, 1, 3, 8),
        "A note.",
        4,
    )
    assert (b.anchor_kind, b.admitted_at, b.discharged_at) == (
        "presentation",
        datetime(2150, 3, 1, 9),
        None,
    )
    assert (report.imported, report.rejected) == (2, 0)
    assert b.series.get().row_indices == [1, 0]


def test_a_damaged_file_is_refused_and_what_came_before_stays(bring, tmp_path):
    shutil.copytree(MIMIC, tmp_path / "m")
    path = tmp_path / "m/hosp/transfers.csv.gz"
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    report = bring(tmp_path / "m", "mimic_iv")
    assert report.refused == 1
    assert any(
        r.file.startswith("hosp/transfers") and "damaged" in r.reason for r in report.rejections
    )
    assert Dataset.objects.get().state == Dataset.State.INCOMPLETE
    assert SourceRow.objects.filter(source="admissions").exists()
    assert not EventSeries.objects.exists()
    path.write_bytes(whole)
    assert bring(tmp_path / "m", "mimic_iv").refused == 0
    assert SourceRow.objects.count() == 158
    assert EventSeries.objects.exists()


@pytest.mark.parametrize("format", ["mimic_iv", "meds"])
def test_a_case_takes_no_more_bytes_than_its_limit(bring, settings, monkeypatch, format):
    monkeypatch.setattr(csv_blocks, "BLOCK_BYTES", 300)
    texts = ("event", "value", "unit", "source")
    bring(DATA / format, format)
    expected = {}
    for encounter in Encounter.objects.all():
        rows = encounter.rows.order_by("row_index").values_list(*texts)
        sizes = accumulate(sum(len(text.encode()) for text in row) for row in rows)
        expected[encounter.case_id] = [
            r for r, size in zip(rows, sizes, strict=True) if size <= 600
        ]
        assert 3 < len(expected[encounter.case_id]) < len(rows)
    Dataset.objects.update(name="without a limit")
    settings.IMPORT_CASE_BYTES = 600
    assert bring(DATA / format, format).rejected > 0
    stored = {
        e.case_id: list(e.rows.order_by("row_index").values_list(*texts))
        for e in Encounter.objects.filter(dataset__name="cohort")
    }
    assert stored == expected
    refused = RejectedRow.objects.filter(dataset__name="cohort", reason__contains="600 bytes")
    assert all("IMPORT_CASE_BYTES" in r.reason and r.file and r.line for r in refused)
    parts = ImportedPart.objects.filter(dataset__name="cohort").exclude(key="encounters")
    assert sum(part.rejected for part in parts) >= refused.count() > 0
