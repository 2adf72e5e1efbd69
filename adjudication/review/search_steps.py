"""What a reviewer says about two searched timelines, in their labels."""

from __future__ import annotations

from dataclasses import dataclass

from adjudication.review.decisions import DecisionRefused
from adjudication.review.search_rows import ListedRow, SearchSides
from adjudication.review.searches import Listed
from adjudication.searching.matching import Kind

#: Kinds by their names for reviewers, which are not those of findings, and in words.
KINDS = (
    ("only", Kind.ONE_SIDED, "only one timeline has this event"),
    ("times", Kind.TIMING, "the times differ"),
    ("details", Kind.VALUE, "values or details differ"),
    ("twice", Kind.DUPLICATE, "one timeline has this event twice"),
    ("neither", Kind.SHARED_UNSUPPORTED, "both have it, and note and record do not support it"),
)
#: (name, words) of each.
CHOICES = [(name, words) for name, _, words in KINDS]
_BY_NAME = {name: str(kind) for name, kind, _ in KINDS}
_NAMES = {kind: (name, words) for name, kind, words in KINDS}


@dataclass(frozen=True, slots=True)
class ShownDifference:
    """A listed difference in the labels of the reviewer."""

    name: str
    kind: str
    a: ListedRow | None
    b: ListedRow | None
    time: float | None
    words: str


def make_listed(
    sides: SearchSides,
    kind: str,
    a: int | None,
    b: int | None,
    time: float | None,
    words: str,
) -> Listed:
    """Return what was said with the judge's labels and keys of entries.

    `a` and `b` are numbers of rows as the reviewer sees them. Raises DecisionRefused.
    """
    left, right = _entry(sides.left, "A", a), _entry(sides.right, "B", b)
    if sides.swapped:
        left, right = right, left
    return Listed(_BY_NAME.get(kind, ""), left, right, time, words.strip())


def show_listed(listed: Listed, sides: SearchSides) -> ShownDifference:
    """Return a stored difference as the reviewer said it."""
    rows = {row.entry: row for row in (*sides.left, *sides.right)}
    a, b = (None if entry is None else rows.get(entry) for entry in (listed.a, listed.b))
    if sides.swapped:
        a, b = b, a
    name, words = _NAMES[Kind(listed.kind)]
    return ShownDifference(name, words, a, b, listed.time, listed.words)


def _entry(rows: tuple[ListedRow, ...], label: str, number: int | None) -> int | None:
    if number is None:
        return None
    if not 1 <= number <= len(rows):
        raise DecisionRefused(f"Timeline {label} has no row {number}.")
    return rows[number - 1].entry
