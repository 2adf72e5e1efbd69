"""The error of backups and restores; its message says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class BackupError(Exception):
    """A backup could not be made, checked or restored.

    The message has names, counts and states, never contents of the database.
    """

    log_safe = True


@contextmanager
def explain_file_errors() -> Iterator[None]:
    """Turn an error of the file system into BackupError, with the path."""
    try:
        yield
    except OSError as error:
        raise BackupError(
            f"{error.filename or 'A file'}: {error.strerror}. Free space or mend the folder, then"
            " try again."
        ) from None
