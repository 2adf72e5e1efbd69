"""Import FHIR exports through the command into the database."""

import io
import json
from datetime import datetime

import pytest
from django.core.management import CommandError, call_command

from ehr.formats.fhir import blocks
from ehr.ingest import streams
from ehr.models import Dataset, Encounter, EventSeries, ImportedPart, Note, RejectedRow, SourceRow
from ehr.record.charts import find_note
from tests.paths import DATA
from tests.worlds.fhir_exports import concept, encode, make_stay, write_bulk, write_bundle

SYNTHEA = DATA / "ehr" / "fhir" / "synthea"


def bring(path, **options) -> str:
    """Return what the command prints."""
    out = io.StringIO()
    call_command(
        "import_dataset", format="fhir", path=path, name="cohort", study="fhir", stdout=out,
        stderr=io.StringIO(), **options,
    )  # fmt: skip
    return out.getvalue()


def load_rows() -> list[tuple[object, ...]]:
    columns = ("encounter__case_id", "row_index", "time", "event", "value", "unit", "time_kind")
    return list(SourceRow.objects.order_by("encounter__case_id", "row_index").values_list(*columns))


@pytest.mark.django_db
def test_a_bulk_export_of_synthea(tmp_path):
    printed = bring(SYNTHEA)
    assert printed.startswith("5 cases imported, 0 unchanged, 0 refused; 94 rows in ")
    assert "not a file of this format, not read: AllergyIntolerance.000.ndjson" in printed
    assert Dataset.objects.get().state == Dataset.State.READY
    stay = Encounter.objects.get(case_id__startswith="78cbcee4")
    # The offset is -04:00 at admission and -05:00 at discharge: clock times are not shifted.
    assert (stay.admitted_at, stay.discharged_at) == (
        datetime(1990, 10, 27, 23, 58, 16),
        datetime(1990, 11, 9, 10, 18, 39),
    )
    dose = SourceRow.objects.filter(encounter=stay, event__startswith="order:").first()
    assert dose is not None
    assert dose.source.startswith("MedicationRequest rxnorm ")
    before = load_rows()
    assert "0 cases imported, 5 unchanged" in bring(SYNTHEA)
    assert load_rows() == before


@pytest.mark.django_db
def test_an_interrupted_import_continues(tmp_path, monkeypatch):
    """Stop after each block in turn; the rows are those of one import."""
    resources = [r for day in range(1, 9) for r in make_stay(f"s{day}", day=f"2150-01-0{day}")]
    write_bundle(tmp_path / "a.json", resources[::2])
    write_bulk(tmp_path, resources[1::2], suffix=".ndjson.gz")
    monkeypatch.setattr(blocks, "ROWS_AT_ONCE", 9)
    bring(tmp_path)
    whole, notes = load_rows(), set(Note.objects.values_list("encounter__case_id", "text", "kind"))
    assert ImportedPart.objects.filter(key__contains="#").count() == 0
    Dataset.objects.all().delete()
    store, stopped = streams._Import._store, 0

    def stop_once(self, file, key, sha256, block):
        nonlocal stopped
        store(self, file, key, sha256, block)
        if not stopped % 2:
            stopped += 1
            raise KeyboardInterrupt
        stopped += 1

    monkeypatch.setattr(streams._Import, "_store", stop_once)
    for _ in range(100):
        try:
            bring(tmp_path)
            break
        except KeyboardInterrupt:
            continue
    assert stopped > 10
    assert load_rows() == whole
    assert set(Note.objects.values_list("encounter__case_id", "text", "kind")) == notes
    assert len(notes) == 16
    assert EventSeries.objects.exists()


@pytest.mark.django_db
def test_several_notes_of_a_stay_and_a_repeated_one(tmp_path):
    """All notes are stored; the discharge summary is the one to reconstruct."""
    resources = make_stay()
    summary = next(r for r in resources if r["resourceType"] == "DocumentReference")
    attachment = {"contentType": "text/plain", "data": encode("A progress note.")}
    progress = {**summary, "type": concept("Progress", "11506-3"), "date": "2150-01-01T10:00:00Z"}
    progress["content"] = [{"attachment": attachment}]
    report = next(r for r in resources if r["resourceType"] == "DiagnosticReport")
    # Synthea writes each note as a document and as a report.
    again = {**report, "presentedForm": [attachment]}
    write_bundle(tmp_path / "b.json", [progress, *resources, again])
    printed = bring(tmp_path)
    assert "rejected" not in printed.replace("0 rejected", "")
    stay = Encounter.objects.get()
    assert sorted(stay.notes.values_list("kind", "charted_at")) == [
        ("discharge summary", datetime(2150, 1, 1, 19)),
        ("imaging report", datetime(2150, 1, 1, 11)),
        ("progress note", datetime(2150, 1, 1, 10)),
    ]
    assert stay.notes.order_by("pk")[0].kind == "progress note"
    note = find_note(stay)
    assert note is not None
    assert note.kind == "discharge summary"


@pytest.mark.django_db
def test_faults_are_stored_with_their_place_and_never_printed(tmp_path):
    canary = "QXCANARYQX"
    lactate = next(r for r in make_stay() if r.get("id") == "lactate-one")
    bad = [
        {**lactate, "effectiveDateTime": canary},
        {**lactate, canary: canary, "code": {"text": 5, canary: canary}},
        {**lactate, "encounter": {"reference": canary}},
    ]
    write_bundle(tmp_path / "b.json", [*make_stay(), *bad])
    (tmp_path / "c.ndjson").write_text(f"{canary}\n{json.dumps({'resourceType': canary})}\n")
    out = io.StringIO()
    with pytest.raises(CommandError, match="Some data was rejected"):
        call_command(
            "import_dataset", format="fhir", path=tmp_path, name="x", study="fhir", stdout=out,
            stderr=out,
        )  # fmt: skip
    first = len(make_stay())
    assert list(
        RejectedRow.objects.order_by("file", "pk").values_list("file", "line", "field")
    ) == [
        ("b.json", None, f"entry[{first}].resource.effectiveDateTime"),
        ("b.json", None, f"entry[{first + 1}].resource.code.text"),
        ("b.json", None, f"entry[{first + 2}].resource.encounter"),
        ("c.ndjson", 1, ""),
        ("c.ndjson", 2, "resourceType"),
    ]
    assert canary not in out.getvalue()
    assert RejectedRow.objects.filter(raw__contains=canary).count() == 5


@pytest.mark.django_db
def test_chosen_cases_and_limits(tmp_path, settings):
    resources = [*make_stay("one"), *make_stay("two", day="2150-02-01")]
    write_bundle(tmp_path / "b.json", resources)
    with pytest.raises(CommandError):
        bring(tmp_path, cases=["two", "three"])
    assert [e.case_id for e in Encounter.objects.all()] == ["two"]
    assert RejectedRow.objects.get().case_id == "three"
    Dataset.objects.all().delete()
    settings.IMPORT_CASE_ROWS = 5
    with pytest.raises(CommandError):
        bring(tmp_path)
    assert set(Encounter.objects.values_list("row_count", flat=True)) == {5}
    fields = RejectedRow.objects.values_list("field", flat=True)
    assert all(field.startswith("entry[") for field in fields)
