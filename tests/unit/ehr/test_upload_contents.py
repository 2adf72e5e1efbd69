"""Files that are not what their names say, and what a scanner says."""

import gzip
import logging
import sys

import pytest

from ehr.uploads.content import KINDS, check_content
from ehr.uploads.names import UploadRefused
from ehr.uploads.scanner import FOUND, NOT_SCANNED, scan


def write(folder, name, content):
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("note.txt", b"Admission\n"),
        ("note.txt", b""),
        ("note.txt", b"MZ is how this note begins"),
        ("latin.csv", "é".encode("latin-1")),
        ("wide.txt", "text".encode("utf-16")),
        ("rows.csv.gz", gzip.compress(b"a,b\n1,2\n")),
        ("empty.csv.gz", gzip.compress(b"")),
        ("rows.parquet", b"PAR1....PAR1"),
        ("letter.rtf", b"{\\rtf1 text}"),
        ("README", b"text"),
        # No import reads them; the page says so.
        ("scan.PDF", b"%PDF-1.7"),
        ("inner.zip", b"PK\x03\x04"),
    ],
)
def test_what_imports_read(tmp_path, name, content):
    check_content(write(tmp_path, name, content), name)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("note.txt", b"\x7fELF\x02\x01", "is a program"),
        ("note.txt", b"MZ\x90\x00\x03\x00\x00\x00", "is a program"),
        ("note.txt", b"#!/bin/sh\nrm -r x\n", "is a script"),
        ("note.txt", b"%PDF-1.7", "is a PDF"),
        ("note.txt", gzip.compress(b"x"), "is gzip"),
        ("rows.csv", b"PAR1....PAR1", "is Parquet"),
        ("rows.csv.gz", b"a,b\n", "is text by its first bytes"),
        ("rows.csv.gz", gzip.compress(b"a,b\n" * 99)[:12], "damaged"),
        ("rows.csv.gz", gzip.compress(b"\x7fELF\x02"), "has a program inside"),
        ("rows.csv.gz", gzip.compress(b"MZ\x90\x00\x03\x00"), "has a program inside"),
        ("rows.parquet", b"a,b\n", "is text"),
        ("rows.parquet", b"PK\x03\x04", "is a zip"),
        ("rows.parquet", b"", "is text"),
        ("scan.pdf", b"\x89PNG", "is an image"),
        ("scan.pdf", b"\x7fELF", "is a program"),
        ("setup.exe", b"text", "by its name"),
        ("RUN.BAT", b"text", "by its name"),
    ],
)
def test_what_is_refused(tmp_path, name, content, words):
    with pytest.raises(UploadRefused, match=words) as refused:
        check_content(write(tmp_path, name, content), f"folder/{name}")
    assert f"folder/{name}" in str(refused.value)


def test_every_kind_is_refused_as_a_text(tmp_path):
    for start in (start for kind in KINDS for start in kind.starts):
        with pytest.raises(UploadRefused):
            check_content(write(tmp_path, "a.txt", start + b"\x00" * 60), "a.txt")


@pytest.fixture
def scanner(settings, tmp_path):
    """Return a function that installs a scanner which looks for a word."""

    def install(body):
        script = write(tmp_path, "scanner.py", body.encode())
        settings.UPLOAD_SCANNER = f"{sys.executable} {script} --quiet"
        folder = tmp_path / "files"
        folder.mkdir(exist_ok=True)
        return folder

    return install


FAKE = """
import pathlib, sys
assert sys.argv[1] == "--quiet"
files = [p for p in pathlib.Path(sys.argv[2]).rglob("*") if p.is_file()]
print("PATIENT TEXT")
sys.exit(any(b"harmful" in p.read_bytes() for p in files))
"""


def test_files_are_scanned(scanner):
    folder = scanner(FAKE)
    write(folder, "a.txt", b"fine")
    scan(folder)
    write(folder, "b.txt", b"harmful")
    with pytest.raises(UploadRefused) as refused:
        scan(folder)
    assert str(refused.value) == FOUND


@pytest.mark.parametrize("body", ["import sys; sys.exit(2)", "import time; time.sleep(60)"])
def test_a_scanner_that_fails_lets_nothing_pass(scanner, settings, caplog, body):
    settings.UPLOAD_SCANNER_SECONDS = 1
    with caplog.at_level(logging.WARNING), pytest.raises(UploadRefused) as refused:
        scan(scanner(body))
    assert str(refused.value) == NOT_SCANNED
    assert "scanner of uploads ended" in caplog.text


@pytest.mark.parametrize("command", ["/no/such/command", '"'])
def test_a_scanner_that_is_not_there_lets_nothing_pass(settings, tmp_path, command):
    settings.UPLOAD_SCANNER = command
    with pytest.raises(UploadRefused, match="could not be scanned"):
        scan(tmp_path)


def test_without_a_scanner_nothing_runs(settings, tmp_path):
    settings.UPLOAD_SCANNER = ""
    scan(tmp_path)
