"""Rejections as a CSV of places and reasons, without texts of records."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType

from ehr.formats.base import Rejection
from ehr.models import Dataset, RejectedRow

COLUMNS = ("file", "line", "field", "case_id", "reason")
#: Rejections that a page shows.
SHOWN = 100
#: Beginnings that a spreadsheet would read as a formula.
FORMULA = ("=", "+", "-", "@")


class ReasonFile:
    """Writes rejections into a file while they are found."""

    def __init__(self, path: Path) -> None:
        self.count = 0
        self.first: list[dict[str, str]] = []
        self._path = path

    def __enter__(self) -> ReasonFile:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("w", encoding="utf-8", newline="")
        self._table = csv.writer(self._file)
        self._table.writerow(COLUMNS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, rejections: Iterable[Rejection]) -> None:
        """Write them; remember the first for the page."""
        for found in rejections:
            self.count += 1
            cells = _cells(found.file, found.line, found.field, found.case_id, found.reason)
            self._table.writerow(cells)
            if len(self.first) < SHOWN:
                self.first.append(dict(zip(COLUMNS, cells, strict=True)))


def list_rejected(dataset: Dataset) -> list[dict[str, str]]:
    """Return the first rejections that are stored with a dataset."""
    stored = RejectedRow.objects.filter(dataset=dataset).order_by("pk")[:SHOWN]
    return [dict(zip(COLUMNS, _stored_cells(row), strict=True)) for row in stored]


def stream_rejected(dataset: Dataset) -> Iterator[str]:
    """Yield the lines of a CSV with all rejections of a dataset."""
    yield _line(COLUMNS)
    for row in RejectedRow.objects.filter(dataset=dataset).order_by("pk").iterator():
        yield _line(_stored_cells(row))


def _stored_cells(row: RejectedRow) -> tuple[str, ...]:
    return _cells(row.file, row.line, row.field, row.case_id, row.reason)


def _cells(file: str, line: int | None, field: str, case_id: str, reason: str) -> tuple[str, ...]:
    cells = (file, str(line or ""), field, case_id, reason)
    texts = (c.replace("\x00", "\\0").encode("utf-8", "backslashreplace").decode() for c in cells)
    return tuple(f"'{text}" if text.startswith(FORMULA) else text for text in texts)


def _line(cells: Iterable[str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerow(cells)
    return buffer.getvalue()
