"""The copy of a note that brat shows, and spans in it.

Readers of brat's files open the text with universal line ends, so in a note with CRLF their
offsets would differ from ours. The copy has line feeds only.
"""

from __future__ import annotations

import re

#: Some readers end a line at any of these, so no piece of an annotation contains one.
_LINE = re.compile("[^\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")
_LINE_END = re.compile("\r\n?")


def fold_line_ends(note: str) -> str:
    """Return the note with a line feed for each line end."""
    return _LINE_END.sub("\n", note)


def fragments(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the span without its line ends.

    An annotation of brat stays on one line.
    """
    return [(m.start(), m.end()) for m in _LINE.finditer(text, start, end)]


def fold_fragments(note: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the pieces of a span of the note, in the copy."""
    first, last = len(fold_line_ends(note[:start])), len(fold_line_ends(note[:end]))
    return fragments(fold_line_ends(note), first, last)
