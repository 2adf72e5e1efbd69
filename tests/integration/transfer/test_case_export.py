"""One timeline of a case as a file, from its page and from the API."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.test import Client
from pypdf import PdfReader

from accounts.models import AuditEvent, Role
from ehr.models import Note
from tests import factories
from tests.functional.cases.case_world import MARKUP, NOTE, build_world
from tests.support.api import ApiClient
from tests.worlds.corrected import make_corrected_world
from timelines.access.authoring import was_exposed
from timelines.cases.exporting.formats import FORMATS
from timelines.curation.corrections import Corrected, correct
from timelines.formats.dictionary import fields
from timelines.models import Timeline
from timelines.pipeline.uids import unescape_mention

pytestmark = pytest.mark.django_db

#: Words of the note that no mention, reason or query repeats.
UNQUOTED = "She remained in the unit"


@pytest.fixture
def world():
    return build_world()


@pytest.fixture
def fetch(world, client):
    client.force_login(world.clinician)

    def fetch(format: str, **query: str) -> bytes:
        answer = client.get(f"{world.address}export/{format}/", query)
        assert answer.status_code == 200
        name = answer["Content-Disposition"].partition('filename="')[2]
        assert name.startswith(f"timeline-{world.encounter.public_id}-")
        return answer.content

    return fetch


def read_csv(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def read_lines(content: bytes) -> list[dict]:
    return [json.loads(line) for line in content.decode().split("\n") if line]


def read_pdf(content: bytes) -> str:
    (page,) = PdfReader(io.BytesIO(content)).pages
    return " ".join(page.extract_text().split())


def test_every_occurrence_is_in_every_format_once(world, fetch):
    mentions = [o.mention for o in world.occurrences.values()]
    uids = [o.uid4 for o in world.occurrences.values()]
    for text, has_text in (({}, False), ({"text": "1"}, True)):
        table = read_csv(fetch("csv", **text))
        assert list(table[0]) == [f.name for f in fields(with_note_text=has_text)]
        assert [row["uid4"] for row in table] == uids
        assert {(row["kind"], row["alternative"]) for row in table} == {("revised", "1")}
        lines = read_lines(fetch("jsonl", **text))
        assert [line["mention"] for line in lines] == mentions
        bundle = json.loads(fetch("fhir", **text))
        coded = [
            entry["resource"]["identifier"][0]["value"].partition("/")[2]
            for entry in bundle["entry"]
            if "/" in entry["resource"].get("identifier", [{"value": ""}])[0]["value"]
        ]
        assert coded == uids
        page = read_pdf(fetch("pdf", **text))
        assert all(m in page for m in mentions if m != world.occurrences["markup"].mention)
        assert "Intracerebral haemorrhage on an anticoagulant" in page


def test_the_record_changed_the_time_and_every_format_says_by_which_row(world, fetch):
    uid = world.uid("andexanet")
    (line,) = [line for line in read_lines(fetch("jsonl")) if line["uid4"] == uid]
    chain = line["chain"]
    assert (line["time"], chain["final"]["time"], chain["final"]["rows"]) == (6.5, 6.5, [0])
    assert (chain["uid4"], chain["first_estimate"]["time"]) == (uid, 1.5)
    (query,) = chain["queries"]
    assert query["text"] == "andexanet alfa reversal agent administration"
    assert [(s["dense_rank"], s["kept"]) for s in query["series"]] == [(1, True), (2, False)]
    (row,) = chain["rows"]
    assert (row["event"], row["hours"], row["query"]) == ("med:andexanet alfa:start", 6.5, 0)
    entries = [entry["resource"] for entry in json.loads(fetch("fhir"))["entry"]]
    place = next(
        n
        for n, r in enumerate(entries)
        if r.get("identifier", [{}])[0].get("value", "").endswith(f"/{uid}")
    )
    given, provenance = entries[place : place + 2]
    assert given["resourceType"] == "MedicationAdministration"
    assert given["effectiveDateTime"].endswith("Z")
    assert [(e["role"], e["what"]["identifier"]["value"]) for e in provenance["entity"]][1:] == [
        ("source", f"{world.encounter.public_id}/0")
    ]
    assert "Record: andexanet alfa started" in read_pdf(fetch("pdf"))


def test_without_note_text_no_file_quotes_the_note(world, fetch):
    span = world.occurrences["ct"]
    sentence = "Head CT showed a large left thalamic hemorrhage with intraventricular extension."
    assert sentence in NOTE
    for format in FORMATS:
        content = fetch(format)
        shown = read_pdf(content) if format == "pdf" else content.decode()
        assert UNQUOTED not in shown
        assert sentence not in shown
        assert world.encounter.subject_key == "" or world.encounter.subject_key not in shown
    chains = read_lines(fetch("jsonl", text="1"))
    (line,) = [line for line in chains if line["uid4"] == span.uid4]
    assert line["chain"]["span"]["sentence"] == sentence
    assert line["span_text"] == NOTE[span.start : span.end]
    assert all("sentence" not in (x["chain"]["span"] or {}) for x in read_lines(fetch("jsonl")))


def test_a_spreadsheet_calculates_no_cell_and_markup_stays_text(world, fetch):
    (row,) = [r for r in read_csv(fetch("csv")) if r["uid4"] == world.uid("markup")]
    assert unescape_mention(row["mention"]) == MARKUP
    inventory = factories.make_inventory(world.note)
    sum_ = factories.make_occurrence(inventory, "Fell", mention="=SUM(A1)", uid4="cccc")
    made = factories.make_timeline(inventory, {sum_: -1.0}, source="elsewhere")
    (row,) = read_csv(fetch("csv", t=made.public_id))
    assert row["mention"] == "'=SUM(A1)"


def test_each_timeline_of_the_case_can_be_chosen(world, fetch):
    for timeline in (world.text_only, world.second, world.reference):
        rows = read_csv(fetch("csv", t=timeline.public_id))
        assert {(r["kind"], r["alternative"]) for r in rows} == {
            (timeline.kind, str(timeline.alternative))
        }
        for format in FORMATS:
            assert fetch(format, t=timeline.public_id) == fetch(format, t=timeline.public_id)
    person = json.loads(fetch("fhir", t=world.reference.public_id))
    assert not [e for e in person["entry"] if e["resource"]["resourceType"] == "Device"]


def test_the_trail_names_the_file_and_the_reader_is_exposed(world, fetch):
    assert not was_exposed(world.clinician, world.encounter)
    fetch("pdf", text="1")
    event = AuditEvent.objects.get(action="case.export")
    assert (event.object_id, event.actor) == (world.encounter.public_id, world.clinician)
    assert event.detail == {"format": "pdf", "timeline": world.revised.public_id, "text": True}
    assert was_exposed(world.clinician, world.encounter)


def test_unknown_formats_other_cases_timelines_and_changed_notes_are_refused(world, client):
    client.force_login(world.clinician)
    address = f"{world.address}export/"
    assert client.get(f"{address}docx/").status_code == 404
    assert client.get(f"{address}csv/", {"t": "a" * 12}).status_code == 404
    bare = factories.make_encounter(world.encounter.dataset, case_id="bare")
    assert client.get(f"/cases/{bare.public_id}/export/csv/").status_code == 404
    factories.change_past_guards(Note.objects.filter(pk=world.note.pk), text=f"X{NOTE}")
    changed = client.get(f"{address}csv/")
    assert changed.status_code == 500
    assert UNQUOTED not in changed.content.decode()
    assert not AuditEvent.objects.filter(action="case.export").exists()


def test_the_api_serves_the_same_files_to_a_token(world, fetch):
    reader = ApiClient(world.clinician)
    path = f"cases/{world.encounter.public_id}/export"
    for format in ("csv", "jsonl", "fhir"):
        answer = reader.client.get(f"/api/{path}/{format}/?text=1", headers=reader.headers)
        assert answer.content == fetch(format, text="1")
    pdf = reader.client.get(f"/api/{path}/pdf/", headers=reader.headers)
    assert pdf["Content-Type"] == "application/pdf"
    assert pdf.content == fetch("pdf")
    outsider = ApiClient(factories.make_user(factories.make_study("Other"), Role.CLINICIAN))
    assert outsider.get(f"{path}/csv/")[0] == 404
    assert Client().get(f"/api/{path}/csv/").status_code == 401
    factories.change_past_guards(Note.objects.filter(pk=world.note.pk), text=f"X{NOTE}")
    assert reader.get(f"{path}/csv/")[0] == 409


def test_the_curated_timeline_names_who_corrected_what(client):
    world = make_corrected_world()
    for occurrence, what in (
        (world.vancomycin, Corrected("+6.25", rows=[1], reason="The second dose was first.")),
        (world.fever, Corrected(not_happened=True, reason="Another patient.")),
    ):
        correct(base=world.base, occurrence=occurrence, what=what, by=world.anna)
    curated = Timeline.objects.get(source="curated:rules")
    client.force_login(world.boris)
    address = f"/cases/{world.encounter.public_id}/export"

    def fetch(format: str) -> bytes:
        return client.get(f"{address}/{format}/", {"t": curated.public_id}).content

    (drug,) = [x for x in read_lines(fetch("jsonl")) if x["uid4"] == world.vancomycin.uid4]
    assert (drug["source"], drug["time"], drug["rows"]) == ("curated:rules", 6.25, [1])
    assert drug["chain"]["first_estimate"]["time"] == 1.5
    entries = [entry["resource"] for entry in json.loads(fetch("fhir"))["entry"]]
    agents = [
        (r["agent"][0]["type"]["coding"][0]["code"], r["agent"][0]["who"].get("display"))
        for r in entries
        if r["resourceType"] == "Provenance"
    ]
    assert agents == [("author", "anna"), ("author", "anna"), ("assembler", None)]
    (fever,) = [r for r in entries if r.get("code", {}).get("text") == "fever"]
    assert fever["valueCodeableConcept"]["coding"][0]["display"] == "Absent"
    page = read_pdf(fetch("pdf"))
    assert "✓" in page
    assert "Clinician: The second dose was first." in page
    assert "fever (absent)" in page
