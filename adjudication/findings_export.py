"""All findings of a judge run as lines of a file: CSV, JSONL and Parquet, with or without text of note, timelines, record and judge.

Lines are written as the database hands them out, so that memory does not grow with the cohort; Parquet goes out a row group at a time.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from django.db.models import QuerySet

from adjudication.models import Finding, JudgeRun
from adjudication.readers import Closed, open_findings
from adjudication.scoring.errors import WEIGHTS, Category
from timelines.evaluation.values import SourceKey
from timelines.exports.flat import safe_cell

CHUNK = 2000
ROW_GROUP = 20_000


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the file. `text`: holds words of a note, a timeline, the record or the judge, and stays away unless asked for."""

    name: str
    type: pa.DataType
    unit: str
    meaning: str
    text: bool = False


_TEXT, _INT, _BOOL, _NUMBER = pa.string(), pa.int64(), pa.bool_(), pa.float64()
COLUMNS = (
    Column("finding", _TEXT, "", "public id of the finding"),
    Column("judge_run", _TEXT, "", "public id of the judge run"),
    Column("judge", _TEXT, "", "judge that told it, with its version"),
    Column("dataset", _TEXT, "", "name of the dataset"),
    Column("case_id", _TEXT, "", "the case within its dataset"),
    Column("game", _TEXT, "", "public id of the game: one judging of one comparison"),
    Column("swapped", _BOOL, "", "whether the game is the rerun in exchanged positions; ratings are of the others alone"),
    Column("ordinal", _INT, "", "place of the finding in the judge's answer, from 1"),
    Column("first_source", _TEXT, "", "the comparison's first timeline: source, kind, alternative"),
    Column("second_source", _TEXT, "", "its second timeline"),
    Column("a_source", _TEXT, "", "the timeline that the judge saw as A"),
    Column("b_source", _TEXT, "", "the timeline that the judge saw as B"),
    Column("type", _TEXT, "", "VALUE, TIMING, A_ONLY, B_ONLY, SHARED_UNSUPPORTED or DUPLICATE, in the judge's labels"),
    Column("verdict", _TEXT, "", "A, B, BOTH, NEITHER or UNCLEAR, in the judge's labels"),
    Column("right_source", _TEXT, "", "the timeline held right; empty where none was"),
    Column("category", _TEXT, "", "error that is charged; empty where the verdict is not for one side"),
    Column("charged_source", _TEXT, "", "the timeline that is charged with it"),
    Column("points", _NUMBER, "points", "prespecified weight of the error"),
    Column("flagged", _BOOL, "", "a TIMING finding whose hours lie within tolerance: kept, charged and marked"),
    Column("a_time", _INT, "hours", "judged time of A's row from admission; empty: N/A or no row"),
    Column("b_time", _INT, "hours", "judged time of B's row from admission; empty: N/A or no row"),
    Column("grounding", _TEXT, "", "what it rests on: NOTE, TABLE, BOTH or NONE"),
    Column("polarity", _TEXT, "", "present or absent"),
    Column("relation", _TEXT, "", "novel_event or added_detail; empty but for one-sided findings"),
    Column("note_start", _INT, "code points", "where the quote begins in the note; empty: no quote"),
    Column("note_end", _INT, "code points", "where it ends, exclusive"),
    Column("subject", _TEXT, "", "SHA-256 of what it is about: the same in another judging of the comparison"),
    Column("a_event", _TEXT, "", "words of A's row", text=True),
    Column("b_event", _TEXT, "", "words of B's row", text=True),
    Column("note_evidence", _TEXT, "", "the judge's quote of the note, verbatim", text=True),
    Column("table_evidence", _TEXT, "", "series, value and time that the judge cites of the record", text=True),
    Column("reason", _TEXT, "", "the judge's reason", text=True),
)
#: Columns that are fields of a finding or of what it belongs to, by their path from the finding.
_PATHS = {
    "finding": "public_id",
    "dataset": "game__comparison__encounter__dataset__name",
    "case_id": "game__comparison__encounter__case_id",
    "game": "game__public_id",
    "swapped": "game__swapped",
    "subject": "subject_sha256",
    **{
        name: name
        for name in (
            "ordinal", "type", "verdict", "category", "flagged", "a_time", "b_time", "grounding", "polarity", "relation", "note_start",
            "note_end", "a_event", "b_event", "note_evidence", "table_evidence", "reason",
        )
    },
}  # fmt: skip
_SIDES = [f"game__comparison__{side}__{name}" for side in ("first", "second") for name in ("source", "kind", "alternative")]


def columns(*, with_text: bool) -> list[Column]:
    """The columns of a file in order."""
    return [c for c in COLUMNS if with_text or not c.text]


def exported(run: JudgeRun, closed: Closed) -> QuerySet[Finding]:
    """The run's findings, reruns included, without those that are closed to the reader; in the order of their games."""
    return open_findings(Finding.objects.filter(game__run=run), closed).order_by("game_id", "ordinal")


def lines(run: JudgeRun, findings: QuerySet[Finding]) -> Iterator[dict[str, Any]]:
    """One record a finding, with all columns; nothing of it is safe for a spreadsheet yet."""
    judge = f"{run.judge_name} {run.judge_version}".strip()
    rows = findings.values_list(*_PATHS.values(), *_SIDES, "game__a_is_first", "charged_first")
    for row in rows.iterator(chunk_size=CHUNK):
        told = dict(zip(_PATHS, row, strict=False))
        first, second = SourceKey(*row[-8:-5]).label, SourceKey(*row[-5:-2]).label
        yield told | _charge(told, first, second, *row[-2:]) | {"judge_run": run.public_id, "judge": judge}


def _charge(told: Mapping[str, Any], first: str, second: str, a_is_first: bool, charged_first: bool | None) -> dict[str, Any]:
    """Who was A, who was held right and who is charged with what."""
    a, b = (first, second) if a_is_first else (second, first)
    category = told["category"] or None
    return {
        "first_source": first,
        "second_source": second,
        "a_source": a,
        "b_source": b,
        "right_source": {"A": a, "B": b}.get(told["verdict"]),
        "category": category,
        "charged_source": None if charged_first is None else first if charged_first else second,
        "points": WEIGHTS[Category(category)] if category else None,
    }


def write_csv(rows: Iterable[dict[str, Any]], *, with_text: bool) -> Iterator[bytes]:
    """A head and a line a finding; cells that a spreadsheet would run are made safe."""
    names = [c.name for c in columns(with_text=with_text)]
    yield _row(names)
    for told in rows:
        yield _row([_cell(told[name]) for name in names])


def write_jsonl(rows: Iterable[dict[str, Any]], *, with_text: bool) -> Iterator[bytes]:
    """A JSON object a line."""
    names = [c.name for c in columns(with_text=with_text)]
    for told in rows:
        yield (json.dumps({name: told[name] for name in names}, ensure_ascii=False) + "\n").encode()


def write_parquet(rows: Iterable[dict[str, Any]], *, with_text: bool) -> Iterator[bytes]:
    """A Parquet file in parts, a row group at a time."""
    chosen = columns(with_text=with_text)
    schema = pa.schema([pa.field(c.name, c.type, metadata={"description": c.meaning, "unit": c.unit}) for c in chosen])
    drain = _Drain()
    with pq.ParquetWriter(pa.PythonFile(drain, mode="w"), schema, compression="zstd") as writer:
        waiting = iter(rows)
        while block := list(islice(waiting, ROW_GROUP)):
            writer.write_table(pa.Table.from_pylist(block, schema=schema))
            yield drain.taken()
    yield drain.taken()


def write_dictionary(*, with_text: bool) -> Iterator[bytes]:
    """What each column means, a line each."""
    yield _row(["column", "type", "unit", "meaning"])
    for c in columns(with_text=with_text):
        yield _row([c.name, str(c.type), c.unit, c.meaning])


class _Drain(io.RawIOBase):
    """A file that forgets what was taken from it, and knows how far it has come."""

    def __init__(self) -> None:
        super().__init__()
        self._kept, self._length = bytearray(), 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        part = bytes(data)
        self._kept += part
        self._length += len(part)
        return len(part)

    def tell(self) -> int:
        return self._length

    def taken(self) -> bytes:
        found, self._kept = bytes(self._kept), bytearray()
        return found


def _row(cells: list[str]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue().encode()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return safe_cell(value) if isinstance(value, str) else str(value)


#: Format → (content type, ending, writer).
FORMATS: dict[str, tuple[str, str, Callable[..., Iterator[bytes]]]] = {
    "csv": ("text/csv; charset=utf-8", "csv", write_csv),
    "jsonl": ("application/jsonl; charset=utf-8", "jsonl", write_jsonl),
    "parquet": ("application/vnd.apache.parquet", "parquet", write_parquet),
}
