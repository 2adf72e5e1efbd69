"""Find and change the criteria of a window at any depth.

A place is the path of numbers to a criterion: (0, 1) is the second part of the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from cohorts.engine.language import All, Criterion, Event, Not, Picked, Some, Window

Place = tuple[int, ...]


def list_parts(criterion: Criterion) -> tuple[Criterion, ...]:
    """Return the criteria directly inside of one."""
    match criterion:
        case All(parts) | Some(parts):
            return parts
        case Not(part):
            return (part,)
        case Event():
            return criterion.where.parts
        case _:
            return ()


def put_parts(criterion: Criterion, parts: tuple[Criterion, ...]) -> Criterion:
    """Return a criterion with other criteria directly inside of it."""
    match criterion:
        case All() | Some():
            return replace(criterion, parts=parts)
        case Not():
            return Not(parts[0])
        case Event():
            return replace(criterion, where=All(parts))
        case _:
            return criterion


def walk_places(whole: Criterion, place: Place = ()) -> Iterator[tuple[Place, Criterion]]:
    """Yield the criteria inside of one with their places, each before its own parts."""
    for number, part in enumerate(list_parts(whole)):
        yield (*place, number), part
        yield from walk_places(part, (*place, number))


def find_at(window: Window, place: Place) -> Criterion | None:
    """Return the criterion at a place, None if there is none."""
    return dict(walk_places(window.where)).get(place)


def change_at(
    window: Window, place: Place, change: Callable[[Criterion], Criterion | None]
) -> Window:
    """Return the window with what `change` makes of one criterion; None removes it.

    A group whose last part is removed leaves too. A place that is not there changes nothing.
    """
    where = _change(window.where, place, change)
    return replace(window, where=where if isinstance(where, All) else All())


def _change(
    whole: Criterion, place: Place, change: Callable[[Criterion], Criterion | None]
) -> Criterion | None:
    if not place:
        return change(whole)
    found = list_parts(whole)
    if place[0] >= len(found):
        return whole
    changed = _change(found[place[0]], place[1:], change)
    new = () if changed is None else (changed,)
    parts = (*found[: place[0]], *new, *found[place[0] + 1 :])
    return put_parts(whole, parts) if parts or isinstance(whole, Event) else None


def rename_concepts(window: Window, names: Mapping[str, str]) -> Window:
    """Return the window with other names of concepts, by the names that it has."""
    anchor = window.anchor
    if isinstance(anchor, Picked):
        anchor = _rename_picked(anchor, names)
    parts = tuple(_rename(part, names) for part in window.where.parts)
    return replace(window, anchor=anchor, where=All(parts))


def _rename(criterion: Criterion, names: Mapping[str, str]) -> Criterion:
    if isinstance(criterion, Event):
        criterion = replace(criterion, picked=_rename_picked(criterion.picked, names))
    parts = tuple(_rename(part, names) for part in list_parts(criterion))
    return put_parts(criterion, parts)


def _rename_picked(picked: Picked, names: Mapping[str, str]) -> Picked:
    return replace(picked, concept=names.get(picked.concept, picked.concept))
