"""Which backups to keep: the newest of each day, week and month."""

from __future__ import annotations

import shutil
import time
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from config.backups.manifest import FILE_NAME, read_time

PARTIAL = ".partial"
#: After so long, an unfinished backup is that of a process that was killed.
ABANDONED_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True)
class Keep:
    """How many days, weeks and months with backups keep one; 0: none."""

    daily: int = 0
    weekly: int = 0
    monthly: int = 0

    def __bool__(self) -> bool:
        """Return False if nothing is limited, so that all backups stay."""
        return any((self.daily, self.weekly, self.monthly))


KEEP_ALL = Keep()


def select_kept(times: Collection[datetime], keep: Keep) -> set[datetime]:
    """Return the times of the backups to keep.

    The newest of all is always among them. Weeks are ISO weeks. Days without a backup do not count.
    """
    kept = {max(times)} if times else set()
    for count, period in ((keep.daily, "%F"), (keep.weekly, "%G-%V"), (keep.monthly, "%Y-%m")):
        newest = {moment.strftime(period): moment for moment in sorted(times)}
        kept |= set(sorted(newest.values(), reverse=True)[:count])
    return kept


def find_backups(folder: Path) -> dict[datetime, Path]:
    """Return the finished backups in the folder by time. Others are ignored."""
    found = {}
    for path in folder.iterdir() if folder.exists() else ():
        try:
            moment = read_time(path.name)
        except ValueError:
            continue
        if (path / FILE_NAME).is_file():
            found[moment] = path
    return dict(sorted(found.items()))


def delete_expired(folder: Path, keep: Keep) -> list[str]:
    """Delete the backups that are not kept; return their names.

    A backup is renamed before it is deleted: no half of one ever has the name of a whole one.
    """
    backups = find_backups(folder)
    kept = select_kept(backups, keep) if keep else set(backups)
    expired = [path for moment, path in backups.items() if moment not in kept]
    for path in expired:
        shutil.rmtree(path.rename(path.with_name(f".{path.name}{PARTIAL}")))
    return [path.name for path in expired]


def delete_abandoned(folder: Path) -> None:
    """Delete what killed backups have left, a day after."""
    for path in folder.glob(f".occurrent-*{PARTIAL}"):
        if time.time() - path.stat().st_mtime > ABANDONED_SECONDS:
            shutil.rmtree(path, ignore_errors=True)
