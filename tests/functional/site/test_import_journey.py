"""From the sign-in page to a reconstructed case, with a real worker."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from django.core.cache import cache
from playwright.sync_api import Page, expect

from accounts.models import Role
from ehr.models import Encounter
from tests import factories
from tests.import_fuzz.omop import make_omop as make_tables
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
    [(make_fhir, "FHIR R4"), (make_omop, "OMOP"), (make_notes, "Notes only")],
    ids=["fhir", "omop", "notes"],
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
    """Launch a run with default settings, and open its first case."""
    page.get_by_role("link", name="Launch a run").click()
    expect(page.locator("#id_dataset option:checked")).to_contain_text("export")
    page.get_by_role("button", name="Launch").click()
    expect(page.locator("#run-summary > .badge")).to_have_text("Done")
    page.locator("#stage-table tbody th a").first.click()
    expect(page.locator("main h1")).to_be_visible()
    assert "/cases/" in page.url


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
