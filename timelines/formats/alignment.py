"""Align a foreign copy of a note with ours.

They may differ in white space and line endings; every other character must be the same.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from itertools import zip_longest

from timelines.formats.values import Unreadable


def is_blank(character: str) -> bool:
    """Return whether a character is blank.

    White space, byte order marks, and control characters that some formats replace by blanks.
    """
    return (
        character.isspace()
        or unicodedata.category(character) == "Cc"
        or character in "\ufeff\ufffe\uffff"
    )


@dataclass(frozen=True)
class Alignment:
    """Positions of the inked (not blank) characters of two texts.

    The texts agree in all of them; None: the texts are the same.
    """

    ours: tuple[int, ...] | None = None
    theirs: tuple[int, ...] = ()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Map the foreign stretch [start, end) to our note.

        If the texts differ in blanks, the stretch is taken without blanks at its ends. Raises
        Unreadable for a stretch that is empty then.
        """
        if self.ours is None:
            return start, end
        inside = [
            mine for mine, their in zip(self.ours, self.theirs, strict=True) if start <= their < end
        ]
        if not inside:
            raise Unreadable("start", "the span is only white space")
        return inside[0], inside[-1] + 1


def align(theirs: str, ours: str, field: str = "text") -> Alignment:
    """Align two texts of one note; `field` is the place of theirs.

    Raises Unreadable, which names the offset of the first difference and no text, if they are not
    the same note.
    """
    if theirs == ours:
        return Alignment()
    left = [n for n, c in enumerate(theirs) if not is_blank(c)]
    right = [n for n, c in enumerate(ours) if not is_blank(c)]
    for mine, their in zip_longest(right, left):
        if mine is None or their is None or ours[mine] != theirs[their]:
            place = (
                f"{len(theirs) if their is None else their} (ours:"
                f" {len(ours) if mine is None else mine})"
            )
            raise Unreadable(
                field,
                f"the text is not this case's note: first difference at offset {place}; export the"
                " note and annotate that",
            )
    return Alignment(tuple(right), tuple(left))


def same_ink(a: str, b: str) -> bool:
    """Return whether two texts differ only in blanks."""
    return "".join(c for c in a if not is_blank(c)) == "".join(c for c in b if not is_blank(c))


def widest(
    own: tuple[int | None, int | None], place: tuple[int, int], note: str
) -> tuple[int, int]:
    """Return our own record of a span, or the located place.

    Our record is returned if it differs from the place only by blanks at its ends.
    """
    start, end = own
    if start is None or end is None or not start <= place[0] < place[1] <= end <= len(note):
        return place
    return (start, end) if same_ink(note[start:end], note[slice(*place)]) else place
