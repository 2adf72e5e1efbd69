"""Find the sentence of an occurrence.

It is the first step of the provenance.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: A sentence ends at a blank line, at a line that ends one, or at closing punctuation followed by a
#: capital, a digit or a line end.
_END = re.compile(r"[.!?][\"')\]]*(?=\s+[A-Z0-9\"(\[])|\n\s*\n|(?<=[:.!?])[ \t]*\r?\n")
LONGEST = 420


@dataclass(frozen=True, slots=True)
class Sentence:
    """Three pieces that follow each other in the note.

    `cut_before` and `cut_after` say that the sentence goes on.
    """

    before: str
    span: str
    after: str
    cut_before: bool = False
    cut_after: bool = False

    @property
    def text(self) -> str:
        return f"{self.before}{self.span}{self.after}"


def find_sentence(note: str, start: int, end: int) -> Sentence:
    """Return the sentence (or list line) of [start, end).

    Each side is cut to `LONGEST` code points.
    """
    left_limit, right_limit = max(0, start - LONGEST), min(len(note), end + LONGEST)
    # One character more: the end of the sentence before is known by the capital that follows it.
    ends = (m.end() for m in _END.finditer(note, left_limit, start + 1))
    left = max((end for end in ends if end <= start), default=left_limit)
    right_match = _END.search(note, end, right_limit)
    right = right_match.end() if right_match else right_limit
    return Sentence(
        before=note[left:start].lstrip(),
        span=note[start:end],
        after=note[end:right].rstrip(),
        cut_before=left == left_limit > 0,
        cut_after=right_match is None and right_limit < len(note),
    )
