"""The files of exports on the disk, which web process and workers share.

They are in `MEDIA_ROOT/exports`, in one folder for each export. Only the account of the
installation may read them.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

ARCHIVE = "export.zip"


@dataclass(frozen=True, slots=True)
class Store:
    """The files of one export, by its public id."""

    export: str

    @property
    def folder(self) -> Path:
        return exports_folder() / self.export

    @property
    def archive(self) -> Path:
        """The file that people download."""
        return self.folder / ARCHIVE

    def part(self, number: int) -> Path:
        """Return the folder of a written part."""
        return self.folder / "parts" / f"{number:06}"

    def new(self, name: str, fence: int) -> Path:
        """Return an empty place for one claim of the job.

        A worker that lost its lease so never writes into the files of another.
        """
        path = self.folder / "new" / f"{name}-{fence}"
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(mode=0o700, parents=True)
        return path

    def keep_part(self, number: int, written: Path) -> None:
        """Move a written part to its place."""
        part = self.part(number)
        shutil.rmtree(part, ignore_errors=True)
        part.parent.mkdir(exist_ok=True)
        written.rename(part)

    def keep_archive(self, written: Path) -> None:
        """Move the archive to its place."""
        written.rename(self.archive)

    def delete_parts(self) -> None:
        """Delete everything but the archive."""
        for name in ("parts", "new"):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def delete(self) -> None:
        """Delete all files of the export."""
        shutil.rmtree(self.folder, ignore_errors=True)


def exports_folder() -> Path:
    """Return the folder of all exports, which only its owner may read."""
    folder: Path = Path(settings.MEDIA_ROOT) / "exports"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def list_stores() -> Iterator[Store]:
    """Yield what is on the disk."""
    for path in sorted(exports_folder().iterdir()):
        yield Store(path.name)


def hash_file(path: Path, check: Callable[[], None], block: int = 1 << 20) -> str:
    """Return the SHA-256 of a file.

    `check` is called after each block and may raise.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(block):
            digest.update(piece)
            check()
    return digest.hexdigest()
