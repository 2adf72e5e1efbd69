"""Everything about one patient: exported, and deleted with a receipt."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from accounts.actions import add_role
from accounts.audit.trail import record
from accounts.models import AuditEvent, Role, Study
from accounts.permissions import NotAllowed
from adjudication.models import Decision, PacketItem, Slot
from adjudication.packets import actions as packets
from ehr.deletion import DeletionRefused
from ehr.models import DeletedStay, Encounter, ImportedPart, Note, RejectedRow, SourceRow
from ehr.patients.belongings import (
    APART,
    find_belongings,
    find_parts,
    find_references,
    find_rejected,
)
from ehr.patients.deletion import delete_patient
from ehr.patients.export import export_patient
from ehr.patients.finding import UnknownPatient
from llm_runtime.models import ModelCall, ModelRequestText
from llm_runtime.roles import ModelRoles
from tests import factories
from tests.paths import DEMO
from tests.worlds.authored import make_author, make_draft
from tests.worlds.judged import make_judged_world
from tests.worlds.reconstructed import LIGHT_ROLES, import_folder, run_inline
from tests.worlds.reviewed import ReviewedWorld, build_open_world, decide_all, uphold_finding
from timelines.models import Entry, StageRun, Timeline
from timelines.runs import tools

pytestmark = pytest.mark.django_db(transaction=True)

#: Patients of the cohort in `cohort`.
ADA, BOB = "10-ada", "20-bob"
#: Every column that may contain words.
_WORDS = """
SELECT table_name, column_name FROM information_schema.columns
WHERE table_schema = 'public' AND data_type IN ('text', 'character varying', 'jsonb', 'ARRAY')
"""


@pytest.fixture
def cohort(monkeypatch) -> Study:
    """A reconstructed stay of Ada, and one of Bob with a note."""
    monkeypatch.setattr(tools, "roles", lambda: ModelRoles(LIGHT_ROLES))
    dataset = import_folder(DEMO / "intro")
    run_inline(dataset)
    make_call(StageRun.objects.latest("pk"), "Ada's note was asked about")
    dataset.encounters.update(subject_key=ADA)
    other = factories.make_encounter(dataset, case_id="bob-1")
    Encounter.objects.filter(pk=other.pk).update(subject_key=BOB)
    factories.make_note(other, "Bob walked home.")
    RejectedRow.objects.create(
        dataset=dataset, case_id=dataset.encounters.get(subject_key=ADA).case_id, file="rows.csv",
        reason="no time", raw="Ada's row",
    )  # fmt: skip
    record(
        actor=None,
        study=dataset.study,
        action="case.open",
        object_type="ehr.encounter",
        object_id=dataset.encounters.get(subject_key=ADA).public_id,
    )
    return dataset.study


def make_call(stage: StageRun, body: str) -> ModelCall:
    """A call of a language model for the stage."""
    request = ModelRequestText.objects.create(sha256="ab", body=body)
    return ModelCall.objects.create(
        owner_type="timelines.stagerun",
        owner_id=str(stage.pk),
        role="tagger",
        request=request,
        attempt=1,
        seconds=0.1,
        outcome="failed",
    )


@pytest.fixture
def review() -> ReviewedWorld:
    """An open packet over two stays of one patient, with decisions."""
    world = build_open_world(make_judged_world(2), reviewers=1)
    Encounter.objects.update(subject_key=ADA)
    assert decide_all(world, world.reviewers[0], uphold_finding)
    return world


def read_lines(archive: zipfile.ZipFile, name: str) -> list[dict]:
    return [json.loads(line) for line in archive.read(name).splitlines()]


def test_an_export_has_everything_of_the_patient_and_nothing_of_others(cohort, tmp_path):
    [stay] = Encounter.objects.filter(subject_key=ADA)
    path = tmp_path / "ada.zip"
    made = export_patient(study=cohort, key=ADA, to=path, by=None)
    assert path.stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        [note] = Note.objects.filter(encounter=stay)
        assert archive.read(f"notes/{stay.public_id}-{note.pk}.txt").decode() == note.text
        rows = list(
            csv.DictReader(io.StringIO(archive.read(f"rows/{stay.public_id}.csv").decode()))
        )
        stored = SourceRow.objects.filter(encounter=stay).order_by("row_index")
        assert [row["event"] for row in rows] == list(stored.values_list("event", flat=True))
        entries = read_lines(archive, "tables/timelines_entry.jsonl")
        assert {entry["id"] for entry in entries} == set(Entry.objects.values_list("pk", flat=True))
        assert read_lines(archive, "tables/ehr_rejectedrow.jsonl")[0]["raw"] == "Ada's row"
        [call] = read_lines(archive, "tables/llm_runtime_modelcall.jsonl")
        [request] = read_lines(archive, "tables/llm_runtime_modelrequesttext.jsonl")
        assert (call["request_id"], request["body"]) == ("ab", "Ada's note was asked about")
        events = read_lines(archive, "audit.jsonl")
        assert {"case.open"} <= {event["action"] for event in events}
        counts = json.loads(archive.read("manifest.json"))
        everything = b"".join(archive.read(name) for name in names)
    assert counts == {"tables": made.tables, "withheld": 0}
    assert made.tables["ehr_encounter"] == made.stays == 1
    assert made.tables["ehr_sourcerow"] == len(rows) == stay.row_count
    assert made.tables["timelines_entry"] == len(entries) > 0
    assert b"bob" not in everything
    assert "README.txt" in names

    event = AuditEvent.objects.get(action="patient.export")
    assert event.detail["sha256"] == made.sha256
    assert ADA not in str(event.detail)
    opened = AuditEvent.objects.get(action="case.export")
    assert (opened.object_id, opened.detail) == (stay.public_id, {"format": "patient"})


def test_no_table_of_a_stay_is_forgotten(cohort):
    """Each table with a column `encounter_id` is read, or listed as apart."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT table_name FROM information_schema.columns c JOIN pg_class p"
            " ON p.relname = c.table_name WHERE column_name = 'encounter_id' AND NOT relispartition"
            " AND table_schema = 'public'"
        )
        tables = {name for (name,) in cursor.fetchall()}
    referring = {field.model._meta.db_table for field in find_references(Encounter)}
    apart = {model._meta.db_table for model in APART}
    # Its foreign key has the dataset too, in SQL; rows are found by their candidate and case run.
    assert tables - apart - {"timelines_evidence"} <= referring
    assert "cohorts_windowmember" in referring
    assert Timeline in find_belongings(Encounter.objects.filter(subject_key=ADA))


def test_rejected_lines_of_another_patient_with_the_same_case_id_are_not_theirs():
    study = factories.make_study()
    one, two = factories.make_dataset(study), factories.make_dataset(study)
    stays = [(one, "7", ADA), (two, "7", BOB), (two, "8", ADA)]
    for dataset, case_id, key in stays:
        factories.make_encounter(dataset, case_id=case_id)
        Encounter.objects.filter(dataset=dataset, case_id=case_id).update(subject_key=key)
        RejectedRow.objects.create(dataset=dataset, case_id=case_id, file="r.csv", raw=key)
        ImportedPart.objects.create(dataset=dataset, key=f"case:{case_id}", sha256="ab")
    ours = Encounter.objects.filter(subject_key=ADA)
    assert set(find_rejected(ours).values_list("raw", flat=True)) == {ADA}
    parts = find_parts(ours).values_list("dataset", "key")
    assert set(parts) == {(one.pk, "case:7"), (two.pk, "case:8")}


def test_answers_of_open_packets_are_left_out_until_they_are_closed(review, tmp_path):
    study = review.judged.study
    made = export_patient(study=study, key=ADA, to=tmp_path / "open.zip", by=None)
    hidden = Decision.objects.filter(item__isnull=False).count() + Slot.objects.count()
    assert made.withheld >= hidden > 0
    with zipfile.ZipFile(tmp_path / "open.zip") as archive:
        assert read_lines(archive, "tables/adjudication_decision.jsonl") == []
        assert read_lines(archive, "tables/adjudication_slot.jsonl") == []
        assert (
            len(read_lines(archive, "tables/adjudication_packetitem.jsonl"))
            == PacketItem.objects.count()
        )
    packets.close_packet(packet=review.packet, by=review.admin)
    closed = export_patient(study=study, key=ADA, to=tmp_path / "closed.zip", by=review.admin)
    assert closed.withheld == 0
    assert (
        closed.tables["adjudication_decision"]
        == Decision.objects.filter(item__isnull=False).count()
    )


def test_stays_that_are_closed_to_the_admin_are_left_out(review, tmp_path):
    study, reviewer = review.judged.study, review.reviewers[0]
    with pytest.raises(NotAllowed):
        export_patient(study=study, key=ADA, to=tmp_path / "no.zip", by=reviewer)
    assert not (tmp_path / "no.zip").exists()
    add_role(study=study, user=reviewer, role=Role.ADMIN, by=None)
    made = export_patient(study=study, key=ADA, to=tmp_path / "none.zip", by=reviewer)
    assert (made.stays, made.closed) == (0, 2)
    assert made.tables.get("ehr_note", 0) == 0
    assert not AuditEvent.objects.filter(action="case.export", actor=reviewer).exists()
    with pytest.raises(NotAllowed, match="closed to you"):
        delete_patient(study=study, key=ADA, by=reviewer)


def test_a_deleted_patient_is_gone_and_the_receipt_proves_it(cohort, tmp_path):
    [stay] = Encounter.objects.filter(subject_key=ADA)
    note, rows, case_id = stay.notes.get(), stay.row_count, stay.case_id
    make_draft(stay, make_author(stay))
    with pytest.raises(DeletionRefused, match="1 authored timeline"):
        delete_patient(study=cohort, key=ADA, by=None)
    refused = AuditEvent.objects.get(action="patient.delete_refused")
    assert refused.detail["authored timelines"] == 1
    assert stay.notes.exists()

    out, path = StringIO(), tmp_path / "receipt.json"
    options = {"study": cohort.name, "key": ADA, "receipt": path, "delete_authored": True}
    call_command("delete_patient", **options, stdout=out)
    receipt = json.loads(path.read_text())
    assert receipt["stays"] == [
        {
            "public_id": stay.public_id,
            "source_sha256": stay.source_sha256,
            "notes_sha256": [note.sha256],
            "rows": rows,
        }
    ]
    assert receipt["deleted"]["ehr_sourcerow"] == rows
    assert receipt["deleted"]["ehr_note"] == receipt["deleted"]["ehr_rejectedrow"] == 1
    assert receipt["deleted"]["timelines_entry"] > 0
    assert receipt["deleted"]["llm_runtime_modelcall"] == 1
    assert receipt["remaining"] == {}
    traces = {
        trace["words"].split(",")[0].split(" that ")[0]: trace["count"]
        for trace in receipt["traces"]
    }
    assert traces["events of the audit trail"] > 1
    assert traces["digests"] == DeletedStay.objects.filter(case=stay.public_id).count() == 2
    assert "ehr_note: 1 deleted, 0 left" in out.getvalue()

    event = AuditEvent.objects.get(action="patient.delete")
    assert f"receipt SHA-256 {event.detail['receipt_sha256']}" in out.getvalue()
    assert not SourceRow.objects.filter(encounter_id=stay.pk).exists()
    assert not RejectedRow.objects.exists()
    assert not ModelRequestText.objects.exists()
    assert [e.subject_key for e in Encounter.objects.all()] == [BOB]
    assert find_words(ADA) == find_words(note.text) == set()
    assert find_words(case_id) <= {("timelines_runpreparation", "cursor")}


def find_words(words: str) -> set[tuple[str, str]]:
    """Return the columns of the database that contain these words."""
    found = set()
    with connection.cursor() as cursor:
        cursor.execute(_WORDS)
        for table, column in cursor.fetchall():
            cursor.execute(
                f'SELECT EXISTS (SELECT FROM "{table}" WHERE position(%s IN "{column}"::text) > 0)',
                [words],
            )
            if cursor.fetchone()[0]:
                found.add((table, column))
    return found


def test_what_is_in_a_packet_is_not_deleted(review, tmp_path):
    path = tmp_path / "receipt.json"
    with pytest.raises(CommandError, match="findings in review packets"):
        call_command("delete_patient", study=review.judged.study.name, key=ADA, receipt=path)
    assert not path.exists()
    assert Encounter.objects.filter(subject_key=ADA).count() == 2


@pytest.mark.parametrize("key", ["", "nobody"])
def test_an_unknown_patient_is_not_repeated(cohort, tmp_path, key):
    for call in (
        lambda: export_patient(study=cohort, key=key, to=tmp_path / "x.zip", by=None),
        lambda: delete_patient(study=cohort, key=key, by=None),
    ):
        with pytest.raises(UnknownPatient) as caught:
            call()
        assert "nobody" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_commands_say_what_is_wrong(cohort, tmp_path):
    path = tmp_path / "x.zip"
    out = StringIO()
    call_command("export_patient", study=cohort.name, key=ADA, to=path, stdout=out)
    assert out.getvalue().startswith("1 stay, ")
    assert "left out: 0 closed stays, 0 rows of packets that are not closed" in out.getvalue()
    for options, words in (
        ({"study": "none"}, "no study of that name"),
        ({"by": "none"}, "no person of that name"),
        ({"key": "none", "to": tmp_path / "y.zip"}, "no stay with this patient key"),
        ({}, r"x\.zip: File exists\. Choose a new file"),
    ):
        with pytest.raises(CommandError, match=words):
            call_command(
                "export_patient", **{"study": cohort.name, "key": ADA, "to": path} | options
            )
    for options, words in (
        ({"study": "none"}, "no study of that name"),
        ({"receipt": path}, r"x\.zip: File exists"),
        ({"key": "none"}, "Not deleted: The study has no stay"),
    ):
        chosen = {"study": cohort.name, "key": ADA, "receipt": tmp_path / "r.json"} | options
        with pytest.raises(CommandError, match=words):
            call_command("delete_patient", **chosen)
    assert list(tmp_path.iterdir()) == [Path(path)]
