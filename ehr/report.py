"""The result of an import, counted for the summary at its end.

Rejections are stored in the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from accounts.wording import format_count
from ehr.formats.base import Rejection
from ehr.models import Dataset, RejectedRow

SHOWN_REJECTIONS = 20
#: `RejectedRow.part` of files and cases that the last import rejected.
REFUSED = "refused"


@dataclass
class CaseReport:
    """The rejections of one case during its import; hooks may add to them."""

    case_id: str
    folder: str
    rejections: list[Rejection] = field(default_factory=list)

    def reject(
        self, *, file: str, reason: str, line: int | None = None, field: str = "", raw: str = ""
    ) -> None:
        """Reject a piece of the input.

        `file` is relative to the case's folder; `reason` never quotes patient text.
        """
        self.rejections.append(
            Rejection(f"{self.folder}/{Path(file).name}", reason, line, field, raw, self.case_id)
        )


@dataclass
class ImportReport:
    """Counts of one import.

    `rejections` has the first few in words; `RejectedRow` has all of them.
    """

    imported: int = 0
    unchanged: int = 0
    refused: int = 0
    rows: int = 0
    series: int = 0
    rejected: int = 0
    lines_read: int = 0
    left_out: int = 0
    without_rows: int = 0
    missing_files: list[str] = field(default_factory=list)
    unread_files: list[str] = field(default_factory=list)
    rejections: list[Rejection] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """True when nothing was rejected."""
        return not (self.rejected or self.refused)

    def add_rejections(self, rejections: Iterable[Rejection]) -> None:
        """Count them and remember the first few for the summary."""
        for rejection in rejections:
            self.rejected += 1
            if len(self.rejections) < SHOWN_REJECTIONS:
                self.rejections.append(replace(rejection, raw=""))

    def lines(self) -> list[str]:
        """The summary at the end, without any text of rows or notes."""
        found = [
            f"{format_count(self.imported, 'case')} imported, {self.unchanged} unchanged, {self.refused} refused; "
            f"{self.rows} rows in {self.series} series; {self.rejected} rejected"
        ]
        if self.left_out:
            found.append(
                f"  {self.left_out} of {self.lines_read} lines left out: they belong to no case of"
                " this dataset, or say nothing"
            )
        if self.without_rows:
            found.append(f"  {format_count(self.without_rows, 'new case')} without rows")
        found += [f"  missing, skipped: {name}" for name in self.missing_files]
        found += [f"  not a file of this format, not read: {name}" for name in self.unread_files]
        found += [f"  rejected: {_place(r)}: {r.reason}" for r in self.rejections]
        if self.rejected > len(self.rejections):
            found.append(
                f"  … and {self.rejected - len(self.rejections)} more; all are stored with the"
                " dataset"
            )
        return found

    def add_stored(self, dataset: Dataset, part: str) -> None:
        """Count what was rejected of a part earlier."""
        stored = RejectedRow.objects.filter(dataset=dataset, part=part).order_by("pk")
        shown = stored[: max(SHOWN_REJECTIONS - len(self.rejections), 0)]
        self.rejections += [
            Rejection(r.file, r.reason, r.line, r.field, case_id=r.case_id) for r in shown
        ]
        self.rejected += stored.count()


def store_rejections(dataset: Dataset, part: str, rejections: Iterable[Rejection]) -> None:
    """Append rejections of a part.

    A character that the database cannot store is written as an escape.
    """
    RejectedRow.objects.bulk_create(
        [
            RejectedRow(
                dataset=dataset,
                part=part,
                case_id=_escape(r.case_id)[:100],
                file=_escape(r.file),
                line=r.line,
                field=_escape(r.field),
                reason=r.reason,
                raw=_escape(r.raw),
            )
            for r in rejections
        ],
        batch_size=1000,
    )


def replace_rejections(dataset: Dataset, part: str, rejections: Sequence[Rejection]) -> None:
    """Make these the rejections of the part.

    Nothing is written if they are the same.
    """
    stored = RejectedRow.objects.filter(dataset=dataset, part=part)
    known = [
        tuple(row)
        for row in stored.order_by("pk").values_list("case_id", "file", "line", "field", "reason")
    ]
    if known == [
        (_escape(r.case_id)[:100], _escape(r.file), r.line, _escape(r.field), r.reason)
        for r in rejections
    ]:
        return
    stored.delete()
    store_rejections(dataset, part, rejections)


def _escape(text: str) -> str:
    return text.replace("\x00", "\\0").encode("utf-8", "backslashreplace").decode()


def _place(rejection: Rejection) -> str:
    line = f", line {rejection.line}" if rejection.line else ""
    column = f", {rejection.field}" if rejection.field else ""
    return f"{rejection.file}{line}{column}"
