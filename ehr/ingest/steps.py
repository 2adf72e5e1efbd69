"""How far the files of a source were read, by their bytes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ehr.formats.stream import StreamFile
from ehr.ingest.cases import Progress

KILOBYTE = 1000


class Steps:
    """Reports the bytes of finished files as kilobytes.

    The series that are built after the files count as a tenth of all.
    """

    def __init__(self, progress: Progress, files: Sequence[StreamFile]) -> None:
        self.files = files
        self._progress = progress
        self._sizes = {file.name: _count_kilobytes(file.path) for file in files}
        self._done = 0
        self._total = max(sum(self._sizes.values()) * 10 // 9, 1)
        self.report()

    def expect_twice(self) -> None:
        """Count every file a second time."""
        self._total += sum(self._sizes.values())

    def report(self) -> None:
        """Report what is done. An exception of `progress` is raised."""
        self._progress(self._done, self._total, "kB")

    def end(self, file: StreamFile) -> None:
        """Count a file as done."""
        self._done += self._sizes[file.name]
        self.report()

    def finish(self) -> None:
        """Report that everything is done."""
        self._done = self._total
        self.report()


def _count_kilobytes(path: Path) -> int:
    try:
        return max(path.stat().st_size // KILOBYTE, 1)
    except OSError:
        return 1
