"""Reconcile two authors of one case into a consensus. No Django.

Pairs that agree are taken over; a person decides every other item. Neither author comes first:
exchanging the two takes over the same occurrences with the same times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from timelines.domain import MAX_CONTEXT
from timelines.drafts.agreement import Agreement, Authored

#: In an item's key, instead of a UID, for an author who did not mark the occurrence.
NOBODY = "none"


@dataclass(frozen=True, slots=True)
class Item:
    """One occurrence of the comparison: of both authors, or of one alone."""

    first: Authored | None
    second: Authored | None
    agrees: bool = False

    @property
    def key(self) -> str:
        """Name it among the items: both UIDs."""
        return "-".join(o.uid if o else NOBODY for o in (self.first, self.second))

    @property
    def sides(self) -> tuple[Authored, ...]:
        return tuple(o for o in (self.first, self.second) if o is not None)

    @property
    def mark(self) -> Authored:
        """Return the occurrence whose words are taken of both.

        The shorter mark; of equal ones the earlier, then the name that sorts first.
        """
        return min(
            self.sides,
            key=lambda o: ((o.end or 0) - (o.start or 0), o.start or 0, o.mention, o.uid),
        )

    @property
    def same_polarity(self) -> bool:
        return len({o.polarity for o in self.sides}) == 1


def list_items(found: Agreement) -> list[Item]:
    """Return all items of a comparison, as the note reads."""
    items = [Item(p.first, p.second, bool(p.within) and p.same_polarity) for p in found.pairs]
    items += [Item(o, None) for o in found.only_first]
    items += [Item(None, o) for o in found.only_second]
    return sorted(items, key=lambda i: (i.mark.start or 0, i.mark.end or 0, i.key))


def take_over(item: Item) -> Authored:
    """Return the occurrence that both authors of an agreeing pair have.

    Its time is the middle of the two. Its bounds contain both times and what each author bounded;
    equal times without bounds have none. It rests on the rows of both.
    """
    times = [o.time for o in item.sides if o.time is not None]
    mark = replace(
        item.mark,
        known=all(o.known for o in item.sides),
        rows=tuple(sorted({row for o in item.sides for row in o.rows})),
    )
    if len(times) < len(item.sides):
        return replace(mark, time=None, lower=None, upper=None, known=False)
    bounds = [b for o in item.sides for b in (o.lower, o.upper) if b is not None]
    # The middle of two equal numbers is that number, also after rounding.
    time = times[0] if min(times) == max(times) else min(times) / 2 + max(times) / 2
    if not bounds and min(times) == max(times):
        return replace(mark, time=time, lower=None, upper=None)
    return replace(mark, time=time, lower=min(times + bounds), upper=max(times + bounds))


def give_contexts(
    taken: Sequence[tuple[Item, Authored, str]],
) -> list[tuple[str, ...]]:
    """Return the contexts of the taken occurrences in their new UIDs.

    `taken` has (item, what was taken, its UID). A context names the same item as in the authors'
    timelines, if that was taken; of neither author's choice, as of the author of its mark.
    """
    firsts: Mapping[str, str] = {i.first.uid: uid for i, _, uid in taken if i.first}
    seconds: Mapping[str, str] = {i.second.uid: uid for i, _, uid in taken if i.second}
    found = []
    for item, occurrence, own in taken:
        of_first = item.first is not None and (occurrence.pk, occurrence.uid) == (
            item.first.pk,
            item.first.uid,
        )
        names = firsts if of_first else seconds
        new = (names[uid] for uid in occurrence.context if uid in names)
        kept = tuple(uid for uid in dict.fromkeys(new) if uid != own)
        found.append(kept[:MAX_CONTEXT])
    return found
