"""What an import did: counted for the summary at its end, and what was rejected, kept in the database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ehr.formats.base import Rejection
from ehr.models import Dataset, RejectedRow

SHOWN_REJECTIONS = 20


@dataclass
class CaseReport:
    """What is rejected of one case while it is imported; hooks of upper apps add to it."""

    case_id: str
    folder: str
    rejections: list[Rejection] = field(default_factory=list)

    def reject(self, *, file: str, reason: str, line: int | None = None, field: str = "", raw: str = "") -> None:
        """Set a piece of the input aside. `file` is relative to the case's folder; `reason` never quotes patient text."""
        self.rejections.append(Rejection(f"{self.folder}/{Path(file).name}", reason, line, field, raw, self.case_id))


@dataclass
class ImportReport:
    """Counts of one run of an import. `rejections` holds the first few in words; all are in `RejectedRow`."""

    imported: int = 0
    unchanged: int = 0
    refused: int = 0
    rows: int = 0
    series: int = 0
    rejected: int = 0
    missing_files: list[str] = field(default_factory=list)
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
            f"{self.imported} cases imported, {self.unchanged} unchanged, {self.refused} refused; "
            f"{self.rows} rows in {self.series} series; {self.rejected} rejected"
        ]
        found += [f"  missing, skipped: {name}" for name in self.missing_files]
        found += [f"  rejected: {_place(r)}: {r.reason}" for r in self.rejections]
        if self.rejected > len(self.rejections):
            found.append(f"  … and {self.rejected - len(self.rejections)} more; all are kept with the dataset")
        return found


def keep_rejections(dataset: Dataset, rejections: Iterable[Rejection]) -> None:
    """Store rejections with where they stood; a NUL character, which the database cannot hold, is written as \\0."""
    RejectedRow.objects.bulk_create(
        [
            RejectedRow(
                dataset=dataset,
                case_id=r.case_id[:100].replace("\x00", "\\0"),
                file=r.file,
                line=r.line,
                field=r.field,
                reason=r.reason,
                raw=r.raw.replace("\x00", "\\0"),
            )
            for r in rejections
        ],
        batch_size=1000,
    )


def kept_rejections(dataset: Dataset, prefix: str) -> list[Rejection]:
    """What was rejected earlier of the files that begin with `prefix`."""
    rows = RejectedRow.objects.filter(dataset=dataset, file__startswith=prefix).order_by("pk")
    return [Rejection(r.file, r.reason, r.line, r.field, r.raw, r.case_id) for r in rows]


def _place(rejection: Rejection) -> str:
    line = f", line {rejection.line}" if rejection.line else ""
    column = f", {rejection.field}" if rejection.field else ""
    return f"{rejection.file}{line}{column}"
