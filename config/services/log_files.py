"""Limit the logs of long-running processes.

The process that writes a log keeps it open, in append mode. So its content is copied away and the
file is emptied, while the process goes on writing at its beginning.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

LARGEST_LOG_BYTES = 20_000_000
#: Copies of each log: NAME.log.1 is the newest.
COPIES = 3


def rotate(log: Path, largest: int = LARGEST_LOG_BYTES) -> bool:
    """Copy a log away and empty it if it is too large; return whether it was.

    Lines written between the copy and the emptying are lost: milliseconds, at every 20 MB.
    """
    if not log.is_file() or log.stat().st_size <= largest:
        return False
    for number in range(COPIES - 1, 0, -1):
        older = _copy(log, number)
        if older.exists():
            older.replace(_copy(log, number + 1))
    shutil.copyfile(log, _copy(log, 1))
    _copy(log, 1).chmod(0o600)
    os.truncate(log, 0)
    return True


def _copy(log: Path, number: int) -> Path:
    return log.with_name(f"{log.name}.{number}")
