"""Cut the entries out of a Bundle without reading all of it at once.

A chunk's quotation marks and brackets are found with numpy; no loop goes over its characters. What
remains of the document has a 0 in the place of each entry, so that JSON's own reader says whether
the document is whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

#: An entry or a document without entries has at most so many bytes.
LONGEST_RESOURCE = 32 << 20
ESCAPE = re.compile(rb"\\.", re.DOTALL)
ENTRIES = re.compile(rb'"entry"\s*:\s*\Z')
KEY_BYTES = 1_000
_QUOTE = ord('"')
_STEPS = np.zeros(256, np.int64)
_STEPS[[ord("{"), ord("[")]] = 1
_STEPS[[ord("}"), ord("]")]] = -1
_MARKS = _STEPS != 0
_MARKS[_QUOTE] = True
#: Depth of the entries' list, and inside an entry.
LIST, ENTRY = 2, 3


class EntryCutter:
    """Reads a document chunk by chunk; `skeleton` is what is no entry.

    An entry longer than LONGEST_RESOURCE comes as None.
    """

    def __init__(self) -> None:
        self.skeleton = bytearray()
        self._entry: bytearray | None = None
        self._listing = self._long = False
        self._depth = 0
        self._quoted = 0
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[bytes | None]:
        """Yield the entries that end in this chunk."""
        chunk = self._rest + chunk
        plain = ESCAPE.sub(b"  ", chunk)
        # A backslash that is left is the first half of an escape.
        self._rest = b"\\" if plain.endswith(b"\\") else b""
        if self._rest:
            chunk, plain = chunk[:-1], plain[:-1]
        start = 0
        for at, opens, depth in self._find_turns(plain):
            if opens and depth == LIST:
                before = bytes(self.skeleton[-KEY_BYTES:]) + chunk[max(start, at - KEY_BYTES) : at]
                self._listing = chunk[at] == ord("[") and bool(ENTRIES.search(before))
            elif not self._listing:
                continue
            elif opens:
                self.skeleton += chunk[start:at]
                self._entry, self._long, start = bytearray(), False, at
            elif depth == LIST and self._entry is not None:
                self._extend(chunk[start : at + 1])
                yield None if self._long else bytes(self._entry)
                self.skeleton += b"0"
                self._entry, start = None, at + 1
            elif depth < LIST:
                self._listing = False
        self._extend(chunk[start:])

    def _find_turns(self, plain: bytes) -> list[tuple[int, bool, int]]:
        """Return (place, opens, depth) of each bracket near the entries' list."""
        data = np.frombuffer(plain, np.uint8)
        places = np.flatnonzero(_MARKS[data])
        marks = data[places]
        quotes = np.cumsum(marks == _QUOTE) + self._quoted
        steps = np.where(quotes % 2 == 0, _STEPS[marks], 0)
        depths = np.cumsum(steps) + self._depth
        if len(places):
            self._quoted, self._depth = int(quotes[-1]) % 2, int(depths[-1])
        opened = (steps == 1) & ((depths == LIST) | (depths == ENTRY))
        closed = (steps == -1) & (depths <= LIST)
        turns = np.flatnonzero(opened | closed)
        return list(
            zip(
                places[turns].tolist(),
                (steps[turns] == 1).tolist(),
                depths[turns].tolist(),
                strict=True,
            )
        )

    def _extend(self, piece: bytes) -> None:
        """Append to the entry, or else to the skeleton."""
        if self._entry is None:
            self.skeleton += piece
        elif len(self._entry) + len(piece) > LONGEST_RESOURCE:
            self._long = True
            self._entry.clear()
        elif not self._long:
            self._entry += piece
