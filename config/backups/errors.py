"""The error of backups and restores; its message says what to do."""

from __future__ import annotations


class BackupError(Exception):
    """A backup could not be made, checked or restored.

    The message has names, counts and states, never contents of the database.
    """

    log_safe = True
