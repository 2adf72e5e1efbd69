"""A progress bar for commands.

It is redrawn on a terminal; elsewhere it prints a line for every tenth.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Protocol

WIDTH = 30
REDRAW_SECONDS = 0.1


class Stream(Protocol):
    """A stream to draw the bar on."""

    def write(self, text: str) -> object: ...

    def isatty(self) -> bool: ...


class ProgressBar:
    """`update(done, total, words)` draws; leaving the block ends the line."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._drawn_at = 0.0
        self._tenth = -1
        self._open = False

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._open:
            self._write("\n")

    def update(self, done: int, total: int, words: str) -> None:
        """Show that `done` of `total` units are finished."""
        share = done / total if total else 1.0
        if self._terminal:
            if done < total and time.monotonic() - self._drawn_at < REDRAW_SECONDS:
                return
            filled = round(share * WIDTH)
            self._write(
                f"\r[{'#' * filled}{'.' * (WIDTH - filled)}] {share:4.0%}  {done}/{total}"
                f" {words}\x1b[K"
            )
            self._drawn_at, self._open = time.monotonic(), True
        elif int(share * 10) != self._tenth:
            self._tenth = int(share * 10)
            self._write(f"{share:4.0%}  {done}/{total} {words}\n")

    def _write(self, text: str) -> None:
        # Django's wrapper ends every text with a line break.
        write = getattr(self._stream, "_out", self._stream).write
        write(text)
