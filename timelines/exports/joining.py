"""Join the parts of an export into one archive.

A format that is one file becomes one file again; the files of the others are put together.
"""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile

from timelines.exports.formats import EXPORT_FORMATS

#: The name of the file, or of the folder, that every part has.
STEM = "timelines"
FACTS = "export.json"
_SPLITS = "metadata/subject_splits.parquet"
#: Every part has such a table; each is one file of the whole.
_SHARDS = {
    f"{STEM}.parquet": STEM + "/{}.parquet",
    f"{STEM}/data/0.parquet": STEM + "/data/{}.parquet",
}
#: Deflate is slower than the disk, and text shrinks nearly as well at this level.
_LEVEL = 3


def name_output(format: str) -> str:
    """Return the name that a part's writer writes to."""
    ending = EXPORT_FORMATS[format].ending
    return f"{STEM}.{ending}" if ending else STEM


def join_parts(
    parts: Sequence[Path],
    format: str,
    out: Path,
    facts: Mapping[str, Any],
    check: Callable[[], None],
) -> None:
    """Write the archive; `facts` are its `export.json`.

    `check` is called before each part and may raise.
    """
    main = name_output(format)
    join = _JOIN.get(EXPORT_FORMATS[format].ending)
    with ZipFile(out, "w", ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        archive.writestr(FACTS, json.dumps(dict(facts), indent=1) + "\n")
        if join is not None:
            with archive.open(main, "w", force_zip64=True) as file:
                join(_checked([part / main for part in parts], check), file)
        _add_others(archive, parts, main if join else "", check)


def _add_others(
    archive: ZipFile, parts: Sequence[Path], done: str, check: Callable[[], None]
) -> None:
    """Add all files but `done`.

    Of files of one name, as schemas, one is added. Shards are numbered by their part; the splits of MEDS are one table.
    """
    names: set[str] = set()
    splits: list[Path] = []
    for number, part in enumerate(_checked(parts, check)):
        for path in sorted(p for p in part.rglob("*") if p.is_file()):
            name = path.relative_to(part).as_posix()
            if name.endswith(_SPLITS):
                splits.append(path)
                continue
            if shard := _SHARDS.get(name):
                name = shard.format(number)
            if name != done and name not in names:
                names.add(name)
                archive.write(path, name)
    if splits:
        archive.writestr(f"{STEM}/{_SPLITS}", _join_tables(splits))


def _checked(paths: Sequence[Path], check: Callable[[], None]) -> Iterator[Path]:
    for path in paths:
        check()
        yield path


def _join_lines(paths: Iterator[Path], out: IO[bytes]) -> None:
    for path in paths:
        with path.open("rb") as file:
            shutil.copyfileobj(file, out)


def _join_csv(paths: Iterator[Path], out: IO[bytes]) -> None:
    """Copy the rows after one heading, which has no line end of its own."""
    for number, path in enumerate(paths):
        with path.open("rb") as file:
            heading = file.readline()
            if number == 0:
                out.write(heading)
            shutil.copyfileobj(file, out)


def _join_tasks(paths: Iterator[Path], out: IO[bytes]) -> None:
    """Copy Label Studio's tasks and number them again."""
    number = 0
    out.write(b"[")
    for path in paths:
        for task in json.loads(path.read_bytes()):
            number += 1
            task["id"] = number
            for annotation in task["annotations"]:
                annotation["id"] = number
            out.write(b",\n" if number > 1 else b"\n")
            out.write(json.dumps(task).encode())
    out.write(b"\n]\n")


def _join_tables(paths: Sequence[Path]) -> bytes:
    """Return the rows of Parquet tables of one schema as one table."""
    pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")
    made = io.BytesIO()
    pq.write_table(pa.concat_tables([pq.read_table(path) for path in paths]), made)
    return made.getvalue()


_JOIN: Mapping[str, Callable[[Iterator[Path], IO[bytes]], None]] = {
    "jsonl": _join_lines,
    "csv": _join_csv,
    "json": _join_tasks,
}
