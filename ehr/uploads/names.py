"""Names of files that a person sends: relative, plain, once each."""

from __future__ import annotations

from pathlib import PurePosixPath

LONGEST_PART, LONGEST_NAME, DEEPEST = 200, 500, 12


class UploadRefused(ValueError):
    """Files that cannot be taken; the message is a sentence for the person.

    It may name a file, never its content.
    """

    log_safe = True


def check_name(name: str) -> PurePosixPath:
    """Return the path of a file below the folder of its upload.

    Raises UploadRefused for an absolute path, one that leaves the folder, and odd names.
    """
    shown = show_name(name)
    if not name or "\\" in name or name.startswith("/") or name[1:2] == ":":
        raise UploadRefused(f"The name {shown} is not relative. Names like folder/file are taken.")
    parts = name.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise UploadRefused(f"The name {shown} leads outside the folder, or has an empty part.")
    if not name.isprintable() or any(part != part.strip() for part in parts):
        raise UploadRefused(f"The name {shown} has characters that cannot be shown. Rename it.")
    if (
        len(name) > LONGEST_NAME
        or len(parts) > DEEPEST
        or any(len(part.encode()) > LONGEST_PART for part in parts)
    ):
        raise UploadRefused(f"The name {shown} is too long or too deep. Rename it.")
    return PurePosixPath(name)


def show_name(name: str) -> str:
    """Return a name as it can be shown in a sentence."""
    printable = name.encode("unicode_escape").decode() if not name.isprintable() else name
    return printable if len(printable) <= 100 else f"{printable[:99]}…"
