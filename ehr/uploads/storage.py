"""Where uploads are on the disk, below the folder of files.

`uploads/<public id>/files` has the files, and `uploads/<public id>/reasons` what checks rejected.
`uploads/arriving` has what a request is sending.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from django.conf import settings

from accounts.ids import new_public_id
from ehr.ingest.sources import configured_limits
from ehr.models import ImportJob, Upload
from ehr.uploads.archive import Room, is_zip, unpack
from ehr.uploads.content import check_contents
from ehr.uploads.names import UploadRefused, check_name, show_name
from ehr.uploads.scanner import scan

ARRIVING = "arriving"
#: What a killed process left is removed after a day.
STALE_SECONDS = 24 * 3600


def uploads_folder() -> Path:
    """Return the folder of all uploads."""
    return Path(settings.MEDIA_ROOT) / "uploads"


def upload_folder(public_id: str) -> Path:
    """Return the folder of one upload."""
    return uploads_folder() / public_id


def find_files(upload: Upload) -> Path:
    """Return the folder with the files of an upload."""
    return Path(upload.server_folder or upload_folder(upload.public_id) / "files")


def find_reasons(job: ImportJob) -> Path:
    """Return the file with what a check rejected."""
    return upload_folder(job.upload.public_id) / "reasons" / f"{job.public_id}.csv"


def make_arrival() -> Path:
    """Make an empty folder for the files of one request."""
    arriving = uploads_folder() / ARRIVING
    arriving.mkdir(parents=True, exist_ok=True)
    for old in arriving.iterdir():
        if old.stat().st_mtime < time.time() - STALE_SECONDS:
            shutil.rmtree(old, ignore_errors=True)
    made = arriving / new_public_id()
    made.mkdir()
    return made


def room() -> Room:
    """Return how much one upload may have."""
    return Room(settings.UPLOAD_FILES, settings.UPLOAD_BYTES)


def place_files(public_id: str, files: Iterable[tuple[str, Path]]) -> tuple[int, int]:
    """Move received files to their upload; return count and bytes.

    A zip that comes alone is unpacked. What no import reads is refused, and what the scanner of
    the server refuses. Raises UploadRefused, and then nothing is left of it.
    """
    folder = upload_folder(public_id) / "files"
    folder.mkdir(parents=True)
    try:
        received = list(files)
        if len(received) == 1 and is_zip(received[0][1]):
            unpack(received[0][1], folder, room(), configured_limits())
        else:
            _move(received, folder)
        check_contents(walk_files(folder), folder)
        scan(folder)
        return count_files(folder)
    except BaseException:
        remove_upload(public_id)
        raise


def count_files(folder: Path) -> tuple[int, int]:
    """Return the number of files below a folder and their bytes."""
    sizes = [path.stat().st_size for path in walk_files(folder)]
    return len(sizes), sum(sizes)


def walk_files(folder: Path) -> Iterator[Path]:
    """Yield the regular files below a folder."""
    return (path for path in folder.rglob("*") if path.is_file())


def remove_upload(public_id: str) -> None:
    """Remove the folder of an upload with its files."""
    shutil.rmtree(upload_folder(public_id), ignore_errors=True)


def _move(received: list[tuple[str, Path]], folder: Path) -> None:
    seen: set[str] = set()
    for name, path in received:
        relative = check_name(name)
        if name.lower() in seen:
            raise UploadRefused(f"The file {show_name(name)} was sent twice.")
        seen.add(name.lower())
        if is_zip(path):
            raise UploadRefused("Send a zip alone, or the files themselves.")
        place = folder / relative
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            path.rename(place)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise UploadRefused(f"{show_name(name)} is a file and a folder.") from None
