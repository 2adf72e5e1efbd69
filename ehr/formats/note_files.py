"""Files with one note each: their names and their text.

A name gives the case, the time at which the note was written and its kind, separated by two
underscores: `CASE.txt`, `CASE__TIME.txt`, `CASE__TIME__KIND.txt`. Another pattern may be given.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from ehr.formats.base import (
    PAPERS,
    FormatError,
    NoteRecord,
    Rejection,
    WrongFile,
    has_words,
)
from ehr.formats.limits import Limits

SUFFIX = ".txt"
LONGEST_KIND = 40
DISCHARGE_SUMMARY = "discharge summary"
DEFAULT_PATTERNS = ("{case}__{time}__{kind}", "{case}__{time}", "{case}")
#: Names of notes in a folder for each stay, whose name is the case.
FOLDER_PATTERNS = ("{time}__{kind}", "{time}", "{kind}")
#: 20500131, 2050-01-31T08-30, 2050-01-31 083000; a zone at the end is left out.
TIME = r"\d{4}-?\d{2}-?\d{2}(?:[T_ -]?\d{2}[-:.]?\d{2}(?:[-:.]?\d{2})?(?:Z|[+]\d{2}:?\d{2})?)?"
#: Kinds as files are named by them.
_SHORT_KINDS = {
    "summary": DISCHARGE_SUMMARY,
    "discharge": DISCHARGE_SUMMARY,
    "discharge note": DISCHARGE_SUMMARY,
    "discharge letter": DISCHARGE_SUMMARY,
    "progress": "progress note",
    "admission": "admission note",
}
_KIND_NAME = re.compile(
    r"(?:^|[_\W])(?:note|notes|progress|summary|discharge|admission|consult|consultation|letter|"
    r"history|radiology|report|nursing|triage|ed|icu|h&p)(?:[_\W\d]|$)",
    re.IGNORECASE,
)
_FIELDS = {
    "case": r"(?P<case>.+?)",
    "time": rf"(?P<time>{TIME})",
    "kind": r"(?P<kind>.+?)",
    "admitted": rf"(?P<admitted>{TIME})",
}


@dataclass(frozen=True, slots=True)
class NoteName:
    """What the name of a note's file says; a time is None without one.

    `fault` says why the name is unusable.
    """

    case: str
    written_at: datetime | None = None
    kind: str = DISCHARGE_SUMMARY
    admitted_at: datetime | None = None
    fault: str = ""


@dataclass(frozen=True)
class Patterns:
    """Patterns of names without `.txt`; the first that fits counts."""

    expressions: tuple[re.Pattern[str], ...]

    def read(self, path: Path) -> NoteName | None:
        """Return what the name says, None if no pattern fits."""
        stem = path.name[: -len(SUFFIX)] if is_note(path) else path.name
        found = next((m for e in self.expressions if (m := e.fullmatch(stem))), None)
        if found is None:
            return None
        said = found.groupdict()
        kind = make_kind(said["kind"]) if said.get("kind") else DISCHARGE_SUMMARY
        case = said.get("case") or ""
        try:
            written, admitted = (_parse_time(said.get(c) or "") for c in ("time", "admitted"))
        except ValueError:
            return NoteName(case, kind=kind, fault="the time in the file's name does not exist")
        return NoteName(case, written, kind, admitted)


def is_note(path: Path) -> bool:
    """Return True for `.txt`, also in capitals."""
    return path.suffix.lower() == SUFFIX


def make_patterns(*patterns: str) -> Patterns:
    """Compile patterns such as `{case}__{time}__{kind}`.

    Raises FormatError for an unknown or repeated field, and without any.
    """
    return Patterns(tuple(_compile(pattern) for pattern in patterns))


def make_case_patterns(pattern: str) -> Patterns:
    """Compile a person's pattern of names; the default ones for "".

    Raises FormatError, also for a pattern without a case.
    """
    if pattern and "{case}" not in pattern:
        raise FormatError(f"The pattern {pattern} has no {{case}}.")
    return make_patterns(*((pattern,) if pattern else DEFAULT_PATTERNS))


def make_kind(text: str) -> str:
    """Return the kind of a note as it is stored; "note" for nothing."""
    words = text.lower().replace("_", " ").split()
    kind = "".join(c for c in " ".join(words) if c.isprintable())
    return kind[:LONGEST_KIND].strip() or "note"


def read_name_in_stay(path: Path) -> NoteName | None:
    """Return what the name of a note in the folder of its stay says.

    "progress_2.txt" is one more progress note.
    """
    said = make_patterns(*FOLDER_PATTERNS).read(path)
    if said is None:
        return None
    kind = said.kind.rstrip(" -0123456789") or said.kind
    return replace(said, case=path.parent.name, kind=_SHORT_KINDS.get(kind, kind))


def list_stay_folders(folder: Path) -> list[Path]:
    """Return the folders inside a folder that have notes of one stay each.

    They are if there are several, or if the notes of the only one are named by their kinds.
    """
    inner = sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
    found = [p for p in inner if list_notes(p)]
    if len(found) == 1 and not all(_KIND_NAME.search(n.stem) for n in list_notes(found[0])):
        return []
    return found


def list_notes(folder: Path) -> list[Path]:
    """Return the notes of a folder by name, without papers about them."""
    hidden = (".", *PAPERS)
    return sorted(p for p in folder.iterdir() if is_note(p) and not p.name.startswith(hidden))


def order_key(note: NoteName) -> tuple[bool, datetime]:
    """Sort discharge summaries first, then notes by time."""
    return note.kind != DISCHARGE_SUMMARY, note.written_at or datetime.max


def read_note(path: Path, name: str, limits: Limits) -> str:
    """Return the note's text.

    Raises WrongFile if it is too long, empty, not UTF-8 or has a NUL character.
    """
    if path.stat().st_size > limits.note_bytes:
        reason = f"the note has more than {limits.note_bytes:,} bytes (IMPORT_NOTE_BYTES)"
        raise WrongFile(Rejection(name, reason))
    content = path.read_bytes()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise WrongFile(Rejection(name, "the line is not UTF-8 text", line)) from None
    if "\x00" in text:
        line = text[: text.index("\x00")].count("\n") + 1
        raise WrongFile(Rejection(name, "the note has a NUL character", line))
    if not has_words(text):
        raise WrongFile(Rejection(name, "the note is empty"))
    return text


def make_note(text: str, said: NoteName) -> NoteRecord:
    """Return the note with what its name says."""
    return NoteRecord(text, said.written_at, said.kind)


def _compile(pattern: str) -> re.Pattern[str]:
    pieces = re.split(r"\{(\w+)\}", pattern.removesuffix(SUFFIX))
    names = pieces[1::2]
    if not names or len(set(names)) < len(names) or set(names) - set(_FIELDS):
        raise FormatError(
            f"The pattern {pattern} is unusable. It may have {{case}}, {{time}}, {{kind}} and"
            " {admitted}, each once."
        )
    return re.compile(
        "".join(_FIELDS[p] if i % 2 else re.escape(p) for i, p in enumerate(pieces)), re.DOTALL
    )


def _parse_time(text: str) -> datetime | None:
    """Return the local time of a name. Raises ValueError."""
    digits = re.sub(r"\D", "", re.sub(r"(Z|[+].*)$", "", text))
    return datetime.strptime(digits.ljust(14, "0"), "%Y%m%d%H%M%S") if digits else None
