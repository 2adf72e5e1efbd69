"""The same difference told twice: by one judge in exchanged positions, or by two judges over one comparison. No Django here.

Findings are held together by their subject and, within one subject, by their order (as `adjudication.changes` does in the database).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from adjudication.reporting.values import KINDS, Agreement, FindingRecord, GameRecord, GameState, Held, KindAgreement, Proportion, Recurrence
from adjudication.scoring.agreement import cohen_kappa, pabak
from adjudication.scoring.intervals import wilson

ALL = "all"
Paired = tuple[FindingRecord | None, FindingRecord | None]


def paired(one: Sequence[FindingRecord], other: Sequence[FindingRecord]) -> Iterator[Paired]:
    """Every subject of either with the finding of each, None where one lacks it."""
    numbered = [dict(_numbered(findings)) for findings in (one, other)]
    for key in dict.fromkeys([*numbered[0], *numbered[1]]):
        yield numbered[0].get(key), numbered[1].get(key)


def _numbered(findings: Sequence[FindingRecord]) -> Iterator[tuple[tuple[str, int], FindingRecord]]:
    times: Counter[str] = Counter()
    for f in findings:
        yield (f.subject, times[f.subject]), f
        times[f.subject] += 1


def proportion(part: int, n: int) -> Proportion:
    """With Wilson's interval, as if findings were independent of each other."""
    low, high = wilson(part, n) or (None, None)
    return Proportion(part, n, low, high)


class Recurrences:
    """Counts over comparisons judged in both positions; a rerun is taken after its game."""

    def __init__(self) -> None:
        self.comparisons = 0
        self._told, self._recurs, self._same, self._turned, self._only = (Counter[str]() for _ in range(5))
        self._last: GameRecord | None = None

    def take(self, game: GameRecord) -> None:
        if not game.swapped:
            self._last = game
            return
        last = self._last
        if last is None or (last.case, last.first, last.second) != (game.case, game.first, game.second):
            return
        if last.state is GameState.JUDGED and game.state is GameState.JUDGED:
            self.comparisons += 1
            for before, after in paired(last.findings, game.findings):
                self._count(before, after)

    def _count(self, before: FindingRecord | None, after: FindingRecord | None) -> None:
        if before is None:
            assert after is not None
            self._only[after.kind] += 1
            return
        self._told[before.kind] += 1
        if after is not None:
            self._recurs[before.kind] += 1
            self._same[before.kind] += (before.held, before.charge) == (after.held, after.charge)
            self._turned[before.kind] += {before.held, after.held} == {Held.FIRST, Held.SECOND}

    def rows(self) -> tuple[Recurrence, ...]:
        """A row a kind that was told at all, then one over all."""
        rows = [self._row(kind, (kind,)) for kind in KINDS if self._told[kind] or self._only[kind]]
        return (*rows, self._row(ALL, KINDS)) if rows else ()

    def _row(self, name: str, kinds: Sequence[str]) -> Recurrence:
        told, recurs, same, turned, only = (
            sum(counts[k] for k in kinds) for counts in (self._told, self._recurs, self._same, self._turned, self._only)
        )
        return Recurrence(name, told, proportion(recurs, told), proportion(same, told), turned, only)


class Agreements:
    """Counts over the comparisons that two judges judged."""

    def __init__(self) -> None:
        self.comparisons = 0
        self._found: dict[str, Counter[str]] = defaultdict(Counter)
        self._held: dict[str, Counter[tuple[Held, Held]]] = defaultdict(Counter)

    def take(self, one: Sequence[FindingRecord], other: Sequence[FindingRecord]) -> None:
        """The findings of one comparison by both judges."""
        self.comparisons += 1
        for a, b in paired(one, other):
            if a is None or b is None:
                alone = a or b
                assert alone is not None
                self._found[alone.kind]["second" if a is None else "first"] += 1
            else:
                self._found[a.kind]["both"] += 1
                self._held[a.kind][a.held, b.held] += 1

    def rows(self) -> tuple[KindAgreement, ...]:
        """A row a kind that either told, then one over all."""
        kinds = [kind for kind in KINDS if self._found.get(kind)]
        return (*(self._row(kind, (kind,)) for kind in kinds), self._row(ALL, kinds)) if kinds else ()

    def _row(self, name: str, kinds: Sequence[str]) -> KindAgreement:
        found = sum((self._found[k] for k in kinds), Counter[str]())
        held = sum((self._held[k] for k in kinds), Counter[tuple[Held, Held]]())
        sides = [[held[a, b] for b in (Held.FIRST, Held.SECOND)] for a in (Held.FIRST, Held.SECOND)]
        decided = [[sum(n for (a, b), n in held.items() if (a.decisive, b.decisive) == (x, y)) for y in (True, False)] for x in (True, False)]
        same = sum(n for (a, b), n in held.items() if a is b)
        return KindAgreement(
            kind=name,
            both=found["both"],
            only_first=found["first"],
            only_second=found["second"],
            same=proportion(same, found["both"]),
            sides=_table(sides),
            decided=_table(decided),
            sides_kappa=cohen_kappa(sides),
            sides_pabak=pabak(sides),
            decided_kappa=cohen_kappa(decided),
        )


def agreement(comparisons: Iterable[tuple[Sequence[FindingRecord], Sequence[FindingRecord]]]) -> Agreement:
    """Two judges over comparisons that both judged: the findings of each, comparison by comparison."""
    counted = Agreements()
    for one, other in comparisons:
        counted.take(one, other)
    return Agreement(counted.comparisons, counted.rows())


def _table(cells: list[list[int]]) -> tuple[tuple[int, int], tuple[int, int]]:
    (a, b), (c, d) = cells
    return (a, b), (c, d)
