"""A format's output for the import.

Encounters, notes, rows in columns, and rejections.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pyarrow as pa

RAW_CHARACTERS = 500
LONGEST_CASE_ID, LONGEST_TITLE = 100, 500
#: Bytes of UTF-8; the index of series takes no more.
LONGEST_EVENT = 2_000
GZIP = b"\x1f\x8b"
#: Files that may be in the folder without being part of the data.
PAPERS = ("LICENSE", "README")


class FormatError(ValueError):
    """The path as a whole cannot be read in this format.

    The message names the path and what was expected there.
    """

    log_safe = True


@dataclass(frozen=True, slots=True)
class Rejection:
    """A rejected piece of input.

    `line` counts from 1 and includes a header; `raw` is the text at fault.
    """

    file: str
    reason: str
    line: int | None = None
    field: str = ""
    raw: str = ""
    case_id: str = ""


class WrongFile(ValueError):
    """A file as a whole is unusable; carries the rejection that says why."""

    log_safe = True

    def __init__(self, rejection: Rejection) -> None:
        super().__init__(rejection.reason)
        self.rejection = rejection


@dataclass(frozen=True, slots=True)
class EncounterRecord:
    """One stay.

    Times are naive local; `anchor` is "admission" or "presentation". `zero` says where the
    admission is from if no field of the format gives it.
    """

    case_id: str
    admitted_at: datetime
    discharged_at: datetime | None = None
    title: str = ""
    anchor: str = "admission"
    subject_key: str = ""
    zero: str = ""


@dataclass(frozen=True, slots=True)
class NoteRecord:
    """A note exactly as it is to be shown."""

    text: str
    charted_at: datetime | None = None
    kind: str = "discharge summary"


@dataclass(frozen=True)
class CaseRecord:
    """One case, complete.

    If `encounter` is None, the case was rejected, and `rejections` say why. `rows` has the columns
    of `ehr.schema.ROWS`. `invalid_times` counts the rows left out because their time could not be
    read, `offered` the lines of the file of rows.
    """

    folder: Path
    sha256: str
    encounter: EncounterRecord | None
    notes: tuple[NoteRecord, ...] = ()
    rows: pa.Table | None = None
    invalid_times: int = 0
    rejections: tuple[Rejection, ...] = field(default=())
    offered: int = 0


def is_storable(text: str) -> bool:
    """Return False for text with a NUL character or half a surrogate pair.

    Neither UTF-8 nor the database can store these.
    """
    return not any(c == "\x00" or "\ud800" <= c <= "\udfff" for c in text)


def has_words(text: str) -> bool:
    """Return False for a note of white space and byte order marks only."""
    return bool(text.replace("\ufeff", "").strip())


def describe_fault(path: Path) -> str:
    """Return why the path is no file; "" for a file or for nothing."""
    if path.is_file() or not os.path.lexists(path):
        return ""
    if path.is_dir():
        return "a folder is in the place of the file; move it away"
    if path.is_symlink():
        return "the link leads to no file; fetch the file, or remove the link"
    return "it is no regular file; put the file itself here"


def describe_packing(path: Path) -> str:
    """Return why a file is not packed as its name says, "" if it is.

    An empty file is not judged. Raises OSError.
    """
    with path.open("rb") as file:
        start = file.read(len(GZIP))
    is_named = path.suffix.lower() == ".gz"
    if not start or is_named == (start == GZIP):
        return ""
    if is_named:
        return "the file is not gzipped, or damaged; its name ends in .gz"
    return "the file is gzipped; its name must end in .gz"


def describe_case_id(case: str) -> str:
    """Return why the text is no case id; "" if it is one."""
    if case and len(case) <= LONGEST_CASE_ID and case.isprintable() and case == case.strip():
        return ""
    return (
        f"no case id: longer than {LONGEST_CASE_ID} characters, or with characters that cannot be"
        " shown"
    )


def safe_name(path: Path) -> str:
    """Return the file's name as it can be stored and printed.

    Bytes that are no text and control characters become escapes.
    """
    name = path.name.encode("utf-8", "backslashreplace").decode()
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
