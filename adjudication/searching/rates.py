"""Recall and precision of a judge against people's searches. No Django."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from adjudication.scoring.intervals import wilson_interval
from adjudication.searching.matching import Difference, Kind, match_differences

ALL = "all"


@dataclass(frozen=True, slots=True)
class Share:
    """`n` of `of`, with Wilson's interval of 95 %; None of nothing."""

    n: int
    of: int

    @property
    def rate(self) -> float | None:
        return self.n / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float] | None:
        return wilson_interval(self.n, self.of)


@dataclass(frozen=True, slots=True)
class SearchCounts:
    """One kind of difference: listed, reported by the judge, both."""

    kind: str
    listed: int
    reported: int
    matched: int

    @property
    def recall(self) -> Share:
        """The listed differences that the judge reported."""
        return Share(self.matched, self.listed)

    @property
    def precision(self) -> Share:
        """The judge's findings that the person listed."""
        return Share(self.matched, self.reported)


@dataclass(frozen=True, slots=True)
class ReviewerSearches:
    """The submitted searches of one person; the last line has all kinds."""

    reviewer: str
    pairs: int
    lines: tuple[SearchCounts, ...]


def rate_searches(
    reviewer: str, searches: Iterable[tuple[Sequence[Difference], Sequence[Difference]]]
) -> ReviewerSearches:
    """Count (listed, reported) of one person's searches by kind."""
    listed: Counter[Kind] = Counter()
    reported: Counter[Kind] = Counter()
    matched: Counter[Kind] = Counter()
    pairs = 0
    for mine, judges in searches:
        pairs += 1
        listed.update(d.kind for d in mine)
        reported.update(d.kind for d in judges)
        matched.update(mine[i].kind for i, _ in match_differences(mine, judges))
    lines = [SearchCounts(str(k), listed[k], reported[k], matched[k]) for k in Kind]
    total = SearchCounts(ALL, listed.total(), reported.total(), matched.total())
    return ReviewerSearches(reviewer, pairs, (*lines, total))
