"""The lines of brat's standoff: annotations, notes and attributes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from timelines.formats.alignment import same_ink
from timelines.formats.fields import parse_object
from timelines.formats.values import Unreadable

ABSENT = frozenset({"absent", "negated", "negation"})
_PAIR = re.compile(r"(time|lower|upper|known|confidence)\s*=\s*(\S+)")
_PIECE = re.compile(r"\d{1,9} \d{1,9}")
Piece = tuple[int, int]


@dataclass(frozen=True)
class Span:
    """A text-bound annotation: its identifier, type, pieces and quote."""

    name: str
    label: str
    pieces: list[Piece]
    words: str

    def fits(self, text: str) -> bool:
        """Return whether its pieces of the text are what it quotes."""
        return same_ink("".join(text[a:b] for a, b in self.pieces), self.words)


def read_span(line: str) -> Span:
    """Return the annotation of a line. Raises Unreadable."""
    parts = line.split("\t", 2)
    if len(parts) < 3 or " " not in parts[1]:
        raise Unreadable("T", "not `T1<tab>Type start end<tab>text`; the file may be cut off")
    label, where = parts[1].split(" ", 1)
    if not all(_PIECE.fullmatch(piece) for piece in where.split(";")):
        raise Unreadable("T", "offsets are not whole numbers")
    pieces = [(int(a), int(b)) for a, b in (piece.split(" ") for piece in where.split(";"))]
    if any(a >= b for a, b in pieces) or pieces != sorted(pieces):
        raise Unreadable("T", "offsets are reversed or out of order")
    return Span(parts[0], label, pieces, parts[2])


def read_notes(lines: list[tuple[int, str]]) -> dict[str, dict[str, Any]]:
    """Return the contents of its notes for each annotation.

    Free words of an annotator are not a fault and are not read.
    """
    found: dict[str, dict[str, Any]] = {}
    for number, line in lines:
        head, _, words = line.partition("\t")
        kind, _, words = words.partition("\t")
        if not head.startswith("#") or " " not in kind:
            continue
        target = kind.split(" ", 1)[1]
        if words.startswith("{"):
            try:
                found[target] = parse_object(words)
            except Unreadable as error:
                raise Unreadable("#", error.reason, number) from None
        else:
            pairs: dict[str, Any] = {key: value.rstrip(",;") for key, value in _PAIR.findall(words)}
            if pairs.get("known") in ("0", "1"):
                pairs["known"] = int(pairs["known"])
            found.setdefault(target, {}).update(pairs)
    return found


def find_absent(lines: list[tuple[int, str]]) -> set[str]:
    """Return the annotations with an attribute that makes them absent."""
    words = (
        line.split("\t")[1].split() for _, line in lines if line[:1] in ("A", "M") and "\t" in line
    )
    return {found[1] for found in words if len(found) >= 2 and found[0].lower() in ABSENT}
