"""Pages of a judge run's findings, filtered and sorted.

A page continues after the last finding of the one before, so every page costs the same. The order
is by groups of facets and within a group by columns that an index has, so only the findings of a
page are read, or of a filter that few findings match (docs/adr/0066-judging-at-scale.md).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import or_
from typing import Any

from django.db.models import Q, QuerySet

from adjudication.access.closed import ClosedObjects, exclude_closed_findings
from adjudication.findings.facets import Facet, count_facets, find_closed_games, read_facet
from adjudication.findings.listing import RELATED, FindingFilter
from adjudication.models import Finding, JudgeRun
from adjudication.scoring.errors import WEIGHTS, Category
from ehr.models import Encounter

#: The order of files and of the API; the others are `SORTS` of lists.
IN_GAMES = "game"
#: A group of findings in the order of the list, as values that compare.
Rank = tuple[Any, ...]
_WITHOUT_HOURS = 4
_SIZE_RANK = {"same": 0, "hours": 1, "days": 2, "weeks": 3}
#: Hours between both times of a group: (least, most), exclusive.
_HOURS = {0: (0, 1), 1: (1, 24), 2: (24, 168), 3: (168, None)}


def _rank_size(facet: Facet) -> Rank:
    return (_SIZE_RANK.get(facet.size, _WITHOUT_HOURS),)


def _rank_weight(facet: Facet) -> Rank:
    return (WEIGHTS[Category(facet.category)] if facet.category else 0.0, facet.category)


RANKS: Mapping[str, Callable[[Facet], Rank]] = {
    IN_GAMES: lambda facet: (),
    "case": lambda facet: (),
    "type": lambda facet: (facet.type,),
    "verdict": lambda facet: (facet.verdict,),
    "size": _rank_size,
    "grounding": lambda facet: (facet.grounding,),
    "weight": _rank_weight,
}
IN_ORDER = ("game_id", "ordinal")


@dataclass(frozen=True)
class Group:
    """Findings that follow each other: their facets, condition and order."""

    rank: Rank
    facets: frozenset[str]
    condition: Q
    fields: tuple[str, ...]
    #: Whether the condition alone says which findings they are.
    whole: bool


@dataclass(frozen=True)
class FindingPages:
    """The findings that a person may see of a run, by one filter."""

    run: JudgeRun
    wanted: FindingFilter
    closed: ClosedObjects

    @cached_property
    def case(self) -> Encounter | None:
        """The case of the filter; None without one, or if it is not there."""
        if not self.wanted.case:
            return None
        found = Encounter.objects.filter(public_id=self.wanted.case, dataset__study=self.run.study)
        return found.first()

    @cached_property
    def counts(self) -> dict[str, int]:
        """Findings by facet, of any filter but the case."""
        if self.wanted.case and self.case is None:
            return {}
        return dict(count_facets(self.run, self.closed, self.case))

    @cached_property
    def closed_games(self) -> list[int]:
        """Keys of the run's games that are closed to the person."""
        return find_closed_games(self.run, self.closed)

    @cached_property
    def facets(self) -> dict[str, Facet]:
        return {code: read_facet(code) for code in self.counts}

    @cached_property
    def matching(self) -> set[str]:
        return {code for code, facet in self.facets.items() if self.wanted.matches(facet)}

    def count(self) -> int:
        """How many findings match."""
        return sum(self.counts[code] for code in self.matching)

    def count_types(self) -> Counter[str]:
        """Findings by type that match the filter without its type."""
        wanted = replace(self.wanted, type="")
        found = Counter[str]()
        for code, facet in self.facets.items():
            if wanted.matches(facet):
                found[facet.type] += self.counts[code]
        return found

    def load(
        self, limit: int, *, after: Finding | None = None, before: Finding | None = None
    ) -> list[Finding]:
        """Return at most `limit` findings, next to the given one, in order.

        Their keys are found first: with related rows in one query, the planner may read all games.
        """
        place, backwards = after or before, before is not None
        down = self.down != backwards
        groups = self._groups(self._rank(place) if place else None)
        keys: list[int] = []
        for group in reversed(groups) if backwards else groups:
            if place and group.rank == self._rank(place):
                # What came so far is on the other side of the place.
                keys = self._find_keys(group, down, limit, place)
                place = None
            elif place is None and len(keys) < limit:
                keys += self._find_keys(group, down, limit - len(keys))
        rows = Finding.objects.select_related(*RELATED).in_bulk(keys)
        found = [rows[key] for key in keys if key in rows]
        return found[::-1] if backwards else found

    def rows(self) -> QuerySet[Finding]:
        """Return all findings that match, in no particular order."""
        found = Finding.objects.filter(run=self.run)
        if self.wanted.case:
            found = found.filter(game__comparison__encounter=self.case)
        if len(self.matching) < len(self.counts):
            found = found.filter(facet__one_of=self.matching)
        return exclude_closed_findings(found, self.closed).select_related(*RELATED)

    def _find_keys(
        self, group: Group, down: bool, limit: int, place: Finding | None = None
    ) -> list[int]:
        """Return the keys of the next findings of a group that a person may see.

        A group with few findings is read whole by its facets. In a large one, the next findings are
        near in the order of the index.
        """
        if not group.facets:
            return []
        order = [f"-{field}" if down else field for field in group.fields]
        rows = self._select(group).order_by(*order).values_list("pk", flat=True)
        size = sum(self.counts[facet] for facet in group.facets)
        if size * size < limit * sum(self.counts.values()):
            beyond = reduce(or_, _split_place(place, group, down)) if place else Q()
            return list(rows.filter(beyond))[:limit]
        found: list[int] = []
        for part in _split_place(place, group, down) if place else [Q()]:
            found += rows.filter(part)[: limit - len(found)]
            if len(found) == limit:
                break
        return found

    def _select(self, group: Group) -> QuerySet[Finding]:
        """Return the findings of a group that a person may see."""
        found = Finding.objects.filter(group.condition, run=self.run)
        if self.case is not None:
            found = found.filter(case=self.case.case_id, game__comparison__encounter=self.case)
        if not group.whole:
            found = found.filter(facet__one_of=group.facets)
        return found.exclude(game__in=self.closed_games) if self.closed_games else found

    def _rank(self, finding: Finding) -> Rank:
        return RANKS[self.sort](read_facet(finding.facet))

    @property
    def sort(self) -> str:
        return self.wanted.sort.removeprefix("-")

    @property
    def down(self) -> bool:
        return self.wanted.sort.startswith("-")

    def _groups(self, also: Rank | None) -> list[Group]:
        """Return the groups with findings in order, and that of rank `also`."""
        found: dict[Rank, set[str]] = defaultdict(set, {also: set()} if also is not None else {})
        every: Counter[Rank] = Counter()
        for code, facet in self.facets.items():
            rank = RANKS[self.sort](facet)
            every[rank] += 1
            if code in self.matching:
                found[rank].add(code)
        order = sorted(found, reverse=self.down)
        if self.sort == "size":  # what has no hours is last in both orders
            order.sort(key=lambda rank: rank[0] == _WITHOUT_HOURS)
        # Whether sizes have a condition of their own, or the group is of all findings.
        alone = self.sort in (IN_GAMES, "case", "size")
        return [
            Group(
                rank,
                frozenset(found[rank]),
                *_describe_order(self.sort, rank),
                whole=alone and len(found[rank]) == every[rank],
            )
            for rank in order
        ]


def _describe_order(sort: str, rank: Rank) -> tuple[Q, tuple[str, ...]]:
    """Return the condition of a group and its order, which an index has."""
    if sort == "case":
        return Q(), ("case", *IN_ORDER)
    if sort != "size":
        return Q(), IN_ORDER
    if rank[0] == _WITHOUT_HOURS:
        return Q(apart__isnull=True), ("apart", "pk")
    least, most = _HOURS[rank[0]]
    return Q(apart__gte=least) & (Q(apart__lt=most) if most else Q()), ("apart", "pk")


def _split_place(finding: Finding, group: Group, down: bool) -> list[Q]:
    """Return conditions for the findings of a group beyond this one.

    Each is a range of the index, and they follow each other: those with all but the last field
    equal come first.
    """
    way = "lt" if down else "gt"
    # In a group without hours, all hours are equal.
    fields = [field for field in group.fields if getattr(finding, field) is not None]
    found = []
    for last in reversed(range(len(fields))):
        equal = {field: getattr(finding, field) for field in fields[:last]}
        found.append(Q(**equal, **{f"{fields[last]}__{way}": getattr(finding, fields[last])}))
    return found


def find_place(run: JudgeRun, public_id: str) -> Finding | None:
    """Return the finding next to which a page begins; None if it is gone."""
    return Finding.objects.filter(run=run, public_id=public_id).first() if public_id else None


def cut_page(
    pages: FindingPages, size: int, *, after: Finding | None, before: Finding | None
) -> tuple[list[Finding], bool, bool]:
    """Return the findings of a page, and whether others come before and after."""
    found = pages.load(size + 1, after=after, before=before)
    more = len(found) > size
    if before is not None:
        return (found[1:] if more else found), more, True
    return found[:size], after is not None, more
