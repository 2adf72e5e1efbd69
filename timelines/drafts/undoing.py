"""Decide what can be undone and redone, from the edit log alone.

So the history outlives the page. No Django. An undo names the edit that it undoes, a redo the edit
that it restores; a new edit clears the redo stack.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

UNDO, REDO = "undo", "redo"
#: The draft was begun from a timeline.
BASE = "base"
#: Steps in the life of a timeline that are no edit of its author, so there is nothing to take back.
MARKS = frozenset({"submit", "reopen", BASE})


@dataclass
class Stacks:
    """Numbers of the edits that can be undone, and redone.

    The next one is last.
    """

    undo: list[int] = field(default_factory=list)
    redo: list[int] = field(default_factory=list)


def stacks(log: Iterable[tuple[int, str, int | None]]) -> Stacks:
    """Return the stacks of a log.

    The log is (number, kind, number of the edit undone or redone) in order.
    """
    found = Stacks()
    for number, kind, target in log:
        if kind in MARKS:
            continue
        if kind == UNDO:
            found.undo.remove(target or 0)
            found.redo.append(target or 0)
        elif kind == REDO:
            found.redo.remove(target or 0)
            found.undo.append(target or 0)
        else:
            found.undo.append(number)
            found.redo.clear()
    return found


def find_undone(log: Iterable[tuple[int, str, int | None]]) -> set[int]:
    """Return the edits that are undone and not redone.

    Read from the same log.
    """
    found: set[int] = set()
    for _, kind, target in log:
        if kind == UNDO:
            found.add(target or 0)
        elif kind == REDO:
            found.discard(target or 0)
    return found
