"""From the sign-in page to a reconstructed case, with a real worker."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from playwright.sync_api import Page, expect

from accounts.models import Role, Study, User
from ehr.models import Encounter, ImportJob, Upload
from jobs.models import JobState
from tests import factories
from tests.functional.site.test_pages import assert_accessible
from tests.import_fuzz.omop import make_omop as make_tables
from tests.marks import deep
from tests.support.windows import collect_complaints
from tests.worlds.fhir_exports import make_stay, write_bulk
from tests.worlds.reconstructed import LIGHT_ROLES

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

NOTE = "She fell at home and had a fever. She was given heparin on arrival.\n"
WORKER = ["-m", "celery", "--app", "config", "worker", "--pool", "threads", "--concurrency", "2"]
QUEUES = ["--queues", "ingest,pipeline,embed", "--without-gossip", "--without-mingle"]


@pytest.fixture
def worker(process_environment):
    """Start a worker of every queue that the rules need."""
    environment = {**process_environment, "MODEL_ROLES": json.dumps(LIGHT_ROLES)}
    process = subprocess.Popen(
        [sys.executable, *WORKER, *QUEUES],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    yield process
    process.kill()
    process.wait()


def pack(folder: Path, place: Path) -> Path:
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder.parent))
    return place


def make_fhir(root: Path) -> list[Path]:
    write_bulk(root / "fhir", make_stay("one"), suffix=".ndjson.gz")
    return [pack(root / "fhir", root / "fhir.zip")]


def make_omop(root: Path) -> list[Path]:
    make_tables(root / "omop")
    return [pack(root / "omop", root / "omop.zip")]


def make_notes(root: Path) -> list[Path]:
    names = ("1__2150-01-01T08-00__ed note.txt", "1__2150-01-02T09-00__progress note.txt")
    for number, name in enumerate(names):
        (root / name).write_text(f"Note {number}. {NOTE}", encoding="utf-8")
    return [root / name for name in names]


@pytest.mark.parametrize(
    ("make", "format"),
    [
        pytest.param(make_fhir, "FHIR R4", id="fhir"),
        pytest.param(make_omop, "OMOP", id="omop", marks=pytest.mark.deep),
        pytest.param(make_notes, "Notes only", id="notes", marks=pytest.mark.deep),
    ],
)
def test_from_files_to_a_case(worker, live_server, page, tmp_path, make, format, complaints):
    cache.clear()
    admin = factories.make_user(factories.make_study("ward"), Role.ADMIN)
    collect_complaints(page, complaints)
    page.goto(f"{live_server.url}/sign-in/")
    page.get_by_label("Name").fill(admin.username)
    page.get_by_label("Password", exact=True).fill(factories.PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Import a dataset").first.click()
    page.get_by_label("Files or one zip").set_input_files(make(tmp_path))
    page.get_by_role("button", name="Bring and check").click()
    expect(page.get_by_text("Nothing is stored yet.")).to_be_visible()
    expect(page.get_by_text(format, exact=False).first).to_be_visible()
    page.get_by_label("Name of the dataset").fill("export")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", name="imported into export")).to_be_visible()
    launch_and_open(page)
    assert Encounter.objects.filter(dataset__name="export").exists()
    assert complaints == []


def launch_and_open(page: Page) -> None:
    """Launch a run with default settings, and open its first case.

    The run's page asks until the run has ended.
    """
    page.get_by_role("link", name="Launch a run").click()
    expect(page.locator("#id_dataset option:checked")).to_contain_text("export")
    page.get_by_role("button", name="Launch").click()
    expect(page.locator("#run-summary > .badge")).to_have_text("Done")
    expect(page.locator("#run-announce")).to_have_text("Done")
    assert page.locator("#run-summary").get_attribute("hx-get") is None
    expect(page.locator("#stage-table")).to_contain_text("occurrences")
    page.locator("#stage-table tbody th a").first.click()
    page.wait_for_selector("#case[data-ready]")
    expect(page.locator("main h1")).to_be_visible()
    assert "/cases/" in page.url
    page.locator(".seg").first.click()
    expect(page.locator("#chain-pane h2")).to_be_visible()


def test_files_of_a_dropped_folder_are_sent_with_their_paths(enter, page, world, complaints):
    """The script names files as in the folder, and shows a refusal."""
    admin = factories.make_user(world.study, Role.ADMIN)
    enter(page, admin, "/imports/new/")
    expect(page.get_by_text("drop files and folders here")).to_be_visible()
    page.evaluate(
        """() => {
          const file = (name) => ({ isFile: true, name,
            file: (done) => done(new File(["x"], name)) });
          const folder = (name, parts) => ({ isFile: false, name, createReader: () => ({
            readEntries: (done) => done(parts.splice(0, 1)) }) });
          const hosp = folder("hosp", [file("admissions.csv"), file("patients.csv")]);
          const drop = new Event("drop", { bubbles: true, cancelable: true });
          drop.dataTransfer = { items: [{ webkitGetAsEntry: () => folder("mimic", [hosp]) }] };
          document.getElementById("drop").dispatchEvent(drop);
        }"""
    )
    expect(page.locator("#bring-chosen")).to_have_text("2 files, 0.0 MB")
    page.get_by_role("button", name="Bring and check").click()
    expect(page.get_by_role("heading", level=1, name="mimic")).to_be_visible()
    expect(page.get_by_text("the admissions of MIMIC-IV")).to_be_visible()
    page.goto(page.url.rsplit("/imports/", 1)[0] + "/imports/new/")
    refused = {"name": "a\\b.txt", "mimeType": "text/plain", "buffer": b"x"}
    page.get_by_label("Files or one zip").set_input_files([refused])
    page.get_by_role("button", name="Bring and check").click()
    expect(page.locator("#bring-refusal")).to_contain_text("is not relative")
    expect(page.get_by_role("button", name="Bring and check")).to_be_enabled()
    assert [words for words in complaints if "422" not in words] == []


def test_a_folder_is_chosen_by_the_keyboard_and_sent_with_its_paths(enter, page, world, tmp_path):
    (tmp_path / "mimic" / "hosp").mkdir(parents=True)
    (tmp_path / "mimic" / "hosp" / "admissions.csv").write_text("subject_id\n")
    enter(page, factories.make_user(world.study, Role.ADMIN), "/imports/new/")
    page.get_by_label("Files or one zip").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_label("Or a folder with everything in it")).to_be_focused()
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Enter")
    chooser.value.set_files(tmp_path / "mimic")
    expect(page.locator("#bring-chosen")).to_contain_text("mimic/hosp/admissions.csv")
    page.get_by_role("button", name="Bring and check").click()
    expect(page.get_by_role("heading", level=1, name="mimic")).to_be_visible()
    expect(page.get_by_text("the admissions of MIMIC-IV")).to_be_visible()


WIDTHS = (1440, 820, 390)


@pytest.mark.parametrize("theme", ["light", *deep("dark")])
def test_axe_finds_nothing_on_pages_of_imports(enter, live_server, page, world, theme):
    """A check with faults, an ended import, lists and a deletion."""
    admin = factories.make_user(world.study, Role.ADMIN)
    checked = make_upload(world.study, admin, "csv", ImportJob.Kind.CHECK, CHECKED)
    imported = make_upload(world.study, admin, "text", ImportJob.Kind.IMPORT, IMPORTED)
    uploads = [f"/imports/{upload.public_id}/" for upload in (checked, imported)]
    deletion = f"/datasets/{world.encounter.dataset.public_id}/delete/"
    enter(page, admin, "/imports/")
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    for path in ("/imports/", "/imports/new/", *uploads, deletion):
        page.goto(f"{live_server.url}{path}")
        page.evaluate("document.querySelectorAll('main details').forEach((d) => (d.open = true))")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert_accessible(page)


STAY = {"case_id": "1", "title": "", "admitted": "2150-01-01 08:00", "discharged": ""}
EVENT = {"event": "lab:lactate:blood", "kind": "unknown", "source": "labs", "rows": 3}
FAULT = {"file": "c1.csv", "line": "3", "field": "t", "case_id": "1", "reason": "no time"}
CHECKED: dict[str, Any] = {
    "stays": 1, "notes": 0, "rows": 3, "faults": 1, "first": [STAY | {"notes": 0, "rows": 3}],
    "names": [{"name": "charttime", "meaning": "t"}], "unknown": [EVENT], "events": [EVENT],
    "unknown_count": 1, "unknown_rows": 3, "event_count": 1, "first_faults": [FAULT],
    "missing": ["encounters.csv"], "unread": ["x.pdf"],
}  # fmt: skip
IMPORTED: dict[str, Any] = {"imported": 1, "unchanged": 0, "refused": 1, "rows": 3, "faults": 1}
IMPORTED |= {"first_faults": [FAULT], "missing": ["concept"]}


def make_upload(study: Study, by: User, format: str, kind: str, result: dict[str, Any]) -> Upload:
    """An upload with one job that has ended."""
    upload = Upload.objects.create(study=study, title="ward.zip", format=format, created_by=by)
    dataset = factories.make_dataset(study, f"{format} of the ward")
    ImportJob.objects.create(
        upload=upload,
        kind=kind,
        format=format,
        name=dataset.name if kind == ImportJob.Kind.IMPORT else "",
        dataset=dataset,
        state=JobState.SUCCEEDED,
        result=result,
        created_by=by,
    )
    return upload
