"""Compare two judgings of the same comparisons. No Django.

They differ in positions or in the judge. Findings match by comparison and subject; several of one
subject match in their order, as in `adjudication.findings.changes`. Verdicts name the comparison's
timelines, so that a swap of labels is no difference.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from adjudication.domain import FindingType
from adjudication.reports.league.values import FindingRow, Overlap
from adjudication.scoring.agreement import cohen_kappa

ALL, ONE_SIDED = "all", "one-sided"
#: Types of findings in the order of tables. One-sided types differ only in labels, so they are one
#: type here.
FAMILIES = ("TIMING", "VALUE", ONE_SIDED, "DUPLICATE", "SHARED_UNSUPPORTED")
#: Comparison, subject, number of the finding among several of the subject.
Subject = tuple[int, str, int]


class OverlapCounter:
    """Counts that grow block by block.

    A block has the findings of some comparisons by both judgings.
    """

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = defaultdict(Counter)
        self._sides: dict[str, Counter[tuple[bool, bool]]] = defaultdict(Counter)

    def add(self, first: Iterable[FindingRow], second: Iterable[FindingRow]) -> None:
        """Add the findings of some comparisons that both have judged."""
        one, two = _index_subjects(first), _index_subjects(second)
        for finding in one.values():
            self._counts[find_family(finding.type)]["first"] += 1
        for finding in two.values():
            self._counts[find_family(finding.type)]["second"] += 1
        for subject in one.keys() & two.keys():
            self._pair(one[subject], two[subject])

    def _pair(self, a: FindingRow, b: FindingRow) -> None:
        counts = self._counts[find_family(a.type)]
        counts["both"] += 1
        if a.verdict_first == b.verdict_first:
            counts["alike"] += 1
            counts["charged"] += (a.category, a.charged_first) == (b.category, b.charged_first)
        if a.charged_first is not None and b.charged_first is not None:
            self._sides[find_family(a.type)][a.charged_first, b.charged_first] += 1

    def rows(self) -> tuple[Overlap, ...]:
        """Return a row for all findings, then one for each type."""
        present = [family for family in FAMILIES if self._counts.get(family)]
        return tuple(
            self._row(name, families)
            for name, families in ((ALL, present), *((f, [f]) for f in present))
        )

    def _row(self, name: str, families: Sequence[str]) -> Overlap:
        counts = sum((self._counts[f] for f in families), Counter[str]())
        sides = sum((self._sides[f] for f in families), Counter[tuple[bool, bool]]())
        return Overlap(
            type=name,
            first=counts["first"],
            second=counts["second"],
            both=counts["both"],
            alike=counts["alike"],
            kappa=cohen_kappa([[sides[x, y] for y in (True, False)] for x in (True, False)]),
            charged_alike=counts["charged"],
            turned=sides[True, False] + sides[False, True],
        )


def find_family(kind: FindingType) -> str:
    """Return the type's name in tables."""
    return ONE_SIDED if kind.one_sided else kind.value


def _index_subjects(finding: Iterable[FindingRow]) -> dict[Subject, FindingRow]:
    times: Counter[tuple[int, str]] = Counter()
    found = {}
    for t in finding:
        found[t.comparison, t.subject, times[t.comparison, t.subject]] = t
        times[t.comparison, t.subject] += 1
    return found
