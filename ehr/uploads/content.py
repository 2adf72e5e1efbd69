"""Check that sent files are what their names say, by their first bytes.

Imports read text, gzip and Parquet. Programs, scripts, office files, images and archives inside an
upload are refused before anything reads them.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from pathlib import Path

from ehr.uploads.names import UploadRefused, show_name

GZIP, PARQUET = "gzip", "Parquet"
#: How files of a kind begin. A text begins with none of these.
KINDS = {
    b"\x1f\x8b": GZIP,
    b"PAR1": PARQUET,
    b"\x7fELF": "a program",
    b"\xfe\xed\xfa\xce": "a program",
    b"\xfe\xed\xfa\xcf": "a program",
    b"\xce\xfa\xed\xfe": "a program",
    b"\xcf\xfa\xed\xfe": "a program",
    b"\xca\xfe\xba\xbe": "a program",
    b"\x00asm": "a program",
    b"#!": "a script",
    b"L\x00\x00\x00\x01\x14\x02\x00": "a shortcut",
    b"PK\x03\x04": "a zip or an office file",
    b"PK\x05\x06": "a zip or an office file",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an office file",
    b"%PDF": "a PDF",
    b"Rar!": "an archive",
    b"7z\xbc\xaf\x27\x1c": "an archive",
    b"BZh9": "an archive",
    b"\xfd7zXZ": "an archive",
    b"\x28\xb5\x2f\xfd": "an archive",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
    b"SQLite format 3": "a database",
}
#: What a name promises.
STATED = {".gz": GZIP, ".parquet": PARQUET}
#: Names of files that a person's computer runs when they are opened.
PROGRAMS = {
    *(".exe", ".dll", ".com", ".scr", ".msi", ".jar", ".lnk", ".bat", ".cmd", ".ps1", ".sh"),
    *(".vbs", ".vbe", ".js", ".jse", ".wsf", ".hta"),
}
#: Programs of Windows begin with these two letters, as a text may, and have zeros soon after.
WINDOWS = b"MZ"
_START = 64


def check_content(path: Path, name: str) -> None:
    """Raise UploadRefused for a file that no format has."""
    if path.suffix.lower() in PROGRAMS:
        raise UploadRefused(f"{show_name(name)} is a program or script by its name. Remove it.")
    with path.open("rb") as file:
        kind = find_kind(file.read(_START))
    stated = STATED.get(path.suffix.lower(), "")
    if stated == GZIP == kind:
        kind, stated = _find_packed_kind(path, name), ""
    if stated and kind != stated:
        raise UploadRefused(f"{show_name(name)} is not {stated}, as its name says. Send it anew.")
    if kind and not stated:
        raise UploadRefused(
            f"{show_name(name)} is {kind}, by its first bytes, which its name does not say. Remove"
            " or rename it."
        )


def find_kind(start: bytes) -> str:
    """Return what begins with these bytes; "" for a text."""
    if start.startswith(WINDOWS) and 0 in start:
        return "a program"
    return next((kind for magic, kind in KINDS.items() if start.startswith(magic)), "")


def check_contents(files: Iterable[Path], folder: Path) -> None:
    """Check all files below the folder. Raises UploadRefused."""
    for path in files:
        check_content(path, path.relative_to(folder).as_posix())


def _find_packed_kind(path: Path, name: str) -> str:
    """Return the kind of what is in a gzip file."""
    try:
        with gzip.open(path) as file:
            return find_kind(file.read(_START))
    except (OSError, EOFError, zlib.error):
        raise UploadRefused(f"{show_name(name)} is damaged or cut short. Pack it again.") from None
