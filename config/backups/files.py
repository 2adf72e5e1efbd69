"""The files below MEDIA_ROOT (uploads and exports) as one tar stream."""

from __future__ import annotations

import shutil
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import IO

from config.backups.errors import BackupError


def find_files(folder: Path) -> list[Path]:
    """Return every regular file below the folder, sorted. Links are left out."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def write_tar(folder: Path, out: IO[bytes]) -> int:
    """Write the files below the folder to a tar stream; return how many.

    Files that are deleted meanwhile are left out.
    """
    count = 0
    with tarfile.open(fileobj=out, mode="w|") as tar:
        for path in find_files(folder):
            with suppress(FileNotFoundError), path.open("rb") as file:
                entry = tar.gettarinfo(arcname=str(path.relative_to(folder)), fileobj=file)
                tar.addfile(entry, file)
                count += 1
    return count


def read_tar(stream: IO[bytes], folder: Path | None = None) -> int:
    """Return the number of files of a tar stream; extract them to `folder`.

    Raises BackupError for damaged data, and for entries that would leave the folder.
    """
    count = 0
    try:
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for entry in tar:
                count += 1
                if folder is not None:
                    tar.extract(entry, folder, filter="data")
    except tarfile.TarError:
        raise BackupError("The part with the files is damaged. Use another backup.") from None
    # What follows the end of the archive must be read too, else its writer would not end.
    shutil.copyfileobj(stream, _Nowhere())
    return count


def empty_folder(folder: Path) -> None:
    """Delete what is in the folder; the folder stays, it may be a mount."""
    for path in folder.iterdir() if folder.exists() else ():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


class _Nowhere:
    def write(self, data: bytes) -> None:
        """Drop the data."""
