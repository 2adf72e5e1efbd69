"""The text that several timelines of a stay have in common.

Timelines of one note share it. If they read different notes, or a chart of them, their text is the
chart of all notes, and the places of their occurrences are moved into it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ehr.models import Encounter, NotePart
from ehr.record.charts import compose, find_note, list_notes
from timelines.models import Inventory
from timelines.runs.storage import checked_text

#: First place of a part, and the characters to add to places from there on, in order.
Moves = list[tuple[int, int]]


@dataclass(frozen=True)
class CommonPlaces:
    """Where in a common text the places of inventories are.

    Without moves they are the same places. `moves` is keyed by the inventory.
    """

    moves: Mapping[int, Moves] = field(default_factory=dict)

    def place(self, inventory: int | None, at: int | None) -> int | None:
        """Return the code point of the common text that is `at` in its own."""
        moves = self.moves.get(inventory) if inventory is not None else None
        if at is None or not moves:
            return at
        return at + moves[max(0, bisect_right(moves, at, key=lambda m: m[0]) - 1)][1]


@dataclass(frozen=True)
class StayText(CommonPlaces):
    """A common text and its places."""

    text: str = ""


def find_places(inventories: Iterable[int | None]) -> CommonPlaces:
    """Return where the places of one stay's inventories are in their text."""
    note_of = _find_notes(inventories)
    if len(set(note_of.values())) < 2:
        return CommonPlaces()
    encounter = Encounter.objects.get(inventories__in=list(note_of)[:1])
    return CommonPlaces(_find_moves(encounter, note_of))


def read_texts(encounter: Encounter, inventories: Iterable[int | None]) -> StayText | None:
    """Return the text of these inventories; None if the stay has no note.

    Without any it is the note of the stay. Raises NoteChanged.
    """
    note_of = _find_notes(inventories)
    if len(set(note_of.values())) > 1:
        notes = list_notes(encounter)
        for note in notes:
            checked_text(note)
        return StayText(_find_moves(encounter, note_of), compose(notes)[0])
    read = encounter.notes.filter(pk__in=note_of.values()).first() or find_note(encounter)
    return None if read is None else StayText(text=checked_text(read))


def _find_notes(inventories: Iterable[int | None]) -> dict[int, int]:
    wanted = {pk for pk in inventories if pk is not None}
    return dict(Inventory.objects.filter(pk__in=wanted).values_list("pk", "note_id"))


def _find_moves(encounter: Encounter, note_of: Mapping[int, int]) -> dict[int, Moves]:
    notes = list_notes(encounter)
    start = {n.pk: place[0] for n, place in zip(notes, compose(notes)[1], strict=True)}
    moves: dict[int, Moves] = {pk: [(0, at)] for pk, at in start.items()}
    for part in NotePart.objects.filter(chart__in=set(note_of.values())).order_by("start"):
        moves.setdefault(part.chart_id, []).append((part.start, start[part.note_id] - part.start))
    return {inventory: moves[note] for inventory, note in note_of.items()}
