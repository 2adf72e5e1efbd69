"""Compare record-wise reading of CSV with Python's csv module.

Text and blocks are random. Faults are tested with handwritten files.
"""

from __future__ import annotations

import csv
import gzip
import io
import random
import zlib
from pathlib import Path

import pytest

from ehr.formats import delimited as csv_blocks
from ehr.formats.base import WrongFile
from ehr.formats.delimited import read_csv_blocks
from ehr.formats.limits import Limits

PIECES = ["a", "1", ",", '"', "\n", "\r", '""', "é", " ", "\x00", ',"', '",']
Found = tuple[list[tuple[int, dict[str, str]]], list[tuple[int | None, str]], int]


def read(path: Path, content: bytes, **options) -> Found:
    """Return rows, rejections and the number of lines offered.

    Rows are (line, values), rejections (line, reason). Raises WrongFile.
    """
    path.write_bytes(content)
    rows: list[tuple[int, dict[str, str]]] = []
    rejected: list[tuple[int | None, str]] = []
    offered = 0
    for block in read_csv_blocks(path, "t.csv", ("a", "b"), ("c",), **options):
        rows += zip(block.lines.tolist(), block.columns.to_pylist(), strict=True)
        rejected += [(r.line, r.reason) for r in block.rejections]
        offered += block.offered
    return rows, rejected, offered


@pytest.mark.slow
def test_random_text_is_read_as_the_csv_module_reads_it_or_refused(tmp_path, monkeypatch):
    chance, whole, refused = random.Random(11), 0, []
    for _ in range(1500):
        text = "a,b,c\n" + "".join(chance.choice(PIECES) for _ in range(chance.randint(0, 25)))
        monkeypatch.setattr(csv_blocks, "BLOCK_BYTES", chance.choice([2, 7, 1 << 20]))
        try:
            rows, rejected, offered = read(tmp_path / "t.csv", text.encode())
        except WrongFile:
            refused.append(text)
            continue
        whole += 1
        reader, records, line = csv.reader(io.StringIO(text, newline=""), strict=True), [], 0
        for record in reader:
            records.append((line + 1, record))
            line = reader.line_num
        expected = [(at, record) for at, record in records[1:] if record]
        assert offered == len(expected)
        assert rows == [(at, dict(zip("abc", r, strict=True))) for at, r in expected if len(r) == 3]
        assert [at for at, _ in rejected] == [at for at, r in expected if len(r) != 3]
    assert whole > 200
    assert all('"' in text for text in refused)


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (b"", 1, "empty"),
        (b"a,c\n1,2\n", 1, "the column b is missing"),
        (b"a,b,a\n1,2,3\n", 1, "appears twice"),
        (b'a,b,c\n1,2,3\n4,5,"half a note', 3, "never closed"),
        (b'a,b,c\n1,"half a note,3\n4,"x y",6\n', 2, "not closed"),
        (b'a,b,c\n1,2 "x",3\n', 2, "not closed"),
        (b"a,b,c\n1,2,3\n4,\xff,6\n", 3, "not UTF-8"),
        (b'a,"b,c\n1,2,3\n', 1, "never closed"),
        (b"a\0,b\n", 1, "the column a is missing"),
        ("a,b,c\n".encode("utf-16"), 1, "not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_names_the_line(tmp_path, content, line, reason):
    for path in (tmp_path / "t.csv", tmp_path / "t.csv.gz"):
        with pytest.raises(WrongFile, match=reason) as caught:
            read(path, gzip.compress(content) if path.suffix == ".gz" else content)
        assert caught.value.rejection.line == line


def test_headers_are_read_as_csv_and_rows_after_line_breaks_know_their_line(tmp_path):
    content = (
        '\ufeffa,"b","x, y",c\r\n1,"two\r\n\r\nlines",,3\r\n\r\n4,5,6\r\n7,8,9,10\r\n'.encode()
    )
    rows, rejected, offered = read(tmp_path / "t.csv", content)
    assert rows == [
        (2, {"a": "1", "b": "two\r\n\r\nlines", "c": "3"}),
        (7, {"a": "7", "b": "8", "c": "10"}),
    ]
    assert (rejected, offered) == ([(6, "3 fields where the header has 4")], 3)
    assert read(tmp_path / "t.csv", content, closed=True)[1][0] == (
        1,
        "unknown columns in the header, not read: 1; the first is column 3",
    )


def test_limits(tmp_path):
    bomb = b"a,b\n" + b"0" * (64 << 20)
    with pytest.raises(WrongFile, match="IMPORT_EXPANSION"):
        read(tmp_path / "t.csv.gz", gzip.compress(bomb))
    with pytest.raises(WrongFile, match="longer than 16 MB") as caught:
        read(tmp_path / "t.csv", bomb)
    assert caught.value.rejection.line == 2
    with pytest.raises(WrongFile, match="IMPORT_CASE_BYTES"):
        read(tmp_path / "t.csv", b"a,b\n1,2\n", most_bytes=7)
    assert (
        read(
            tmp_path / "t.csv.gz",
            gzip.compress(b"a,b\n" + b"1,2\n" * 300_000),
            limits=Limits(expansion=2000),
        )[2]
        == 300_000
    )


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("t.csv.gz", b"a,b\n1,2\n", "is not gzipped"),
        # Arrow would read it, although it is not what the name says.
        ("t.csv.gz", zlib.compress(b"a,b\n1,2\n"), "is not gzipped"),
        ("t.csv", gzip.compress(b"a,b\n1,2\n", mtime=0), "its name must end in .gz"),
    ],
)
def test_a_file_is_packed_as_its_name_says(tmp_path, name, content, reason):
    with pytest.raises(WrongFile) as caught:
        read(tmp_path / name, content)
    assert reason in caught.value.rejection.reason
    assert caught.value.rejection.file == "t.csv"


def test_a_gzip_file_cut_anywhere_or_with_a_changed_byte_is_refused_or_whole(tmp_path):
    whole = gzip.compress(b"a,b,c\n" + b"".join(b"%d,x,y\n" % i for i in range(300)))
    for cut in range(1, len(whole), 7):
        with pytest.raises(WrongFile):
            read(tmp_path / "t.csv.gz", whole[:cut])
    for at in range(10, len(whole), 11):
        changed = whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]
        with pytest.raises(WrongFile):
            read(tmp_path / "t.csv.gz", changed)
