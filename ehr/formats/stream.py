"""A format's output for the import if its files exceed the memory.

Encounters come once, then rows block by block.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ehr.formats.base import LONGEST_CASE_ID, EncounterRecord, NoteRecord, Rejection

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class StreamBlock:
    """Rows in source order, with their lines and encounters.

    `lines` ascend; `encounters` are places among the source's encounters. `rows` has the columns of
    `ehr.schema.ROWS` without `row_index`, which the import assigns. `offered` counts the lines of
    the file in this block. Lines that are in neither `rows` nor `rejections` belong to no
    encounter, or say nothing (`left_out`). `refused` are the places of the rejections in a file
    without a header, or whose rejections name no line.
    """

    rows: pa.Table
    encounters: Ints
    lines: Ints
    offered: int
    rejections: tuple[Rejection, ...] = ()
    refused: frozenset[int] | None = None

    @property
    def left_out(self) -> int:
        """Lines that are neither stored nor rejected."""
        stored = self.lines[np.flatnonzero(np.diff(self.lines, prepend=0))]
        rejected = np.array(sorted(_find_refused(self)), np.int64)
        return self.offered - len(stored) - int((~np.isin(rejected, stored)).sum())


@dataclass(frozen=True)
class NoteBlock:
    """Some notes: (place of the encounter, line in the file, note).

    `offered`, `refused` and `left_out` as in `StreamBlock`. `repeats_left_out`: a note that its
    case has already is left out and not rejected, because the format has notes twice.
    """

    notes: tuple[tuple[int, int, NoteRecord], ...]
    offered: int
    rejections: tuple[Rejection, ...] = ()
    refused: frozenset[int] | None = None
    repeats_left_out: bool = False

    @property
    def left_out(self) -> int:
        """Notes of other encounters."""
        return self.offered - len(_find_refused(self).union(line for _, line, _ in self.notes))


def _find_refused(block: StreamBlock | NoteBlock) -> frozenset[int]:
    """Return the places of rejected rows or notes; line 1 is a header."""
    if block.refused is not None:
        return block.refused
    return frozenset(r.line for r in block.rejections if r.line and r.line > 1)


@dataclass(frozen=True)
class StreamFile:
    """One file of rows or notes; reading it again yields the same blocks.

    `beside` are other files that its rows are made with. `place`: all its rows are of this
    encounter, and no other file has any. `entries`: its lines are places of a Bundle's entries.
    `said` is what is known of it from elsewhere, such as an index.
    """

    name: str
    path: Path
    blocks: Callable[[], Iterator[StreamBlock | NoteBlock]]
    beside: tuple[Path, ...] = ()
    place: int | None = None
    notes: bool = False
    entries: bool = False
    said: str = ""

    def reject(self, reason: str, line: int) -> Rejection:
        """Return a rejection of the row or note at a line."""
        if self.entries:
            return Rejection(self.name, reason, None, f"entry[{line - 1}]" if line else "")
        return Rejection(self.name, reason, line)

    def digest(self) -> str:
        """Return what is said of it, the SHA-256 of it and of those beside it."""
        digests = " ".join(_digest(path) for path in (self.path, *self.beside))
        return f"{self.said} {digests}".lstrip()


@dataclass(frozen=True)
class EncounterList:
    """The encounters of a source in a fixed order, with rejections.

    `refused` are whole files or cases, `rejections` lines. `separate`: every encounter has its own
    files, so that others may join the dataset later.
    """

    encounters: Sequence[EncounterRecord]
    rejections: tuple[Rejection, ...] = ()
    refused: tuple[Rejection, ...] = ()
    missing_files: tuple[str, ...] = field(default=())
    unread_files: tuple[str, ...] = field(default=())
    separate: bool = False


def name_choice(format: str, chosen: Collection[str] | None) -> str:
    """Return the identity of a source that is the format and chosen cases."""
    if chosen is None:
        return f"{format} all"
    return f"{format} {hashlib.sha256(' '.join(sorted(chosen)).encode()).hexdigest()}"


def reject_absent(
    chosen: Collection[str] | None,
    known: Collection[str],
    file: str,
    reason: str = "no such case",
    field: str = "",
) -> list[Rejection]:
    """Return a rejection of each chosen case that is not known."""
    absent = sorted(set(chosen or ()) - set(known))
    return [Rejection(file, reason, field=field, case_id=case[:LONGEST_CASE_ID]) for case in absent]


class StreamSource(Protocol):
    """A format over one path.

    `identity` names everything except the files that decides what is read (chosen admissions).
    """

    @property
    def identity(self) -> str: ...

    def encounters(self) -> EncounterList:
        """Read first. Raises FormatError, WrongFile."""
        ...

    def files(self) -> Sequence[StreamFile]:
        """Return the files of rows, then those of notes.

        Rows get their index in this order.
        """
        ...


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Windows:
    """The encounter of a subject at a time, for rows without an admission.

    An encounter lasts from registration to discharge.
    """

    def __init__(self, subjects: Ints, starts: Ints, ends: Ints) -> None:
        """Take parallel arrays, one element for each encounter.

        Times are in microseconds since 1970.
        """
        self._order = np.lexsort((starts, subjects))
        self._subjects, self._starts, self._ends = (
            subjects[self._order],
            starts[self._order],
            ends[self._order],
        )
        self._known = np.unique(self._subjects)
        self._first = int(starts.min()) if len(starts) else 0
        self._span = (int(starts.max()) - self._first + 2) if len(starts) else 1
        self._keys = self._key(self._subjects, self._starts)

    def find(self, subjects: Ints, times: Ints) -> Ints:
        """Return the place of the encounter of each (subject, time).

        The place is -1 if there is none. The latest start wins.
        """
        if not len(self._order):
            return np.full(len(subjects), -1, np.int64)
        at = np.searchsorted(self._keys, self._key(subjects, times), side="right") - 1
        inside = (
            (at >= 0)
            & (self._subjects[at] == subjects)
            & (times >= self._starts[at])
            & (times <= self._ends[at])
        )
        return np.where(inside, self._order[at], -1)

    def _key(self, subjects: Ints, times: Ints) -> Ints:
        ranks = np.searchsorted(self._known, subjects)
        return ranks * self._span + np.clip(times - self._first, 0, self._span - 1)
