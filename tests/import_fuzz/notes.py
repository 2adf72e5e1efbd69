"""A small folder of notes, and what a reader of a few lines makes of it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from pathlib import Path

from ehr.formats.base import EncounterRecord, Rejection
from tests.import_fuzz import oracle

INDEX = (
    "file,case_id,written_at,kind,admitted_at,discharged_at,title\n"
    "a__20500101T0830__ed note.txt,a,2050-01-01T08:30:00+01:00,ED note,2050-01-01 08:00,,\n"
    'a__2050-01-05T09-00.txt,a,2050-01-05 09:00,,,2050-01-05T10:00,"Sepsis, again"\n'
    "b__20500201__consult.txt,b,2050-02-01,consult,,,\n"
    "c.txt,c,,,2050-03-01T10:00:00Z,,\n"
)
NOTES = {
    "a__20500101T0830__ed note.txt": "An ED note.",
    "a__2050-01-05T09-00.txt": "Étude.\r\nTwo lines.",
    "b__20500201__consult.txt": "A consult.",
    "c.txt": "A discharge summary.",
}


def make_text(root: Path) -> None:
    """Three stays with an index: two notes, a lone consult, one plain."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "index.csv").write_text(INDEX)
    for name, text in NOTES.items():
        (root / name).write_bytes(text.encode())


def check_stays(
    root: Path,
    found: Collection[EncounterRecord],
    rejections: Collection[Rejection],
    unread: Collection[str],
) -> dict[str, str]:
    """Check that every file is of a stay or named; return file → stay.

    A stay has every note that is named as its own, and its time zero is the one that the index
    gives, or the first time of a note.
    """
    indexes = [p for p in root.iterdir() if p.name.lower() in ("index.csv", "index.csv.gz")]
    notes = {p.name for p in root.iterdir() if p.suffix == ".txt" and p.name[0] != "."}
    taken = {e.case_id: e for e in found}
    named = {r.file for r in rejections}
    cases = {oracle.trim(r.case_id) for r in rejections}
    for path in set(root.iterdir()) - set(indexes):
        assert path.name in notes or path.name in unread, path.name
    if not indexes:
        owners = {name: name.removesuffix(".txt").split("__")[0] for name in notes}
        for name, case in owners.items():
            assert case in taken or f"note/{name}" in named or case in cases, name
        for case, e in taken.items():
            assert e.anchor == "presentation", case
        return owners
    (index,) = indexes
    (_, header), *lines = oracle.records(index)
    rows = [dict(zip(map(str.strip, header), map(oracle.trim, f), strict=True)) for _, f in lines]
    owners = {row["file"]: row["case_id"] for row in rows}
    assert notes - owners.keys() <= {file.removeprefix("note/") for file in named}
    for row in rows:
        assert row["case_id"][:100] in taken.keys() | cases
    for case, e in taken.items():
        mine = [row for row in rows if row["case_id"] == case]
        assert {row["file"] for row in mine} <= notes
        admitted = {_time(row, "admitted_at") for row in mine} - {None}
        written = {
            _time(row, "written_at")
            for row in mine
            if row.get("kind", "").lower() not in ("", "discharge summary")
        }
        assert {e.admitted_at} == (admitted or {min(filter(None, written))})
        assert (e.anchor == "admission") == bool(admitted)
        left = {_time(row, "discharged_at") for row in mine} - {None}
        assert {e.discharged_at} - {None} == left
    return {file: case for file, case in owners.items() if case in taken}


def _time(row: dict[str, str], column: str) -> datetime | None:
    text = row.get(column, "")
    time = oracle.read_time(text)
    assert time is not None or not text, "a stay with a time that cannot be read"
    return time
