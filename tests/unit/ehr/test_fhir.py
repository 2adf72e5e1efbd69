"""FHIR R4: what resources become, and what does not change it.

The example resources are those of HL7 (tests/data/ehr/README.md).
"""

from __future__ import annotations

import gzip
import json
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehr.formats.base import FormatError
from ehr.formats.fhir.bundles import EntryCutter
from ehr.formats.fhir.elements import SHAPE_ERRORS, Fault
from ehr.formats.fhir.notes import find_kind
from ehr.formats.fhir.reader import Fhir
from ehr.formats.fhir.references import Names
from ehr.formats.fhir.rows import READERS
from ehr.formats.fhir.texts import Places, read_attachments
from ehr.formats.fhir.times import read_moment
from ehr.formats.fhir.validation import find_fault
from ehr.formats.mimic_iv.reader import MimicIV
from ehr.formats.stream import NoteBlock, StreamSource
from tests.paths import DATA
from tests.worlds.fhir_exports import (
    concept,
    encode,
    make_stay,
    write_bulk,
    write_bundle,
    write_lines,
    write_mimic,
)

EHR = DATA / "ehr"
Row = tuple[object, ...]


def read_rows(source: StreamSource) -> list[Row]:
    """Return (case, time, event, value, unit, kind, result time, source)."""
    cases = [e.case_id for e in source.encounters().encounters]
    found = []
    for file in source.files():
        for block in file.blocks():
            if isinstance(block, NoteBlock):
                continue
            for place, row in zip(block.encounters.tolist(), block.rows.to_pylist(), strict=True):
                kept = ("time", "event", "value", "unit", "time_kind", "result_time", "source")
                found.append((cases[place], *(row[name] for name in kept)))
    return sorted(found, key=lambda row: (row[0], str(row[1] or ""), row[2:]))


def read_notes(source: StreamSource) -> set[tuple[str, str, datetime | None, str]]:
    """Return (case, kind, time, text) of each note."""
    cases = [e.case_id for e in source.encounters().encounters]
    blocks = [b for file in source.files() for b in file.blocks() if isinstance(b, NoteBlock)]
    notes = [(cases[p], n) for block in blocks for p, _, n in block.notes]
    return {(case, n.kind, n.charted_at, n.text) for case, n in notes}


def read_faults(source: StreamSource) -> list[tuple[str, int | None, str, str]]:
    """Return (file, line, path, reason) of every rejection."""
    listed = source.encounters()
    rejections = [*listed.rejections, *listed.refused]
    for file in source.files():
        rejections += [r for block in file.blocks() for r in block.rejections]
    return [(r.file, r.line, r.field, r.reason) for r in rejections]


def import_one(tmp_path: Path, *changed: dict[str, object]) -> Fhir:
    """Return the source of a stay with more resources."""
    write_lines(tmp_path / "all.ndjson", [*make_stay(), *changed])
    return Fhir(tmp_path)


def test_a_stay_becomes_the_rows_of_every_resource(tmp_path):
    source = import_one(tmp_path)
    (stay,) = source.encounters().encounters
    assert (stay.case_id, stay.subject_key) == ("one", "p-one")
    assert (stay.admitted_at, stay.discharged_at) == (
        datetime(2150, 1, 1, 8),
        datetime(2150, 1, 1, 20),
    )
    assert [
        (time and f"{time:%H:%M}", event, value, unit, kind, result and f"{result:%H:%M}")
        for _, time, event, value, unit, kind, result, _ in read_rows(source)
    ] == [
        (None, "patient:gender:", "female", "", "unknown", None),
        ("08:00", "admission:inpatient encounter:", "", "", "administrative", None),
        ("08:00", "transfer:medical ward:", "", "", "administrative", None),
        ("09:00", "transfer:inpatient acute:in", "", "", "administrative", None),
        ("09:10", "diagnosis:sepsis:", "A41.9", "", "charted", None),
        ("09:15", "order:chest x-ray:start", "active", "", "order", None),
        ("09:20", "procedure:intubation:start", "", "", "performed", None),
        ("09:25", "procedure:intubation:end", "", "", "performed", None),
        ("09:30", "order:heparin:start", "", "", "order", None),
        ("09:40", "order:heparin:dispensed", "80", "mg", "administrative", None),
        ("09:45", "med:heparin:administered", "80", "mg", "administration", None),
        ("10:00", "lab:blood specimen:collected", "", "", "collection", None),
        ("10:00", "lab:lactate:blood", "4.1", "mmol/L", "collection", "10:40"),
        ("10:05", "vital:diastolic:", "70", "", "charted", None),
        ("10:05", "vital:systolic:", "120", "", "charted", None),
        ("12:00", "transfer:inpatient acute:out", "", "", "administrative", None),
        ("20:00", "admission:discharge:home", "", "", "administrative", None),
    ]
    sources = {row[-1] for row in read_rows(source)}
    assert {"Observation loinc 2524-7", "MedicationRequest loinc 5224"} <= sources
    assert read_notes(source) == {
        ("one", "discharge summary", datetime(2150, 1, 1, 19), "Note of one.\nDischarged."),
        ("one", "imaging report", datetime(2150, 1, 1, 11), "No bleed, one\n"),
    }
    assert read_faults(source) == []


@pytest.mark.parametrize("form", ["bulk", "gz", "bundle", "pretty", "halves"])
def test_the_form_of_an_export_changes_nothing(form, tmp_path):
    """Bulk or Bundle, gzipped or not, in one file or several."""
    resources = [*make_stay("one"), *make_stay("two", day="2150-03-01", ended=False)]
    write_lines(tmp_path / "plain" / "all.ndjson", resources)
    root = tmp_path / form
    if form in ("bulk", "gz"):
        write_bulk(root, resources, suffix=".ndjson.gz" if form == "gz" else ".ndjson")
    elif form == "halves":
        write_bundle(root / "a" / "Bundle.json.gz", resources[::2])
        write_lines(root / "b.jsonl", resources[1::2][::-1])
    else:
        write_bundle(root / "Bundle.json", resources, indent=2 if form == "pretty" else None)
    plain, other = Fhir(tmp_path / "plain"), Fhir(root)
    assert read_rows(other) == read_rows(plain)
    assert read_notes(other) == read_notes(plain)
    reasons = [sorted(reason for *_, reason in read_faults(s)) for s in (other, plain)]
    assert reasons[0] == reasons[1]


@pytest.mark.parametrize("offset", ["Z", "+14:00", "-05:30", ""])
def test_an_offset_never_shifts_a_clock_time(offset, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    write_lines(here / "all.ndjson", make_stay())
    text = (here / "all.ndjson").read_text()
    there.mkdir()
    (there / "all.ndjson").write_text(text.replace("+02:00", offset))
    assert text != (there / "all.ndjson").read_text()
    assert read_rows(Fhir(there)) == read_rows(Fhir(here))


@pytest.mark.parametrize(
    ("text", "time", "day"),
    [
        ("2150-01-31T08:30:00.1234567-04:00", datetime(2150, 1, 31, 8, 30, 0, 123456), False),
        ("2150-01-31T23:59:59Z", datetime(2150, 1, 31, 23, 59, 59), False),
        ("2150-01-31", datetime(2150, 1, 31), True),
        ("2150-01", None, False),
        ("2150", None, False),
    ],
)
def test_times_by_hand(text, time, day):
    assert read_moment({"at": text}, "at") == (time, day)


@pytest.mark.parametrize(
    "text",
    ["2150-02-30", "2150-1-1", "20500101", "2150-01-01T24:00:00Z", "2150-01-01T08:00:00+15:00",
     "2150-13", "0000", "2150-01-01 08:00:00", "2150-01-01T08:00:00+02:00 ", "x" * 100_000],
)  # fmt: skip
def test_what_is_no_time(text):
    with pytest.raises(Fault):
        read_moment({"at": text}, "at")


def test_resources_without_an_encounter_are_assigned_by_patient_and_time(tmp_path):
    def measure(day: str, patient: str = "p-one") -> dict[str, object]:
        return {
            "resourceType": "Observation",
            "status": "final",
            "code": concept(f"At {day}"),
            "subject": {"reference": f"https://ehr.example/fhir/Patient/{patient}/_history/3"},
            "effectiveDateTime": day,
            "valueString": "x",
        }

    others = [
        measure("2150-01-01T12:00:00Z"),  # in the stay
        measure("2150-01-01"),  # on its only day
        measure("2150-01-02T00:00:00Z"),  # after it
        measure("2150-01-01T12:00:00Z", "nobody"),
        measure("2150-01"),  # a month says no stay
        {**measure("2150-02-01T12:00:00Z", "p-two")},  # in one of two stays
        {**measure("2150-02-01T09:30:00Z", "p-two")},  # in both
        measure("2150-04-02T00:00:00Z", "p-three"),  # after an admission without discharge
    ]
    second = {**make_stay("two", day="2150-02-01")[1], "id": "again"}
    second["period"] = {"start": "2150-02-01T09:00:00Z", "end": "2150-02-01T10:00:00Z"}
    stays = [
        *make_stay("two", day="2150-02-01")[:2],
        second,
        *make_stay("three", day="2150-04-01", ended=False)[:2],
    ]
    source = import_one(tmp_path, *stays, *others)
    rows = {
        (case, event, unit)
        for case, _, event, _, unit, *_ in read_rows(source)
        if " 2150" in event or "at 2" in event
    }
    assert rows == {
        ("one", "chart:at 2150-01-01t12 00 00z:", ""),
        ("one", "chart:at 2150-01-01:", "date only"),
        ("two", "chart:at 2150-02-01t12 00 00z:", ""),
    }
    first = 1 + len(make_stay()) + len(stays)
    assert [(line, path, reason) for _, line, path, reason in read_faults(source)] == [
        (first + 4, "encounter", "neither an encounter nor a time says which stay it is of"),
        (first + 6, "encounter", "no encounter is named, and the patient has several then"),
        (first + 7, "encounter", "no encounter is named, and the stay then has no discharge"),
    ]


@pytest.mark.parametrize(
    ("element", "value", "path", "reason"),
    [
        ("encounter", {"reference": "Encounter/lost"}, "encounter", "does not have"),
        ("subject", {"reference": "Patient/p-other"}, "subject", "not the patient"),
        ("effectiveDateTime", "2150-02-31", "effectiveDateTime", "not a date and time"),
        ("code", "Lactate", "code", "not an object"),
        ("valueQuantity", {"value": "4.1 mmol"}, "valueQuantity.value", "not valid R4"),
        ("component", [{"code": {"text": 5}}], "component[0].code.text", "not a text"),
        ("code", {"text": "x" * 2_100}, "code", "longer than"),
        ("code", {"text": "a\x00b"}, "", "NUL"),
    ],
)  # fmt: skip
def test_a_fault_is_named_by_line_and_path(element, value, path, reason, tmp_path):
    good = next(r for r in make_stay() if r.get("id") == "lactate-one")
    bad = {**good, "id": "bad", element: value}
    for entries in (False, True):
        root = tmp_path / str(entries)
        resources = [*make_stay(), bad]
        if entries:
            write_bundle(root / "b.json", resources)
        else:
            write_lines(root / "b.ndjson", resources)
        ((file, line, field, why),) = read_faults(Fhir(root))
        place = f"entry[{len(resources) - 1}].resource"
        expected = f"{place}.{path}".removesuffix(".") if entries else path
        assert (file, line, field) == (
            ("b.json", None, expected) if entries else ("b.ndjson", len(resources), path)
        )
        assert reason in why


def test_stays_that_cannot_be_taken_are_named(tmp_path):
    encounter = make_stay()[1]
    wrong = [
        {**encounter, "id": "one"},
        {**encounter, "id": "late", "period": {"start": "2150-01-02", "end": "2150-01-01"}},
        {**encounter, "id": "never", "period": {}},
        {**encounter, "id": "whose", "subject": {}},
        {**encounter, "id": "lost", "partOf": {"reference": "Encounter/nothing"}},
        {**encounter, "id": "self", "partOf": {"reference": "Encounter/self"}},
        {key: value for key, value in encounter.items() if key != "id"},
    ]
    planned = {**encounter, "id": "planned", "status": "planned"}
    source = import_one(tmp_path, planned, *wrong)
    assert [e.case_id for e in source.encounters().encounters] == ["one"]
    first = len(make_stay()) + 2
    faults = {line: (path, reason) for _, line, path, reason in read_faults(source) if line}
    assert faults == {
        first: ("id", "the encounter appears twice"),
        first + 1: ("period.end", "before the start"),
        first + 2: ("period.start", "the time of admission is missing"),
        first + 3: ("subject", "the stay names no patient"),
        first + 4: ("partOf", "names an encounter that the input does not have"),
        first + 5: ("partOf", "the encounter is part of itself"),
        first + 6: ("id", "missing"),
    }


RTF = rb"{\rtf1\ansi\deff0 {\b Discharge} caf\'e9\par Second line}"
PAGE = "<html><head><title>no</title></head><body><h1>Caf&eacute;</h1><p>a<br>b</p><script>no"


@pytest.mark.parametrize(
    ("attachment", "text"),
    [
        ({"contentType": "text/plain", "data": encode("\ufeffCafé\r\n a")}, "Café\r\n a"),
        ({"data": encode("Café")}, "Café"),
        (
            {
                "contentType": "text/plain; charset=ISO-8859-1",
                "data": encode("Café".encode("latin1")),
            },
            "Café",
        ),
        ({"contentType": "text/html", "data": encode(PAGE)}, "Café\n\na\nb\n"),
        ({"contentType": "application/rtf", "data": encode(RTF)}, "Discharge café\nSecond line"),
        ({"data": encode(RTF)}, "Discharge café\nSecond line"),
        ({"contentType": "text/plain", "url": "notes/a%20b.txt"}, "A file."),
        ({"contentType": "text/plain", "url": "https://ehr.example/Binary/b1"}, "A Binary."),
    ],
)
def test_texts_of_attachments(attachment, text, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a b.txt").write_text("A file.")
    names = Names()
    names.add("Binary/b1", json.dumps({"contentType": "text/plain", "data": encode("A Binary.")}))
    pdf = {"contentType": "application/pdf", "data": "JVBERi0="}
    assert read_attachments([pdf, attachment], "content", Places(names, [tmp_path])) == text


@pytest.mark.parametrize(
    "attachment",
    [
        {"contentType": "application/pdf", "data": "JVBERi0="},
        {"contentType": "text/plain", "data": "not base64!"},
        {"contentType": "text/plain", "data": encode(b"\xff")},
        {"contentType": "text/plain; charset=utf-7", "data": encode("x")},
        {"contentType": "text/rtf", "data": encode("plain")},
        {"contentType": "text/plain", "data": encode(" \n")},
        {"contentType": "text/plain", "data": encode("a\x00b")},
        {"contentType": "text/plain", "url": "../secret.txt"},
        {"contentType": "text/plain", "url": "/etc/hostname"},
        {"contentType": "text/plain", "url": "https://ehr.example/notes/1"},
        {"contentType": "text/plain", "url": "a\x00b"},
        {"contentType": "text/plain"},
    ],
)
def test_attachments_that_are_no_text(attachment, tmp_path):
    (tmp_path / "secret.txt").write_text("Not of this export.")
    (tmp_path / "export").mkdir()
    with pytest.raises(Fault):
        read_attachments([attachment], "content", Places(Names(), [tmp_path / "export"]))


def test_kinds_of_documents():
    assert find_kind(concept("A note", "18842-5")) == "discharge summary"
    assert find_kind(concept("Social Worker NOTE with many words after its forty", "1-8")) == (
        "social worker note with many words after"
    )
    assert find_kind(None) == "other note"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=4) | st.just("entry"), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.dictionaries(st.text(max_size=4), JSON, max_size=3), max_size=4),
    st.dictionaries(st.text(max_size=6), JSON, max_size=3),
    st.integers(1, 40),
    st.booleans(),
    st.sampled_from([None, 2]),
)
def test_entries_are_cut_as_json_reads_them(entries, others, size, ascii_only, indent):
    """Chunks of any size give the entries that JSON's own reader finds."""
    others.pop("entry", None)
    document = {**others, "resourceType": "Bundle", "entry": entries}
    data = json.dumps(document, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "replace")
    cutter, found = EntryCutter(), []
    for start in range(0, len(data), size):
        found += cutter.feed(data[start : start + size])
    assert [json.loads(entry or b"") for entry in found] == json.loads(data)["entry"]
    rest = json.loads(cutter.skeleton)
    assert rest.pop("entry") == [0] * len(entries)
    assert rest == {k: v for k, v in json.loads(data).items() if k != "entry"}


def test_the_examples_of_hl7_by_hand():
    """One line for each row of the examples of the R4 package."""
    lines = []
    for path in sorted((EHR / "fhir" / "r4").glob("*.json")):
        resource = json.loads(path.read_text())
        assert find_fault(resource) is None, path.name
        if resource["resourceType"] in READERS:
            for fact in READERS[resource["resourceType"]](resource, Names()):
                time = fact.moment.time
                shown = (
                    "-" if time is None else f"{time:%F}" if fact.moment.day else f"{time:%F %R}"
                )
                parts = (path.stem, shown, fact.kind.value, fact.event, fact.value, fact.unit)
                lines.append(" | ".join((*parts, fact.codes)))
    expected = (EHR / "fhir" / "r4" / "rows.txt").read_text().splitlines()
    assert lines == expected


def test_the_synthea_excerpt_is_taken_whole():
    source = Fhir(EHR / "fhir" / "synthea")
    listed = source.encounters()
    assert len(listed.encounters) == 5
    assert set(listed.unread_files) == {"log.ndjson", "AllergyIntolerance.000.ndjson"}
    assert read_faults(source) == []
    rows, notes = read_rows(source), read_notes(source)
    count = {  # lines of the files, counted with grep
        "procedure:": 2 * 23, "order:": 24, "diagnosis:": 4, "transfer:": 5, "patient:gender:": 5,
    }  # fmt: skip
    for event, number in count.items():
        assert sum(str(row[2]).startswith(event) for row in rows) == number, event
    assert len(notes) == 5
    assert {kind for _, kind, *_ in notes} == {"history and physical", "emergency note"}


def test_mimic_iv_on_fhir_gives_the_rows_of_mimic_iv(tmp_path):
    """The same excerpt through both formats: the same stays and the same rows."""
    write_mimic(tmp_path / "fhir", EHR / "mimic_iv")
    fhir, plain = Fhir(tmp_path / "fhir"), MimicIV(EHR / "mimic_iv")
    stays = [
        sorted((e.case_id, e.subject_key, e.admitted_at, e.discharged_at) for e in listed)
        for listed in (fhir.encounters().encounters, plain.encounters().encounters)
    ]
    assert stays[0] == stays[1]
    compared = ("lab:", "output:", "icu:", "diagnosis:")
    found, expected = (
        {
            # Without the source; both write the same number in their own way.
            (case, time, event, float(value) if unit else value, unit, kind, result)
            for case, time, event, value, unit, kind, result, source in read_rows(s)
            if str(event).startswith(compared)
            and source != "drgcodes"
            and not str(event).endswith("specimen:collected")
        }
        for s in (fhir, plain)
    )
    # The visit to the emergency department is not in this excerpt, so a value taken there without
    # an admission is of no stay.
    early = {row for row in expected if row[2] == "lab:lactate:blood" and row[3] == 5.0}
    assert len(early) == 1
    assert found == expected - early
    assert len(found) > 20


def test_half_a_file_is_refused_whole(tmp_path):
    write_bundle(tmp_path / "whole.json", make_stay("one"))
    whole = (tmp_path / "whole.json").read_bytes()
    for end in range(1, len(whole) - 1, 97):
        (tmp_path / "whole.json").write_bytes(whole[:end])
        source = Fhir(tmp_path)
        assert not source.encounters().encounters
        ((file, line, _, reason),) = read_faults(source)
        assert (file, line, reason) == ("whole.json", 1, "the file is not JSON, or cut short")
    with pytest.raises(FormatError):
        Fhir(tmp_path / "nothing")


@pytest.mark.deep
def test_no_example_of_r4_has_an_unforeseen_shape(tmp_path):
    """Change each element to another type: a row, or a named fault."""
    for path in sorted((EHR / "fhir" / "r4").glob("*.json")):
        resource = json.loads(path.read_text())
        reader = READERS.get(resource["resourceType"])
        for name in list(resource):
            for value in (None, 5, "x", [], {}, [5], [{}], {"x": 1}, True):
                changed = {**resource, name: value}
                if reader and name != "resourceType":
                    try:
                        reader(changed, Names())
                    except (Fault, *SHAPE_ERRORS):
                        continue


@pytest.mark.parametrize(
    ("entries", "path", "reason"),
    [
        ("[[]]", "entry[0].resource", "not an entry of a Bundle"),
        ("[5]", "entry", "no list of objects"),
        ('{"resource": {}}', "entry", "no list of objects"),
        ('[{"resource": {}}]', "entry[0].resource", "not a FHIR resource"),
        ('[{"resource": null}]', "entry[0].resource", "not a FHIR resource"),
        ('[{"resource": {"resourceType": "Bundle"}}]', "entry[0].resource", "its own .json file"),
        ('[{}], "entry": [{}]', "entry", "appear twice"),
    ],
)
def test_entries_that_are_none(entries, path, reason, tmp_path):
    text = f'{{"resourceType": "Bundle", "type": "collection", "entry": {entries}}}'
    (tmp_path / "b.json").write_text(text)
    ((file, _, field, why),) = read_faults(Fhir(tmp_path))
    assert (file, field) == ("b.json", path)
    assert reason in why


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.ndjson", b"", "empty"),
        ("a.ndjson", json.dumps(make_stay()[0]).encode("utf-16"), "not UTF-8"),
        ("a.ndjson.gz", b"{}", "damaged"),
        ("a.ndjson", gzip.compress(b"{}", mtime=0), "must end in .gz"),
        ("a.ndjson.gz", gzip.compress(b"{}" * 500, mtime=0)[:-9], "damaged"),
        ("a.json", b'{"resourceType": "Patient"}\n{"resourceType": "Patient"}', ".ndjson"),
        ("a.json", b"[]", "not a FHIR resource"),
        ("a.ndjson.gz", gzip.compress(b" " * 40_000_000, mtime=0), "times as large"),
    ],
)
def test_files_that_are_refused_whole(name, content, reason, tmp_path):
    write_bulk(tmp_path, make_stay())
    (tmp_path / name).write_bytes(content)
    source = Fhir(tmp_path)
    assert len(source.encounters().encounters) == 1
    ((file, _, _, why),) = read_faults(source)
    assert file == name
    assert reason in why
