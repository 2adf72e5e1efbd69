"""The append-only file of anchors. No Django.

It is opened for appending only, so that its file system may forbid anything else (`chattr +a`).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from adjudication.anchors.keys import AnchorError
from adjudication.anchors.lines import Anchor, line_digest
from llm_runtime.schema import field_faults


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the file: its number and bytes, and the anchor or the fault."""

    number: int
    content: bytes
    anchor: Anchor | None
    fault: str = ""


class AnchorFile:
    """The open file; only one process at a time has it."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def read(self) -> list[Line]:
        """Return the lines in order. Raises AnchorError."""
        return read_lines(self.path)

    def append(self, anchor: Anchor) -> None:
        """Write one line and wait until it is on the disk.

        After a line that a power failure tore, it starts a new one. Raises AnchorError.
        """
        content = self.path.read_bytes()
        torn = b"\n" if content and not content.endswith(b"\n") else b""
        line = torn + anchor.as_line() + b"\n"
        try:
            if os.write(self._descriptor, line) != len(line):
                raise OSError(None, "the disk is full")
            os.fsync(self._descriptor)
        except OSError as error:
            raise _unusable(self.path, error) from None


@contextmanager
def open_for_appending(path: Path) -> Iterator[AnchorFile]:
    """Open the file, make it if it is missing, and wait for other processes.

    Raises AnchorError.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    except OSError as error:
        raise _unusable(path, error) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield AnchorFile(path, descriptor)
    finally:
        os.close(descriptor)


def read_lines(path: Path) -> list[Line]:
    """Return the lines of the file; [] if there is none. Raises AnchorError."""
    try:
        content = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise _unusable(path, error) from None
    lines = content.removesuffix(b"\n").split(b"\n") if content else []
    return [_read_line(number, line) for number, line in enumerate(lines, start=1)]


def last_digest(lines: list[Line]) -> str:
    """Return the SHA-256 of the last line, "" of an empty file."""
    return line_digest(lines[-1].content) if lines else ""


def _read_line(number: int, content: bytes) -> Line:
    try:
        return Line(number, content, Anchor.model_validate_json(content))
    except ValidationError as error:
        fault = field_faults(error)[0]
        return Line(number, content, None, f"is no anchor: {fault}")


def _unusable(path: Path, error: OSError) -> AnchorError:
    return AnchorError(
        f"{path} cannot be used as file of anchors ({error.strerror}). Check its path and"
        " permissions, or set ANCHOR_FILE."
    )
