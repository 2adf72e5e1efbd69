"""Form groups of linked occurrences.

A group has at most one occurrence of each note: two of one note are two events.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from timelines.pipeline.linking.values import Link

Groups = tuple[tuple[str, ...], ...]


def choose_links(links: Iterable[Link], part_of: Mapping[str, int]) -> tuple[Link, ...]:
    """Return the links that join groups without a second one of a note.

    The strongest come first. A link between occurrences that others join already is left out, so
    that undoing one always parts a group.
    """
    group_of: dict[str, set[str]] = {}
    chosen = []
    for link in sorted(links, key=lambda one: -one.strength):
        first, second = (group_of.get(uid, {uid}) for uid in (link.first, link.second))
        notes = [part_of[uid] for uid in (*first, *second)]
        if first is second or len(set(notes)) < len(notes):
            continue
        both = first | second
        group_of.update(dict.fromkeys(both, both))
        chosen.append(link)
    return tuple(chosen)


def find_groups(pairs: Iterable[tuple[str, str]], order: Iterable[str]) -> Groups:
    """Return the groups that linked pairs form.

    Groups and their members are in `order`, which is that of the inventory.
    """
    group_of: dict[str, set[str]] = {}
    for first, second in pairs:
        both = group_of.get(first, {first}) | group_of.get(second, {second})
        group_of.update(dict.fromkeys(both, both))
    places = {uid: at for at, uid in enumerate(order)}
    groups = {tuple(sorted(group, key=places.__getitem__)) for group in group_of.values()}
    return tuple(sorted(groups, key=lambda group: places[group[0]]))
