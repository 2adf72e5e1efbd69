"""Files cut off or with changed bytes are reported.

Readers neither crash nor silently accept a timeline that lost an occurrence.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.timelines.formats.foreign_cases import Book, case_lines, read
from tests.unit.timelines.formats.test_imports_round_trip import FORMATS, write
from timelines.formats.lines import Line

NOTE = 'Fever 😀 on Monday.\r\nNo chest pain | "later" ceftriaxone.'


def _line(uid: str, words: str | None, time: float | None) -> Line:
    start = NOTE.index(words) if words else None
    end = None if start is None or words is None else start + len(words)
    return Line(
        "a",
        "s",
        "text_only",
        1,
        uid,
        words or "loose",
        start,
        end,
        time,
        time,
        time,
        True,
        (),
        (),
        "absent",
        "lab",
        words,
        (0,),
        "why",
    )


CASE = case_lines(
    "a",
    NOTE,
    [
        (
            _line("0001", "Fever 😀", -72.0),
            _line("0002", "chest pain", None),
            _line("0003", None, 4.5),
        )
    ],
)


def _files(format: str) -> dict[str, bytes]:
    with TemporaryDirectory() as folder:
        write(format, [CASE], Path(folder))
        return {
            str(p.relative_to(folder)): p.read_bytes()
            for p in sorted(Path(folder).rglob("*"))
            if p.is_file() and ".dictionary" not in p.name
        }


FILES = {format: _files(format) for format in FORMATS}


def _read(format: str, files: dict[str, bytes]):
    with TemporaryDirectory() as folder:
        for name, data in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return read(
            format, Path(folder) / "t.meds" if format == "meds" else Path(folder), Book(a=NOTE)
        )


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_changed_bytes_are_reported_or_read_but_never_crash(format, data):
    files = dict(FILES[format])
    name = data.draw(st.sampled_from(sorted(files)))
    content = bytearray(files[name])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, max(len(content) - 1, 0)))
        content[place : place + data.draw(st.integers(0, 3))] = data.draw(
            st.binary(max_size=4) | st.sampled_from([b"|", b'"', b"<", b"\n", b"9" * 30])
        )
    found, faults = _read(format, files | {name: bytes(content)})
    assert all(NOTE[:5] not in f.words() for f in faults)
    assert all(e.end is None or e.end <= len(NOTE) for f in found for e in f.events)


@pytest.mark.parametrize("format", ["parquet", "doccano", "label_studio", "i2b2"])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_cut_off_file_gives_no_timeline(format, data):
    name, content = next(
        (name, data) for name, data in FILES[format].items() if not name.endswith(".config.xml")
    )
    found, faults = _read(
        format, {name: content[: data.draw(st.integers(1, len(content.rstrip()) - 1))]}
    )
    assert faults
    assert not found
