"""The edits of a draft in words, for its author. No Django."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ehr.presentation.clock import Clock
from timelines.drafts.document import Change
from timelines.drafts.undoing import BASE, REDO, UNDO
from timelines.drafts.values import DraftOccurrence
from timelines.presentation.authoring.values import TO_DO, time_words

_SAID = {
    "mention": "name",
    "lower": "bounds",
    "upper": "bounds",
    "start": "words in the note",
    "end": "words in the note",
    "rows": "rows",
}
_SILENT = frozenset({"uid", "placed", "entered", "time"})
_DONE = {
    "add": "Added",
    "remove": "Removed",
    "split": "Split",
    "merge": "Merged",
    UNDO: "Undid",
    REDO: "Did again",
}


@dataclass(frozen=True)
class HistoryLine:
    """One edit: what was done, to which mentions, with which result."""

    done: str
    mentions: tuple[str, ...]
    detail: str


def history_line(kind: str, change: Change, undone: str, reason: str, clock: Clock) -> HistoryLine:
    """Return one edit of the log in words.

    `undone` is the kind of the edit that an undo or redo is about.
    """
    if kind == BASE:
        count = len(change.after)
        copied = f"{count} occurrence{'' if count == 1 else 's'} copied"
        return HistoryLine("Began from a timeline", (), copied)
    if kind == "submit":
        return HistoryLine("Submitted", (), "")
    if kind == "reopen":
        return HistoryLine("Opened again", (), reason)
    if kind in (UNDO, REDO):
        return HistoryLine(
            f"{_DONE[kind]}: {_DONE.get(undone, 'Changed').lower()}", _mentions(change), ""
        )
    if kind == "change":
        return HistoryLine("Changed", _mentions(change), "; ".join(_differences(change, clock)))
    return HistoryLine(_DONE[kind], _mentions(change), "")


def _mentions(change: Change) -> tuple[str, ...]:
    """Return the names of the occurrences that the edit is about.

    The added ones, or, if none was added, the removed ones.
    """
    before = {o.uid for o in change.before}
    new = [o for o in change.after if o.uid not in before]
    gone = [o for o in change.before if o.uid in change.removed]
    return tuple(o.mention for o in new or gone or change.after)


def _differences(change: Change, clock: Clock) -> Sequence[str]:
    """Return what is different about each changed occurrence.

    Of its texts only the name is quoted.
    """
    before = {o.uid: o for o in change.before}
    words: list[str] = []
    for o in change.after:
        old = before[o.uid]
        if (old.placed, old.time) != (o.placed, o.time):
            words.append(f"time {_time(old, clock)} → {_time(o, clock)}")
        first, second = old.to_dict(), o.to_dict()
        words += dict.fromkeys(
            _SAID.get(name, name)
            for name in first
            if name not in _SILENT and first[name] != second[name]
        )
    return words


def _time(o: DraftOccurrence, clock: Clock) -> str:
    return time_words(o.time, clock) if o.placed else TO_DO
