"""Streams that compute digests, and a pipe between two of them.

A backup of any size needs a few buffers of memory.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

BLOCK = 1 << 20


class Counted:
    """A stream that counts and hashes what passes.

    `error` is what reading or writing raised: the encryption library replaces it by its own.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._hash = hashlib.sha256()
        self.bytes = 0
        self.error: Exception | None = None

    @property
    def sha256(self) -> str:
        """Return the digest of what has passed so far."""
        return self._hash.hexdigest()

    def read(self, size: int = -1) -> bytes:
        """Read as the stream does."""
        try:
            return self._count(self._stream.read(size))
        except Exception as error:
            self.error = error
            raise

    def write(self, data: bytes) -> int:
        """Write as the stream does."""
        try:
            self._stream.write(data)
        except Exception as error:
            self.error = error
            raise
        return len(self._count(data))

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()

    def _count(self, data: bytes) -> bytes:
        self._hash.update(data)
        self.bytes += len(data)
        return data


@contextmanager
def read_while_writing(write: Callable[[IO[bytes]], None]) -> Iterator[IO[bytes]]:
    """Run `write` in a thread; the result reads what it writes.

    An error of `write` is raised at the end, also in place of the reader's own error: the reader
    only saw that the stream ended too early.
    """
    errors: list[Exception] = []
    reading, writing = os.pipe()

    def work() -> None:
        try:
            with os.fdopen(writing, "wb") as stream:
                write(stream)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        with os.fdopen(reading, "rb") as stream:
            yield stream
    finally:
        thread.join()
        # The writer's broken pipe follows from an error of the reader.
        if errors and not isinstance(errors[0], BrokenPipeError):
            raise errors[0]


def copy(source: Counted, target: Counted) -> None:
    """Copy all of the source to the target."""
    shutil.copyfileobj(source, target, BLOCK)


def hash_file(path: Path) -> tuple[int, str]:
    """Return the size and SHA-256 of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return file.tell(), digest
