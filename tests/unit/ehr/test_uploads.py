"""Names and archives that are refused, each with a sentence."""

from __future__ import annotations

import io
import stat
import zipfile
from pathlib import Path

import pytest

from ehr.formats.limits import Limits
from ehr.uploads.archive import Room, is_zip, unpack
from ehr.uploads.names import UploadRefused, check_name
from ehr.uploads.reasons import FORMULA, _cells

ROOM = Room(files=5, bytes=50_000_000)
LIMITS = Limits(expansion=200)


@pytest.mark.parametrize("name", ["a.txt", "hosp/admissions.csv.gz", "é/ü (1).json", "a/.hidden"])
def test_plain_names(name):
    assert check_name(name).as_posix() == name


@pytest.mark.parametrize(
    "name",
    [
        "", "/etc/passwd", "../a", "a/../../b", "a//b", "./a", "a/.", "a\\b", "C:\\a", "C:a",
        "a\x00b", "a\nb", "a\u202eb", " a", "a /b", "a/", "x" * 201, "/".join("a" * 13), "ä" * 101,
        "/".join(["x" * 90] * 6),
    ],
)  # fmt: skip
def test_odd_names_are_refused(name):
    with pytest.raises(UploadRefused) as error:
        check_name(name)
    assert str(error.value).endswith((".", "taken."))
    assert "\x00" not in str(error.value)


def make_zip(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def open_zip(tmp_path: Path, path: Path, room: Room = ROOM) -> dict[str, bytes]:
    folder = tmp_path / "out"
    folder.mkdir()
    unpack(path, folder, room, LIMITS)
    files = [p for p in folder.rglob("*") if p.is_file()]
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in files}


def test_a_plain_zip(tmp_path):
    files = {"a/b.txt": b"one", "c.json": b"{}", "__MACOSX/c.json": b"x", "a/.DS_Store": b"x"}
    path = make_zip(tmp_path / "z", files)
    assert is_zip(path)
    assert open_zip(tmp_path, path) == {"a/b.txt": b"one", "c.json": b"{}"}


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"../out.txt": b"x"}, "leads outside"),
        ({"/abs.txt": b"x"}, "not relative"),
        ({"a\\b.txt": b"x"}, "not relative"),
        ({"a.txt": b"x", "A.TXT": b"y"}, "twice"),
        ({"a": b"x", "a/b": b"y"}, "a file and a folder"),
        ({f"{i}.txt": b"x" for i in range(6)}, "more than 5 files"),
        ({"zeros": bytes(40_000_000)}, "200 times as large"),
        ({"a": bytes(50_000_001)}, "bytes unpacked"),
        ({"__MACOSX/a": b"x"}, "has no file"),
        ({}, "has no file"),
    ],
)
def test_archives_that_are_refused(tmp_path, files, words):
    path = make_zip(tmp_path / "z", files)
    with pytest.raises(UploadRefused, match=words):
        open_zip(tmp_path, path)
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_devices_are_refused(tmp_path, kind):
    entry = zipfile.ZipInfo("link.txt")
    entry.create_system, entry.external_attr = 3, (kind | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "z", "w") as archive:
        archive.writestr(entry, "/etc/passwd")
    with pytest.raises(UploadRefused, match="no regular file"):
        open_zip(tmp_path, tmp_path / "z")


def test_an_encrypted_zip_is_refused(tmp_path):
    path = make_zip(tmp_path / "z", {"a": b"x"})
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(UploadRefused, match="encrypted"):
        open_zip(tmp_path, path)


def test_sizes_that_the_archive_states_wrongly_are_counted(tmp_path):
    """The directory states 10 bytes for a file of 40 million."""
    path = make_zip(tmp_path / "z", {"a": bytes(40_000_000)})
    data = bytearray(path.read_bytes())
    place = data.index(b"PK\x01\x02")
    data[place + 24 : place + 28] = (10).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(UploadRefused):
        open_zip(tmp_path, path)


def test_damaged_zips_are_refused(tmp_path):
    whole = make_zip(tmp_path / "z", {"a": b"one two three" * 100, "b": b"x"}).read_bytes()
    refused = 0
    for cut in range(4, len(whole), 7):
        for content in (whole[:cut], whole[:cut] + b"\xff\xff" + whole[cut + 2 :]):
            path, folder = tmp_path / "d", tmp_path / f"out{cut}{len(content)}"
            path.write_bytes(content)
            folder.mkdir()
            try:
                unpack(path, folder, ROOM, LIMITS)
            except UploadRefused:
                refused += 1
    assert refused > len(whole) / 10


def test_reasons_are_no_formulas():
    assert set(FORMULA) <= set("=+-@")
    assert _cells("=cmd", 3, "", "-1", "the line") == ("'=cmd", "3", "", "'-1", "the line")
    assert _cells("a\x00", None, "", "", "x")[0] == "a\\0"
    assert io.StringIO(_cells("\ud800", None, "", "", "x")[0]).read() == "\\ud800"
