"""Compare the importer's readers with the oracle, line by line.

Offered = stored + rejected (+ left out, with a reason).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa

from ehr.formats.base import CaseRecord, EncounterRecord, FormatError, Rejection, WrongFile
from ehr.formats.cases import case_folders, read_case
from ehr.formats.csv.reader import PlainRows, parse_case_id
from ehr.formats.fhir.reader import Fhir
from ehr.formats.meds.reader import Meds
from ehr.formats.mimic_iv.reader import MimicIV
from ehr.formats.omop.reader import Omop
from ehr.formats.stream import NoteBlock, StreamBlock, StreamFile, StreamSource
from ehr.formats.text import TextNotes
from tests.import_fuzz import fhir_oracle, omop, oracle
from tests.import_fuzz import notes as note_folders
from tests.import_fuzz.oracle import Unreadable

#: What was read: cases taken, rows of each, notes, and every rejection; the whole command must say
#: the same.
Outcome = tuple[dict[str, int], int, int]
#: A reason is a sentence; text of the input would make it longer, or differ with it.
LONGEST_REASON = 400
LISTINGS = ("encounters.csv", "encounters.csv.gz")
#: The time by which a line without an admission belongs to a stay; "" for a table without one.
TIME_COLUMNS = {
    "hosp/admissions": "admittime",
    "hosp/diagnoses_icd": "",
    "hosp/labevents": "charttime",
    "hosp/emar": "charttime",
    "hosp/omr": "chartdate",
    "icu/chartevents": "charttime",
}
SOURCES: dict[str, Callable[[Path], StreamSource]] = {
    "csv": PlainRows,
    "mimic_iv": MimicIV,
    "meds": Meds,
    "omop": Omop,
    "text": TextNotes,
    "fhir": Fhir,
}


def read_outcome(format: str, root: Path) -> Outcome:
    """Return (rows of each case, notes, rejections) after all checks.

    Raises AssertionError if a line is neither stored nor accounted for.
    """
    try:
        if format == "cases":
            return _cases(root)
        return _stream(
            SOURCES[format](root),
            root,
            {
                "csv": _csv_file,
                "mimic_iv": _mimic_file,
                "meds": _meds_file,
                "omop": omop.check_file,
                "text": _text_file,
                "fhir": fhir_oracle.check_file,
            }[format],
        )
    except (FormatError, WrongFile):
        return {}, 0, 1


def _check_rejections(rejections: Collection[Rejection]) -> None:
    for r in rejections:
        assert r.file
        assert r.reason
        assert r.line is None or r.line >= 1
        assert len(r.reason) < LONGEST_REASON, "a reason quotes the input"


def _find_place(rejection: Rejection, file: StreamFile, *, header: bool) -> int | None:
    """Return the line or entry that a rejection names, None for a header."""
    if file.entries or fhir_oracle.find_entry(rejection) is not None:
        return fhir_oracle.find_entry(rejection)
    return rejection.line if rejection.line and rejection.line > header else None


def _cases(root: Path) -> Outcome:
    rows: dict[str, int] = {}
    rejections = notes = 0
    for folder in case_folders(root):
        case = read_case(folder)
        _check_rejections(case.rejections)
        if case.encounter is None:
            assert case.rejections
            rejections += len(case.rejections)
        elif case.encounter.case_id in rows:
            rejections += len(case.rejections) + 1
        else:
            _case(folder, case, case.encounter)
            rows[case.encounter.case_id] = 0 if case.rows is None else len(case.rows)
            rejections += len(case.rejections)
            notes += len(case.notes)
    return rows, notes, rejections


def _case(folder: Path, case: CaseRecord, encounter: EncounterRecord) -> None:
    data = json.loads((folder / "encounter.json").read_text(encoding="utf-8-sig"))
    assert str(data["case_id"]) == encounter.case_id
    assert _local(data["admitted_at"]) == encounter.admitted_at
    assert (
        _local(data["discharged_at"]) if data.get("discharged_at") else None
    ) == encounter.discharged_at
    assert (data.get("title") or "") == encounter.title
    texts = [folder / "note.txt", *(folder / "notes").glob("[!.]*")]
    assert {n.text for n in case.notes} == {p.read_bytes().decode() for p in texts if p.is_file()}
    assert case.rows is not None
    files = [p for n in ("rows.csv", "rows.csv.gz", "rows.parquet") if (p := folder / n).is_file()]
    if not files:
        assert not any(p.name.lower().startswith("rows.") for p in folder.iterdir())
        assert not len(case.rows)
        return
    (file,) = files
    good, bad = oracle.read_rows(file)
    order = sorted([*good, *bad])
    assert case.offered == len(order)
    stored = {order[row["row_index"]]: row for row in case.rows.to_pylist()}
    _check_same_rows(stored, good, exact=_is_text(file))
    assert {
        r.line
        for r in case.rejections
        if r.file.startswith(f"{folder.name}/rows") and r.line and r.line > 1
    } == bad


def _local(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=None)


def _is_text(file: Path) -> bool:
    return file.suffix != ".parquet" or all(
        pa.types.is_string(kind) for kind in oracle.read_table(file).schema.types
    )


def _check_same_rows(
    stored: dict[int, dict[str, object]], good: oracle.Rows, *, exact: bool
) -> None:
    assert stored.keys() == good.keys()
    for line, row in stored.items() if exact else ():
        t, *texts = good[line]
        assert row["time"] == (oracle.read_time(t) if t else None)
        assert [
            oracle.trim(str(row[c])) for c in ("event", "value", "unit", "source", "time_kind")
        ] == texts


def _stream(source: StreamSource, root: Path, check_file) -> Outcome:
    listed = source.encounters()
    cases = [e.case_id for e in listed.encounters]
    assert len(set(cases)) == len(cases)
    rejections = [*listed.rejections, *listed.refused]
    counts, notes = np.zeros(len(cases), np.int64), 0
    texts: set[tuple[int, object]] = set()
    if isinstance(source, PlainRows):
        _csv_encounters(root, listed.encounters, rejections, listed.unread_files)
    if isinstance(source, MimicIV):
        _mimic_encounters(root, listed.encounters, rejections)
    if isinstance(source, Omop):
        omop.check_visits(root, listed.encounters, rejections)
    if isinstance(source, TextNotes):
        owners = note_folders.check_stays(root, listed.encounters, rejections, listed.unread_files)
        files = {file.path.name: cases[file.place or 0] for file in source.files()}
        assert files == {n: case for n, case in owners.items() if case in cases}
    for file in source.files():
        stored: list[tuple[int, int, dict[str, object]]] = []
        rejected: list[Rejection] = []
        offered = left_out = 0
        try:
            for block in file.blocks():
                offered, left_out, rejected = (
                    offered + block.offered,
                    left_out + block.left_out,
                    [*rejected, *block.rejections],
                )
                stored += _stored(block)
        except WrongFile as error:
            rejections.append(error.rejection)
            if (file.notes or file.place is None) and not isinstance(source, TextNotes):
                # The blocks before the fault are stored by the command.
                if file.notes:
                    notes += len(stored)
                else:
                    counts += np.bincount(
                        [place for _, place, _ in stored], minlength=len(counts)
                    ).astype(np.int64)
                rejections += rejected
                continue
            raise AssertionError(
                "a case was listed whose file cannot be read to its end"
            ) from error
        lines = {line for line, *_ in stored}
        assert all(r.line or r.field for r in rejected), "a part of a file without a place"
        header = not isinstance(source, Fhir)
        named = {p for r in rejected if (p := _find_place(r, file, header=header))}
        assert offered == len(lines | named) + left_out
        check_file(file, stored, named, offered, listed.encounters)
        rejections += rejected
        if isinstance(source, Fhir):
            texts |= {(place, row["text"]) for _, place, row in stored if "text" in row}
            notes, stored = len(texts), [row for row in stored if "text" not in row[2]]
        if file.notes:
            notes += len(stored)
        else:
            counts += np.bincount([place for _, place, _ in stored], minlength=len(counts)).astype(
                np.int64
            )
    _check_rejections(rejections)
    return dict(zip(cases, counts.tolist(), strict=True)), notes, len(rejections)


def _stored(block: StreamBlock | NoteBlock) -> list[tuple[int, int, dict[str, object]]]:
    if isinstance(block, NoteBlock):
        return [(line, place, {"text": note.text}) for place, line, note in block.notes]
    return list(
        zip(block.lines.tolist(), block.encounters.tolist(), block.rows.to_pylist(), strict=True)
    )


def _csv_encounters(
    root: Path,
    found: Collection[EncounterRecord],
    rejections: Collection[Rejection],
    unread: Collection[str],
) -> None:
    """Check that every file is read or named, and every anchor is right.

    An anchor is the one in encounters.csv, or the earliest row of a case that encounters.csv does
    not name.
    """
    taken = {e.case_id: e for e in found}
    named = {r.case_id for r in rejections} | {parse_case_id(Path(r.file)) for r in rejections}
    listings = [f for f in root.iterdir() if f.name.lower() in LISTINGS]
    assert listings or not any(f.name.lower().startswith("encounters.") for f in root.iterdir())
    for file in set(root.iterdir()) - set(listings):
        if parse_case_id(file):
            assert parse_case_id(file) in taken.keys() | named, file.name
        elif file.suffix == ".txt":
            assert file.stem.split("__")[0] in taken.keys() | named or any(
                r.file == f"note/{file.name}" for r in rejections
            ), file.name
        else:
            assert file.name in unread, file.name
    assert len(listings) <= 1
    lines = (
        oracle.records(listings[0])
        if listings and listings[0].is_file()
        else [(1, ["case_id", "admitted_at"])]
    )
    header = [name.strip() for name in lines[0][1]]
    rows = [
        dict(zip(header, fields, strict=True))
        for _, fields in lines[1:]
        if len(fields) == len(header)
    ]
    for case, e in taken.items():
        mine = [row for row in rows if row["case_id"].strip() == case]
        if not mine:
            assert e.anchor == "presentation"
            assert len(rows) == len(lines) - 1, "a short line may be of this case"
            assert all(row["case_id"].strip() in taken.keys() | named for row in rows)
        for row in mine:
            assert oracle.read_time(row["admitted_at"].strip()) == e.admitted_at
            left = row.get("discharged_at", "").strip()
            assert oracle.read_time(left) == e.discharged_at
            assert e.discharged_at or not left
            assert row.get("title", "").strip() == e.title


def _csv_file(file: StreamFile, stored, rejected: set[int], offered: int, _) -> None:
    if file.notes:
        assert [row["text"] for *_, row in stored] == [file.path.read_bytes().decode()]
        return
    good, bad = oracle.read_rows(file.path)
    assert offered == len(good) + len(bad)
    assert rejected == bad
    _check_same_rows({line: row for line, _, row in stored}, good, exact=_is_text(file.path))


def _text_file(file: StreamFile, stored, rejected: set[int], offered: int, _) -> None:
    assert (offered, rejected) == (1, set())
    assert [row["text"] for *_, row in stored] == [file.path.read_bytes().decode()]


def _mimic_encounters(
    root: Path, found: Collection[EncounterRecord], rejections: Collection[Rejection]
) -> None:
    places = (root / "hosp" / f"admissions.csv{suffix}" for suffix in ("", ".gz"))
    (path,) = (path for path in places if path.is_file())
    (_, header), *lines = oracle.records(path)
    named = {r.line for r in rejections}
    taken = {e.case_id: e for e in found}
    for line, fields in lines:
        row = dict(zip(header, (f.strip() for f in fields), strict=False))
        if line in named:
            continue
        assert len(fields) == len(header)
        e = taken[row["hadm_id"]]
        assert (e.subject_key, e.admitted_at) == (
            row["subject_id"],
            oracle.read_time(row["admittime"]),
        )
        assert e.discharged_at == oracle.read_time(row["dischtime"])
    assert len(lines) == len(found) + len({line for line in named if line})


def _mimic_file(file: StreamFile, stored, rejected: set[int], offered: int, encounters) -> None:
    """Check stored lines against the stay that they name.

    Lines that are neither stored nor rejected must say nothing, name another stay, or be outside
    every stay of their subject.
    """
    (_, header), *lines = oracle.records(file.path)
    header = [name.strip() for name in header]
    assert offered == len(lines)
    fields = {
        line: dict(zip(header, (f.strip() for f in cells), strict=True))
        for line, cells in lines
        if len(cells) == len(header)
    }
    assert {line for line, cells in lines if len(cells) != len(header)} <= rejected
    ids = {int(e.case_id): e for e in encounters}
    for line, place, row in stored:
        cells, e = fields[line], encounters[place]
        hadm, subject = _number(cells.get("hadm_id", "")), _number(cells["subject_id"])
        assert subject == int(e.subject_key)
        by_time = cells.get("hadm_id", "") == "" and e.admitted_at - timedelta(days=2) <= row.get(
            "time", e.admitted_at
        )
        assert hadm == int(e.case_id) or by_time
        if file.notes:
            assert oracle.trim(str(row["text"])) == oracle.trim(cells["text"])
        else:
            assert row["time"] is None or row["time"] in [
                oracle.read_time(c) for c in cells.values() if oracle.is_time(c)
            ]
            assert file.name == "hosp/emar" or oracle.trim(str(row["value"])) in {
                oracle.trim(c) for c in ("", *cells.values())
            }
    for line in fields.keys() - rejected - {line for line, *_ in stored}:
        cells = fields[line]
        said = {
            "hosp/emar": ("medication",),
            "hosp/admissions": ("dischtime", "admission_type", "admission_location"),
        }
        empty = file.name in said and not any(cells[c] for c in said[file.name])
        hadm, subject = _number(cells.get("hadm_id", "")), _number(cells["subject_id"])
        if empty or (hadm is not None and hadm not in ids):
            continue
        stays = [e for e in encounters if int(e.subject_key) == subject]
        assert subject is not None
        if stays:
            assert cells.get("hadm_id", "") == "", "a line that may be of a stay is rejected"
            assert not file.notes, "a note without an admission is rejected"
            _check_outside(cells.get(TIME_COLUMNS[file.name], ""), stays)


def _check_outside(text: str, stays: Collection[EncounterRecord]) -> None:
    assert text, "a line without an admission and without a time is rejected"
    time = oracle.read_time(text)
    assert time is not None
    for e in stays:
        first = e.admitted_at if len(text) > len("2150-01-01") else _midnight(e.admitted_at)
        assert not first <= time <= (e.discharged_at or e.admitted_at)


def _midnight(time: datetime) -> datetime:
    return datetime(time.year, time.month, time.day)


def _number(text: str) -> int | None:
    text = text.removesuffix(".0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _meds_file(file: StreamFile, stored, rejected: set[int], offered: int, encounters) -> None:
    """Check that every row is stored unchanged, rejected or outside.

    Outside means outside all encounters of its subject.
    """
    table = oracle.read_table(file.path)
    moments = table["time"].cast(pa.timestamp("us")).cast(pa.int64()).to_pylist()
    times = [_moment(t) for t in moments]
    others = table.drop_columns(["time"]).to_pylist()
    rows = {
        line: {**row, "time": time}
        for line, (row, time) in enumerate(zip(others, times, strict=True), start=2)
    }
    assert offered == len(rows)
    for line, place, row in stored:
        given, e = rows[line], encounters[place]
        assert str(given["subject_id"]) == e.subject_key
        assert row["time"] == given["time"]
        _check_meds_value(given, row)
    left = rows.keys() - rejected - {line for line, *_ in stored}
    spans = [
        (int(e.subject_key), e.admitted_at, e.discharged_at)
        for e in encounters
        if e.anchor == "admission"
    ]
    for line in left:
        subject, time = rows[line]["subject_id"], rows[line]["time"]
        assert subject is not None, "a row without subject is rejected"
        assert rows[line]["code"], "a row without code is rejected"
        assert (time is None) == (moments[line - 2] is None), (
            "a row outside the calendar is rejected"
        )
        inside = [
            s
            for s, start, end in spans
            if s == subject and time is not None and start <= time and end and time <= end
        ]
        assert not inside or rows[line]["code"] == "MEDS_BIRTH"


def _check_meds_value(given: dict[str, object], row: dict[str, object]) -> None:
    """Check that neither the number nor the text of a row is lost.

    MEDS: `numeric_value` and `text_value` are two columns of one measurement. A text that is a mask
    says nothing.
    """
    text = str(given.get("text_value") or "").strip()
    number = given.get("numeric_value")
    stated = None if number is None or number != number else float(str(number))
    if text not in ("", "___"):
        assert row["value"] == text
        assert stated is None or math.isfinite(stated), "a number that is lost is rejected"
    elif stated is not None:
        assert _is_same_number(row["value"], stated)
    else:
        assert row["value"] in (text, "nan")
    if stated is not None and math.isfinite(stated):
        assert _is_same_number(row["numeric_value"], stated)


def _is_same_number(stored: object, stated: float) -> bool:
    """Compare as float32 where the number given is one."""
    number = float(str(stored))
    with np.errstate(over="ignore"):
        single = float(np.float32(stated)) == stated
        return float(np.float32(number)) == stated if single else number == stated


def _moment(micro: int | None) -> datetime | None:
    """None, too, for a moment outside the calendar: no stored row has one."""
    try:
        return None if micro is None else datetime(1970, 1, 1) + timedelta(microseconds=micro)
    except OverflowError:
        return None


__all__ = ["Outcome", "Unreadable", "read_outcome"]
