"""Find spans for mentions that come without offsets.

By their exact words, never guessed. The rule. A mention matches a place if the note has its very
characters there (a run of white space matches any run of white space), not inside a longer word.
Then

1. a mention listed once that the note has once gets that place;
2. a mention listed n > 1 times that the note has exactly n times gets its places in order,
   but only if the list follows the note:
   at least two mentions are placed by rule 1, and all places together ascend in the order of the
   list;
3. every other mention gets no span: one listed once that the note has twice could be either.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

Place = tuple[int, int]


def locate(mentions: Sequence[str], note: str) -> list[Place | None]:
    """Return a place or None for each mention, in order.

    Places are code points, end-exclusive. Mentions are as people read them, not escaped.
    """
    listed: dict[str, list[int]] = {}
    for number, mention in enumerate(mentions):
        listed.setdefault(" ".join(mention.split()), []).append(number)
    single: dict[int, Place] = {}
    several: dict[int, Place] = {}
    for words, numbers in listed.items():
        places = find_places(words, note)
        if len(places) == len(numbers):
            (single if len(numbers) == 1 else several).update(zip(numbers, places, strict=True))
    together = single | several
    found = (
        together
        if len(single) > 1 and _ascends([together[n] for n in sorted(together)])
        else single
    )
    return [found.get(number) for number in range(len(mentions))]


def find_places(words: str, note: str) -> list[Place]:
    """Return every place of the words in the note, overlaps included."""
    if not words.split():
        return []
    pattern = r"\s+".join(re.escape(word) for word in words.split())
    before = r"(?<!\w)" if words[0].isalnum() else ""
    after = r"(?!\w)" if words[-1].isalnum() else ""
    return [m.span(1) for m in re.finditer(f"(?={before}({pattern}){after})", note)]


def _ascends(places: Sequence[Place]) -> bool:
    return all(a < b for a, b in pairwise(places))
