"""What a format hands to the import when its files are larger than memory: encounters once, then rows block by block."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ehr.formats.base import EncounterRecord, NoteRecord, Rejection

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class StreamBlock:
    """Rows in source order and, one number a row, the place of their encounter among the source's encounters.

    `rows` has the columns of `ehr.schema.ROWS` without `row_index`, which the import gives out.
    """

    rows: pa.Table
    encounters: Ints
    rejections: tuple[Rejection, ...] = ()


@dataclass(frozen=True)
class StreamFile:
    """One file of rows; reading it again yields the same blocks. `beside` are other files that its rows are made with."""

    name: str
    path: Path
    blocks: Callable[[], Iterator[StreamBlock]]
    beside: tuple[Path, ...] = ()

    def digest(self) -> str:
        """SHA-256 of the bytes of the file and those beside it."""
        return " ".join(_digest(path) for path in (self.path, *self.beside))


@dataclass(frozen=True)
class NoteBlock:
    """Some notes, with the places of their encounters."""

    notes: tuple[tuple[int, NoteRecord], ...]
    rejections: tuple[Rejection, ...] = ()


@dataclass(frozen=True)
class EncounterList:
    """The encounters of a source in a fixed order, what was rejected among them, and what could not be found."""

    encounters: Sequence[EncounterRecord]
    rejections: tuple[Rejection, ...] = ()
    missing_files: tuple[str, ...] = field(default=())


class StreamSource(Protocol):
    """A format over one path. `identity` names everything beside the files that decides what is read (chosen admissions)."""

    @property
    def identity(self) -> str: ...

    def encounters(self) -> EncounterList:
        """Read first. Raises FormatError, WrongFile."""
        ...

    def files(self) -> Sequence[StreamFile]:
        """The files of rows in the order in which rows get their index."""
        ...

    def notes(self) -> Iterator[NoteBlock]:
        """All notes of the encounters."""
        ...


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Windows:
    """Which encounter of a subject a moment falls into, for rows that name no admission: from registration to discharge."""

    def __init__(self, subjects: Ints, starts: Ints, ends: Ints) -> None:
        """Parallel arrays, one element an encounter; times in microseconds since 1970."""
        self._order = np.lexsort((starts, subjects))
        self._subjects, self._starts, self._ends = subjects[self._order], starts[self._order], ends[self._order]
        self._known = np.unique(self._subjects)
        self._first = int(starts.min()) if len(starts) else 0
        self._span = (int(starts.max()) - self._first + 2) if len(starts) else 1
        self._keys = self._key(self._subjects, self._starts)

    def find(self, subjects: Ints, times: Ints) -> Ints:
        """The place of the encounter of each (subject, time); -1 where there is none. The latest start wins."""
        if not len(self._order):
            return np.full(len(subjects), -1, np.int64)
        at = np.searchsorted(self._keys, self._key(subjects, times), side="right") - 1
        inside = (at >= 0) & (self._subjects[at] == subjects) & (times >= self._starts[at]) & (times <= self._ends[at])
        return np.where(inside, self._order[at], -1)

    def _key(self, subjects: Ints, times: Ints) -> Ints:
        ranks = np.searchsorted(self._known, subjects)
        return ranks * self._span + np.clip(times - self._first, 0, self._span - 1)
