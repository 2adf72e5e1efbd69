"""Both timelines of a search in the blinded form, with the rows' keys."""

from __future__ import annotations

from dataclasses import dataclass

from adjudication.blinding.phrases import NoteWords
from adjudication.blinding.rows import Reader, TimelineRow
from adjudication.blinding.visibility import are_sides_swapped
from adjudication.models import Assignment, Game, PairSearch
from adjudication.review.items import load_clock, load_timeline_rows
from timelines.models import Timeline
from timelines.runs.stay_text import read_texts


@dataclass(frozen=True, slots=True)
class ListedRow:
    """A row as reviewers see it; `number` is its place in the list, from 1.

    Pages show no `entry`, the key of the timeline's entry.
    """

    number: int
    entry: int
    event: str
    when: str


@dataclass(frozen=True, slots=True)
class SearchSides:
    """The note and both lists; `swapped`: the left one is the judge's B."""

    note: str
    left: tuple[ListedRow, ...]
    right: tuple[ListedRow, ...]
    swapped: bool


def load_sides(assignment: Assignment, search: PairSearch) -> SearchSides:
    """Return both lists as this person sees them.

    Raises NoteChanged if the note differs from the imported one, LookupError if there is none.
    """
    reader, keyed = _load_game(search.game)
    left, right = (_list_rows(reader, rows) for rows in keyed)
    swapped = are_sides_swapped(assignment.seed, search.public_id)
    if swapped:
        left, right = right, left
    return SearchSides(reader.words.note, left, right, swapped)


def load_places(game: Game) -> dict[int, tuple[int, int] | None]:
    """Map the entries of both timelines to their places in the note."""
    _, keyed = _load_game(game)
    return {entry: row.span for rows in keyed for entry, row in rows}


def _load_game(game: Game) -> tuple[Reader, list[list[tuple[int, TimelineRow]]]]:
    """Return the reader and the keyed rows of the judge's A and B."""
    comparison = game.comparison
    pair = (comparison.first, comparison.second)
    inventories = (pair[0].inventory_id, pair[1].inventory_id)
    text = read_texts(comparison.encounter, inventories)
    if text is None:
        raise LookupError("a case without a note cannot be reviewed")
    clock = load_clock(comparison.encounter)
    reader = Reader(NoteWords(text.text), clock, None not in inventories)
    sides = pair if game.a_is_first else pair[::-1]
    return reader, [
        list(zip(_keys(side), load_timeline_rows(side, text), strict=True)) for side in sides
    ]


def _keys(timeline: Timeline) -> list[int]:
    return list(timeline.entries.order_by("pk").values_list("pk", flat=True))


def _list_rows(reader: Reader, rows: list[tuple[int, TimelineRow]]) -> tuple[ListedRow, ...]:
    """Return rows in words, by time and then by the note.

    The same order as that of `describe_list`.
    """
    found = []
    for entry, row in rows:
        (shown,) = reader.describe_list([row])
        place = reader.locate(row) or (0, 0)
        found.append((shown.at is None, shown.at or 0.0, place, shown.event, entry, shown.when))
    found.sort(key=lambda one: one[:4])
    return tuple(
        ListedRow(number, entry, event, when)
        for number, (_, _, _, event, entry, when) in enumerate(found, 1)
    )
