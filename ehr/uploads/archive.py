"""Unpack a zip into a folder, and refuse what could do harm.

Links, absolute paths, paths outside the folder, encryption, too many files, and files that become
too large: by what the archive states, then by what was written.
"""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ehr.formats.limits import Limits
from ehr.formats.recognition import CLUTTER
from ehr.uploads.names import UploadRefused, check_name, show_name

CHUNK = 1 << 20
DAMAGED = "The zip is damaged or cut short. Pack it again."
#: Bits of an entry: it is encrypted.
ENCRYPTED = 0x1


@dataclass(frozen=True, slots=True)
class Room:
    """How many files and bytes an upload may have."""

    files: int
    bytes: int

    def check(self, files: int, size: int) -> None:
        """Raise UploadRefused if there are more."""
        if files > self.files:
            raise UploadRefused(
                f"There are more than {self.files:,} files (UPLOAD_FILES). Bring fewer at once."
            )
        if size > self.bytes:
            raise UploadRefused(
                f"The files have more than {self.bytes:,} bytes unpacked (UPLOAD_BYTES). Bring"
                " fewer at once, or use a folder of the server."
            )


def is_zip(path: Path) -> bool:
    """Return True for a zip, by its first bytes."""
    with path.open("rb") as file:
        return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")


def unpack(path: Path, folder: Path, room: Room, limits: Limits) -> None:
    """Write the files of a zip below the folder. Raises UploadRefused."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = list(_find_entries(archive, room, limits))
            written = 0
            for entry, name in entries:
                place = folder / name
                place.parent.mkdir(parents=True, exist_ok=True)
                for size in _write(archive, entry, place):
                    written += size
                    room.check(len(entries), written)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        if isinstance(error, UploadRefused):
            raise
        raise UploadRefused(DAMAGED) from None
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        raise UploadRefused("The zip has a file and a folder of the same name.") from None


def _find_entries(
    archive: zipfile.ZipFile, room: Room, limits: Limits
) -> Iterator[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """Yield the files with their checked names. Raises UploadRefused."""
    seen: set[str] = set()
    stated = packed = 0
    for entry in archive.infolist():
        if entry.is_dir():
            check_name(entry.filename.rstrip("/"))
            continue
        name = check_name(entry.filename)
        _check_kind(entry)
        if _is_clutter(name):
            continue
        if name.as_posix().lower() in seen:
            raise UploadRefused(f"The zip has {show_name(entry.filename)} twice.")
        seen.add(name.as_posix().lower())
        stated, packed = stated + entry.file_size, packed + entry.compress_size
        room.check(len(seen), stated)
        if limits.find_excess(stated, packed, None):
            raise UploadRefused(
                f"The zip becomes more than {limits.expansion} times as large (IMPORT_EXPANSION)."
            )
        yield entry, name
    if not seen:
        raise UploadRefused("The zip has no file.")


def _check_kind(entry: zipfile.ZipInfo) -> None:
    """Raise UploadRefused for a link, a device or an encrypted file."""
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise UploadRefused(
            f"{show_name(entry.filename)} is a link or no regular file. Pack the file itself."
        )
    if entry.flag_bits & ENCRYPTED:
        raise UploadRefused("The zip is encrypted. Pack it without a password.")


def _is_clutter(name: PurePosixPath) -> bool:
    return any(part in CLUTTER or part.startswith(".") for part in name.parts)


def _write(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, place: Path) -> Iterator[int]:
    """Write one file; yield the sizes of what was written."""
    with archive.open(entry) as source, place.open("xb") as target:
        while chunk := source.read(CHUNK):
            target.write(chunk)
            yield len(chunk)
