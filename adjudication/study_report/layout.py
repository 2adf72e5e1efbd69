"""How tables fit the width of a page, in characters. No Django."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from timelines.evaluation.published import MARK
from timelines.evaluation.tables import Cell, Content, Table, TableRow, format_words

#: Characters of a line in the small size of tables, and room beside each column.
LINE, BESIDE = 168.0, 2.0
#: No word asks for more; longer ones are broken. No column asks for more; longer ones wrap.
LONGEST_WORD, WIDEST = 24, 60
#: First columns of words, repeated in each part of a wide table.
MOST_LABELS = 2


def split_columns(table: Table) -> list[Table]:
    """Return parts that fit a line; each one begins with the labels."""
    labels = _count_labels(table)
    needs = [need for need, _ in _measure(table)]
    room = LINE - sum(needs[:labels])
    starts, used = [labels], 0.0
    for at in range(labels, len(needs)):
        used += needs[at]
        if used > room and at > starts[-1]:
            starts.append(at)
            used = needs[at]
    if len(starts) == 1:
        return [table] if table.heads else []
    return [
        _pick(table, [*range(labels), *range(first, last)])
        for first, last in pairwise([*starts, len(needs)])
    ]


def column_widths(table: Table) -> list[float]:
    """Return the columns' widths in characters.

    Words stay whole where the line has room.
    """
    measured = _measure(table)
    spare = LINE - sum(need for need, _ in measured)
    wished = sum(wish - need for need, wish in measured)
    if spare <= 0:
        return [LINE * need / (LINE - spare) for need, _ in measured]
    share = min(1.0, spare / wished) if wished else 0.0
    return [need + share * (wish - need) for need, wish in measured]


def is_number(table: Table, at: int) -> bool:
    """Whether a column has counts or figures, which are set to the right."""
    return any(isinstance(row[at], int | Cell) for row in table.rows)


def is_published(row: TableRow) -> bool:
    """Whether a line has published figures, not ours."""
    return isinstance(row[0], str) and row[0].endswith(f"({MARK})")


def _measure(table: Table) -> list[tuple[float, float]]:
    """Return what each column needs to break no word, and what it wishes."""
    found = []
    for at, head in enumerate(table.heads):
        texts = [head, *(format_words(row[at]) for row in table.rows)]
        word = max((len(word) for text in texts for word in text.split()), default=0)
        longest = max(len(text) for text in texts)
        need = max(min(word, LONGEST_WORD), min(longest, WIDEST) / 4)
        found.append((need + BESIDE, max(need, min(longest, WIDEST)) + BESIDE))
    return found


def _count_labels(table: Table) -> int:
    """Count the first columns that have only words.

    At least one column is left over.
    """
    most = min(MOST_LABELS, len(table.heads) - 1)
    for at in range(most):
        if is_number(table, at):
            return at
    return max(0, most)


def _pick(table: Table, places: Sequence[int]) -> Table:
    rows: list[tuple[Content, ...]] = [tuple(row[at] for at in places) for row in table.rows]
    return replace(table, heads=tuple(table.heads[at] for at in places), rows=tuple(rows))
