"""Check that sent files are what their names say, by their first bytes.

Programs, scripts and shortcuts are refused before anything reads them, and so is a file of one kind
under the name of another.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ehr.uploads.names import UploadRefused, show_name


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file: how it begins, and the endings of its names.

    Without endings it is never taken.
    """

    words: str
    starts: tuple[bytes, ...]
    endings: frozenset[str] = frozenset()


def _kind(words: str, endings: str, *starts: bytes) -> Kind:
    return Kind(words, starts, frozenset(endings.split()))


PROGRAM = Kind(
    "a program",
    (
        b"\x7fELF",
        b"\xfe\xed\xfa\xce",
        b"\xfe\xed\xfa\xcf",
        b"\xce\xfa\xed\xfe",
        b"\xcf\xfa\xed\xfe",
        b"\xca\xfe\xba\xbe",
        b"\x00asm",
    ),
)
GZIP = _kind("gzip", ".gz .tgz", b"\x1f\x8b")
#: A text begins with none of these.
KINDS = (
    PROGRAM,
    _kind("a script", "", b"#!"),
    _kind("a shortcut", "", b"L\x00\x00\x00\x01\x14\x02\x00"),
    GZIP,
    _kind("Parquet", ".parquet", b"PAR1"),
    _kind("a zip", ".zip .docx .xlsx .pptx .odt .ods", b"PK\x03\x04", b"PK\x05\x06"),
    _kind("an office file", ".doc .xls .ppt .msg", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    _kind("a PDF", ".pdf", b"%PDF"),
    _kind("an archive", ".rar .7z .bz2 .xz .zst", b"Rar!", b"7z\xbc\xaf\x27\x1c", b"BZh9"),
    _kind("an archive", ".xz .zst", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd"),
    _kind("an image", ".png .jpg .jpeg .gif", b"\x89PNG", b"\xff\xd8\xff", b"GIF8"),
    _kind("a database", ".db .sqlite .sqlite3", b"SQLite format 3"),
)
#: Endings of files that imports read: what they promise must be true.
STATED = {".gz": "gzip", ".parquet": "Parquet"}
#: Names of files that a person's computer runs when they are opened.
PROGRAMS = {
    *(".exe", ".dll", ".com", ".scr", ".msi", ".jar", ".lnk", ".bat", ".cmd", ".ps1", ".sh"),
    *(".vbs", ".vbe", ".js", ".jse", ".wsf", ".hta"),
}
#: Programs of Windows begin with these two letters, as a text may, and have zeros soon after.
WINDOWS = b"MZ"
_START = 64


def check_content(path: Path, name: str) -> None:
    """Raise UploadRefused for a program, and for a name that misleads."""
    ending, shown = path.suffix.lower(), show_name(name)
    if ending in PROGRAMS:
        raise UploadRefused(f"{shown} is a program or script by its name. Remove it.")
    with path.open("rb") as file:
        kind = find_kind(file.read(_START))
    words = "text" if kind is None else kind.words
    if STATED.get(ending, words) != words or (kind and ending not in kind.endings):
        raise UploadRefused(
            f"{shown} is {words} by its first bytes, not what its name says. Remove or rename it."
        )
    if kind is GZIP and _find_packed_kind(path, shown) is PROGRAM:
        raise UploadRefused(f"{shown} has a program inside. Remove it.")


def find_kind(start: bytes) -> Kind | None:
    """Return what begins with these bytes; None for a text."""
    if start.startswith(WINDOWS) and 0 in start:
        return PROGRAM
    return next((kind for kind in KINDS if start.startswith(kind.starts)), None)


def check_contents(files: Iterable[Path], folder: Path) -> None:
    """Check all files below the folder. Raises UploadRefused."""
    for path in files:
        check_content(path, path.relative_to(folder).as_posix())


def _find_packed_kind(path: Path, shown: str) -> Kind | None:
    """Return the kind of what is in a gzip file. Raises UploadRefused."""
    try:
        with gzip.open(path) as file:
            return find_kind(file.read(_START))
    except (OSError, EOFError, zlib.error):
        raise UploadRefused(f"{shown} is damaged or cut short. Pack it again.") from None
