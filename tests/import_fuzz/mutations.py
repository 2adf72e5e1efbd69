"""Changes to a valid input: bytes, fields, lines and files.

All of them come from one seeded source of chance.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.import_fuzz.damage import HUGE, damage, unpack, write

PIECES = [
    b'"',
    b"\n",
    b"\r",
    b",",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"9" * 30,
    b"",
    b"-",
    b" ",
    b'""',
    b"\r\n",
]
NASTY = [
    "", " ", '"', '"a', "a\nb", "a\r\nb", ",", "\x00", "\ufeff", "0000-01-01", "10000-01-01T00:00:00", "2150-02-30", "2150-01-01T25:00",
    "9" * 5000, "1" + "0" * 400, "1e999", "NaN", "Infinity", "-Infinity", "x" * 2001, "é" * 1500, "null", "-1", "20338077.0", "١٢",
    "2150-01-01T08:00:00+01:00", "\\N", "\\.", "a", "lab:lactate:blood", "2129-04-06 01:05:00", "20338077", "10007928", "\u2028", HUGE,
]  # fmt: skip
JSON: list[Any] = [
    None,
    True,
    0,
    -1,
    10**400,
    1e308,
    "",
    " ",
    "\ud800",
    "\x00",
    [],
    {},
    ["x"],
    "x" * 600,
    HUGE,
    "0000-01-01",
    "2150-01-01T08:00:00Z",
]
#: Elements of FHIR resources of another type, other times and references to nothing.
FHIR: list[Any] = [
    "2150-01-01T10:00:00+02:00", "2150-01-01", "2150-01", "2150", "2150-13-01", "9999-12-31",
    "2150-01-01T25:00:00Z", "2150-01-01T10:00:00+25:00", "0001-01-01T00:00:00-14:00",
    {"reference": "Encounter/one"}, {"reference": "Encounter/nothing"}, {"reference": "#x"},
    {"reference": "Patient/p-two"}, {"reference": 5}, {"identifier": {}}, "Encounter/one", "one",
    {"coding": [{}]}, {"coding": "x"}, {"coding": [{"code": 1}]}, {"text": ["x"]}, [{}], [[]],
    [None], "entered-in-error", "Bundle", "Encounter", "Observation", "application/rtf",
    "text/html", "e1xydGYx", "not base64", "x" * 40_000, -1.5, False,
]  # fmt: skip
RAW_JSON = ["NaN", "Infinity", "9" * 5000, "[" * 5000, "{", "1e400", '"\\ud800"']


def mutate(root: Path, chance: Random) -> str:
    """Change one file (rarely two) below `root`; return what was done.

    The words are for the message of a failure.
    """
    done = []
    for _ in range(1 if chance.random() < 0.8 else 2):
        files = sorted(p for p in root.rglob("*") if p.is_file())
        if not files:
            break
        file = chance.choice(files)
        level = chance.choice([_bytes, _field, _line, _file, damage])
        level(file, chance)
        done.append(f"{level.__name__.strip('_')} of {file.relative_to(root)}")
    return ", ".join(done)


def _bytes(file: Path, chance: Random) -> None:
    packed = chance.random() < 0.3
    content = file.read_bytes() if packed else unpack(file)
    for _ in range(chance.randint(1, 3)):
        at = chance.randint(0, len(content))
        piece = chance.choice([*PIECES, bytes([chance.randrange(256)])])
        content = content[:at] + piece + content[at + chance.choice([0, 0, 1, 1, 3, 40]) :]
    if packed:
        file.write_bytes(content)
    else:
        write(file, content)


def _field(file: Path, chance: Random) -> None:
    if _is_fhir(file) and chance.random() < 0.8:
        _fhir_field(file, chance)
    elif file.suffix == ".parquet":
        _parquet(file, chance, _parquet_field)
    elif file.suffix in (".json", ".jsonl"):
        _json_field(file, chance)
    elif file.suffix == ".txt":
        write(
            file,
            chance.choice(
                [
                    b"",
                    b" \n",
                    b"a\x00b",
                    b"\xff",
                    "é\r\n".encode(),
                    b"\xef\xbb\xbfx",
                    b"y" * 1_000_001,
                ]
            ),
        )
    else:
        _csv_field(file, chance)


def _csv_field(file: Path, chance: Random) -> None:
    try:
        rows = list(csv.reader(io.StringIO(unpack(file).decode(), newline="")))
    except (UnicodeDecodeError, csv.Error):
        return _bytes(file, chance)
    rows = [row for row in rows if row]
    if not rows:
        return None
    row = rows[0] if chance.random() < 0.15 else chance.choice(rows)
    row[chance.randrange(len(row))] = chance.choice([*NASTY, chance.choice(chance.choice(rows))])
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator=chance.choice(["\n", "\r\n"])).writerows(rows)
    return write(file, out.getvalue().encode())


def _json_field(file: Path, chance: Random) -> None:
    lines = unpack(file).decode("utf-8", "replace").split("\n")
    at = chance.randrange(len(lines))
    try:
        data = json.loads(lines[at])
        key = chance.choice([*data, "other"])
    except (ValueError, TypeError, IndexError):
        return _bytes(file, chance)
    if chance.random() < 0.15:
        lines[at] = json.dumps({name: data[name] for name in data if name != key})
    elif chance.random() < 0.3:
        lines[at] = json.dumps({**data, key: "MARK"}).replace('"MARK"', chance.choice(RAW_JSON))
    else:
        lines[at] = json.dumps({**data, key: chance.choice(JSON)})
    return write(file, "\n".join(lines).encode())


def _is_fhir(file: Path) -> bool:
    name = file.name.removesuffix(".gz")
    return name.endswith((".ndjson", ".json")) and name != "encounter.json"


def _fhir_field(file: Path, chance: Random) -> None:
    """Change one element at any depth of a JSON document, or of a line."""
    content = unpack(file).decode("utf-8", "replace")
    lines = content.split("\n") if ".ndjson" in file.name else [content]
    at = chance.randrange(len(lines))
    try:
        document = json.loads(lines[at])
    except ValueError:
        return _bytes(file, chance)
    places = list(_find_elements(document))
    if not places:
        return None
    parent, key = chance.choice(places)
    if chance.random() < 0.2:
        del parent[key]
    elif chance.random() < 0.2:
        other, name = chance.choice(places)
        parent[key] = other.get(name) if isinstance(other, dict) else None
    else:
        parent[key] = chance.choice([*JSON, *FHIR])
    try:
        lines[at] = json.dumps(document)
    except ValueError:
        return None  # an element inside itself
    return write(file, "\n".join(lines).encode())


def _find_elements(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (container, key) of each element."""
    listed = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in listed:
        yield value, key
        if isinstance(part, dict | list):
            yield from _find_elements(part)


def _parquet(file: Path, chance: Random, change: Callable[[pa.Table, Random], pa.Table]) -> None:
    try:
        table = change(pq.read_table(file, partitioning=None), chance)
        pq.write_table(table, file, compression="none")
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError):
        _bytes(file, chance)


def _parquet_field(table: pa.Table, chance: Random) -> pa.Table:
    at = chance.randrange(table.num_columns)
    name, column = table.column_names[at], table.column(at)
    kind = chance.choice(["cell", "cell", "cell", "cell", "rename", "drop", "twice", "type"])
    if kind == "drop":
        return table.remove_column(at)
    if kind == "twice":
        return table.append_column(name, column)
    if kind == "rename":
        return table.rename_columns(
            [f"{c}x" if i == at else c for i, c in enumerate(table.column_names)]
        )
    if kind == "type":
        return table.set_column(
            at,
            name,
            pa.array([[1]] * len(table)) if chance.random() < 0.5 else column.cast(pa.string()),
        )
    values: list[Any] = column.to_pylist()
    values[chance.randrange(len(values))] = (
        None if chance.random() < 0.2 else _value(column.type, chance)
    )
    return table.set_column(at, name, pa.array(values, column.type))


def _value(kind: pa.DataType, chance: Random) -> Any:
    if pa.types.is_timestamp(kind):
        return chance.choice([-(2**62), 2**62, 0, -62135596800_000_000 - 1, 253402300800_000_000])
    if pa.types.is_integer(kind):
        return chance.choice([0, -1, 2**62, 7])
    if pa.types.is_floating(kind):
        return chance.choice([float("nan"), float("inf"), -0.0, 1e38])
    return chance.choice(
        [
            *NASTY,
            "HOSPITAL_ADMISSION//" + "y" * 600,
            "LAB//" + "9" * 5000,
            "//",
            "HOSPITAL_DISCHARGE//",
        ]
    )


def _line(file: Path, chance: Random) -> None:
    if file.suffix == ".parquet":
        return _parquet(file, chance, _parquet_line)
    lines = unpack(file).split(b"\n")
    at = chance.randrange(len(lines))
    cells = lines[at].split(b",")
    changed: list[list[bytes]] = [
        [],
        [lines[at], lines[at]],
        [b"", lines[at]],
        [b",".join(cells[:-1])],
        [b",".join([*cells, b"x"])],
        [lines[at][: len(lines[at]) // 2]],
        [lines[at] + b'"'],
        [b",".join([chance.choice(NASTY).encode(), *cells[1:]])],
        [b"," * lines[at].count(b",")],
    ]
    lines[at : at + 1] = chance.choice(changed)
    return write(file, b"\n".join(lines))


def _parquet_line(table: pa.Table, chance: Random) -> pa.Table:
    at = chance.randrange(len(table)) if len(table) else 0
    one = table.slice(at, 1)
    return chance.choice(
        [
            table.slice(0, 0),
            table.slice(0, at),
            pa.concat_tables([table, one]),
            pa.concat_tables([one, table]),
            table.slice(at),
        ]
    )


def _file(file: Path, chance: Random) -> None:
    content = file.read_bytes()
    kind = chance.choice(
        [
            "delete",
            "empty",
            "rename",
            "copy",
            "cut",
            "noise",
            "bom",
            "utf16",
            "tail",
            "other",
            "reorder",
        ]
    )
    if kind in ("delete", "rename", "copy"):
        if kind != "delete":
            name = chance.choice(
                [
                    f"{file.name}.bak",
                    f"x{file.name}",
                    file.name.replace(".csv", ".csv.gz"),
                    *([file.name.replace("json", "json.gz", 1)] * (_is_fhir(file))),
                    file.stem,
                    "z.txt",
                    "z.csv",
                    *([file.name.title(), file.name.upper()] * (file.stem == "encounters")),
                ]
            )
            packed = name.lower().endswith(".gz") and not file.name.lower().endswith(".gz")
            (file.parent / name).write_bytes(gzip.compress(content, mtime=0) if packed else content)
        if kind != "copy":
            file.unlink()
    elif kind in ("bom", "utf16", "tail", "reorder"):
        text = unpack(file)
        changed = {
            "bom": b"\xef\xbb\xbf" + text,
            "utf16": text.decode("utf-8", "replace").encode("utf-16"),
            "tail": text + chance.choice([b"\n\n", b"\x00", b'"', b"x", b"\r"]),
            "reorder": b"\n".join(sorted(text.split(b"\n"))),
        }
        write(file, changed[kind])
    else:
        others = sorted(p for p in file.parent.rglob("*") if p.is_file())
        replaced = {
            "empty": b"",
            "cut": content[: chance.randint(0, len(content))],
            "noise": chance.randbytes(chance.randint(1, 300)),
            "other": chance.choice(others).read_bytes(),
        }
        file.write_bytes(replaced[kind])
