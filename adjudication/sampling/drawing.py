"""Draw a validation sample (protocol section 4). No Django.

Quotas are per pairing and stratum; the draw is seeded and balanced over cases. The same findings,
design and seed give the same sample, in any order of the findings. Quotas bind; balance over cases
is best effort. Shortages are reported, and filled from other strata only if the design asks for it. No
occurrence comes twice: a reviewer would recognise a row that they have seen against another source.
Sources come evenly with the row that only one has, and with the later time, best effort too:
otherwise that alone shows which side is whose.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from adjudication.domain import FindingType, Verdict


class Stratum(StrEnum):
    TIMING_DECISIVE = "TIMING decisive"
    TIMING_UNCLEAR = "TIMING UNCLEAR"
    ONE_SIDED = "one-sided"
    DUPLICATE = "DUPLICATE"
    VALUE = "VALUE"


#: Findings of each stratum from every pairing.
QUOTAS: Mapping[str, int] = {
    Stratum.TIMING_DECISIVE.value: 15,
    Stratum.TIMING_UNCLEAR.value: 5,
    Stratum.ONE_SIDED.value: 18,
    Stratum.DUPLICATE.value: 7,
    Stratum.VALUE.value: 5,
}
CASES = 10
OUTSIDE_TIMING = "TIMING with verdict BOTH or NEITHER is outside the strata"
OUTSIDE_SHARED = "SHARED_UNSUPPORTED is outside the strata"
OTHER_PAIRING = "of a pairing that is not drawn from"
OTHER_CASE = "of a case that is not among the chosen ones"
NO_QUOTA = "of a stratum without a quota"
SAME_OCCURRENCE = "about an occurrence that another item is about"
#: A place in the case's note, or the words of a row without one.
Occurrence = tuple[int, int] | str


@dataclass(frozen=True, slots=True)
class EligibleFinding:
    """A finding that may be drawn. `key` and `case` are public ids.

    `occurrences`: what its rows are about; overlapping places are one occurrence. `leans_first`:
    whether the pairing's first source has the only row or the later time; None if neither source.
    """

    key: str
    case: str
    pairing: str
    stratum: str
    occurrences: tuple[Occurrence, ...] = ()
    leans_first: bool | None = None


@dataclass(frozen=True)
class Eligible:
    """All findings that may be drawn, and counts of the others.

    `judged`: case → pairings in which it was judged. `excluded`: reason → count.
    """

    findings: tuple[EligibleFinding, ...]
    judged: Mapping[str, frozenset[str]]
    excluded: Mapping[str, int] = field(default_factory=dict)

    def counts(self) -> dict[str, dict[str, int]]:
        """Map pairings to strata to numbers of findings that may be drawn."""
        return count_strata(self.findings, sorted({f.pairing for f in self.findings}))

    def count_complete(self, pairings: Iterable[str]) -> int:
        """Return the number of cases that were judged in all these pairings."""
        return sum(judged >= set(pairings) for judged in self.judged.values())


def count_strata(
    findings: Iterable[EligibleFinding], pairings: Iterable[str]
) -> dict[str, dict[str, int]]:
    """Map pairings to strata, in the protocol's order, to numbers of findings."""
    found = {pairing: dict.fromkeys(map(str, QUOTAS), 0) for pairing in pairings}
    for f in findings:
        found[f.pairing][f.stratum] += 1
    return found


@dataclass(frozen=True, kw_only=True)
class Design:
    """How to draw.

    The defaults are the protocol's: ten cases among those judged in all pairings, 50 findings from
    each pairing.
    """

    pairings: tuple[str, ...]
    #: Stratum → findings from each pairing.
    quotas: Mapping[str, int] = field(default_factory=lambda: dict(QUOTAS))
    #: Pairing → its own quotas, if they differ.
    own_quotas: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    #: Number of drawn cases; None takes every case that was judged in all pairings.
    cases: int | None = CASES
    #: Fill what a stratum lacks from the other strata of its pairing.
    redistribute: bool = False
    #: Reviewers of each item, and of the items of single pairings.
    per_item: int = 1
    own_per_item: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ValueError for a design that cannot be drawn."""
        if not self.pairings or len(set(self.pairings)) != len(self.pairings):
            raise ValueError("a design names one pairing or more, each once")
        every = [self.quotas, *self.own_quotas.values()]
        if unknown := {name for quotas in every for name in quotas} - set(Stratum):
            raise ValueError(f"there is no stratum {sorted(unknown)[0]}")
        if any(n < 0 for quotas in every for n in quotas.values()):
            raise ValueError("a quota is not negative")
        if set(self.own_quotas) - set(self.pairings) or set(self.own_per_item) - set(self.pairings):
            raise ValueError("own quotas belong to the pairings of the design")
        if (self.cases is not None and self.cases < 1) or min(
            [self.per_item, *self.own_per_item.values()]
        ) < 1:
            raise ValueError("cases and reviewers of an item are at least one")

    def find_quotas(self, pairing: str) -> dict[str, int]:
        """Map strata to the number wanted from this pairing, without zeros.

        In the strata's order.
        """
        own = self.own_quotas.get(pairing, self.quotas)
        return {s.value: own[s.value] for s in Stratum if own.get(s.value)}

    def count_reviewers(self, pairing: str) -> int:
        """Return how many people decide on each item of this pairing."""
        return self.own_per_item.get(pairing, self.per_item)

    def plain(self) -> dict[str, Any]:
        """Return JSON values."""
        return {**asdict(self), "pairings": list(self.pairings)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Design:
        """Build it from `plain`'s result. Raises ValueError, TypeError."""
        return cls(**{**plain, "pairings": tuple(plain["pairings"])})


@dataclass(frozen=True, slots=True)
class Shortage:
    """A quota that could not be met.

    It `wanted` some, `available` were there, and other strata gave `redistributed` instead.
    """

    pairing: str
    stratum: str
    wanted: int
    available: int
    redistributed: int = 0


@dataclass(frozen=True)
class Sample:
    """The sample in the packet's own order, with its cases.

    `shortages` are quotas that were not met; `excluded`: reason → count of findings.
    """

    items: tuple[EligibleFinding, ...]
    cases: tuple[str, ...]
    shortages: tuple[Shortage, ...]
    excluded: Mapping[str, int]

    def plain(self) -> dict[str, Any]:
        """Return JSON values, without the items."""
        return {
            "cases": list(self.cases),
            "shortages": [asdict(s) for s in self.shortages],
            "excluded": dict(self.excluded),
        }


def find_stratum(kind: FindingType, verdict: Verdict) -> Stratum | None:
    """Return the stratum of a finding; None if it is outside all strata."""
    if kind is FindingType.TIMING:
        if verdict.decisive:
            return Stratum.TIMING_DECISIVE
        return Stratum.TIMING_UNCLEAR if verdict is Verdict.UNCLEAR else None
    if kind.one_sided:
        return Stratum.ONE_SIDED
    return {FindingType.DUPLICATE: Stratum.DUPLICATE, FindingType.VALUE: Stratum.VALUE}.get(kind)


def leans_to_a(
    a_has_row: bool, a_time: int | None, b_has_row: bool, b_time: int | None
) -> bool | None:
    """Return whether A has the only row or later time; None if neither."""
    if a_has_row != b_has_row:
        return a_has_row
    return None if a_time is None or b_time is None or a_time == b_time else a_time > b_time


def draw(eligible: Eligible, design: Design, seed: int) -> Sample:
    """Draw a sample by the design's quotas.

    No finding and no occurrence is drawn twice. Every case was judged in all pairings.
    """
    rng = random.Random(seed)
    cases = choose_cases(eligible, design, rng)
    within = [f for f in eligible.findings if f.pairing in design.pairings and f.case in cases]
    pools = [_Pool.fill(p, within, design, rng) for p in sorted(design.pairings)]
    used: Used = defaultdict(list)
    for stratum in _sort_by_scarcity(pools):
        _take_in_turn(pools, stratum, used)
    shortages = [s for pool in pools for s in _report_shortages(pool, design, used)]
    items = [f for pool in pools for f in pool.taken]
    twice = _count_same(within, items, used)
    rng.shuffle(items)
    excluded = Counter(eligible.excluded) + _exclusion_reasons(
        eligible.findings, design, set(cases)
    )
    return Sample(tuple(items), tuple(cases), tuple(shortages), dict(excluded + twice))


def choose_cases(eligible: Eligible, design: Design, rng: random.Random) -> list[str]:
    """Return the drawn cases, sorted.

    They are among the cases judged in all pairings of the design; all of them if there are no more
    than requested.
    """
    complete = sorted(
        case for case, pairings in eligible.judged.items() if pairings >= set(design.pairings)
    )
    if design.cases is None or len(complete) <= design.cases:
        return complete
    return sorted(rng.sample(complete, design.cases))


#: Case → occurrences of its drawn findings.
Used = dict[str, list[Occurrence]]


@dataclass
class _Pool:
    """What is left of one pairing by stratum and case, and what was taken."""

    pairing: str
    wanted: Mapping[str, int]
    left: Mapping[str, dict[str, list[EligibleFinding]]]
    #: Stratum → case → number taken; and all strata together.
    own: Mapping[str, Counter[str]]
    #: Stratum → number taken that lean to the first source, less those that lean to the second.
    leaning: Counter[str] = field(default_factory=Counter)
    load: Counter[str] = field(default_factory=Counter)
    taken: list[EligibleFinding] = field(default_factory=list)

    @classmethod
    def fill(
        cls, pairing: str, findings: Iterable[EligibleFinding], design: Design, rng: random.Random
    ) -> _Pool:
        """Return the pool of a pairing with nothing taken."""
        mine = [f for f in findings if f.pairing == pairing]
        wanted = design.find_quotas(pairing)
        left = {s: _group_by_case([f for f in mine if f.stratum == s], rng) for s in wanted}
        return cls(pairing, wanted, left, {s: Counter() for s in wanted})

    def count_left(self, stratum: str) -> int:
        return sum(map(len, self.left[stratum].values()))

    def is_short(self, stratum: str) -> bool:
        return self.own[stratum].total() < self.wanted.get(stratum, 0)

    def take(self, stratum: str, used: Used) -> bool:
        """Take a finding about nothing that is used; return whether there was one.

        It is from the case with fewest from this stratum so far, then with the least load; in it,
        one that evens out which source they lean to.
        """
        left, own = self.left[stratum], self.own[stratum]
        while open_cases := [case for case, rest in left.items() if rest]:
            case = min(open_cases, key=lambda c: (own[c], self.load[c]))
            left[case] = [f for f in left[case] if not _is_used(f, used)]
            if not left[case]:
                continue
            found = self._choose(left[case], stratum)
            left[case].remove(found)
            own[case] += 1
            self.load[case] += 1
            used[case] += found.occurrences
            self.taken.append(found)
            return True
        return False

    def _choose(self, rest: Sequence[EligibleFinding], stratum: str) -> EligibleFinding:
        """Return the last finding that does not lean as most so far do."""
        most = self.leaning[stratum]
        fitting = [f for f in rest if not most or f.leans_first is not (most > 0)]
        found = (fitting or rest)[-1]
        if found.leans_first is not None:
            self.leaning[stratum] += 1 if found.leans_first else -1
        return found


def _sort_by_scarcity(pools: Sequence[_Pool]) -> list[str]:
    """Return the strata, the scarcest first.

    The plentiful ones then even out how often each case occurs.
    """
    spare = {
        s: min(pool.count_left(s) - pool.wanted[s] for pool in pools if s in pool.wanted)
        for s in {s for pool in pools for s in pool.wanted}
    }
    return sorted(spare, key=lambda s: (spare[s], s))


def _take_in_turn(pools: Sequence[_Pool], stratum: str, used: Used) -> None:
    """Fill the quotas of a stratum, one finding of each pairing at a time.

    Pairings that share a source have occurrences in common; none takes them all.
    """
    short = [pool for pool in pools if stratum in pool.wanted]
    while short := [p for p in short if p.is_short(stratum) and p.take(stratum, used)]:
        pass


def _report_shortages(pool: _Pool, design: Design, used: Used) -> list[Shortage]:
    """Return unmet quotas, after replacing them if designed so."""
    missing = {
        s: n - pool.own[s].total() for s, n in pool.wanted.items() if pool.own[s].total() < n
    }
    there = {s: pool.wanted[s] - n for s, n in missing.items()}
    remaining = _replace_missing(pool, sum(missing.values()), used) if design.redistribute else 0
    found = []
    for s, lacking in missing.items():
        moved = min(lacking, remaining)
        remaining -= moved
        found.append(Shortage(pool.pairing, s, pool.wanted[s], there[s], moved))
    return found


def _is_used(finding: EligibleFinding, used: Used) -> bool:
    return any(
        _is_same(one, other) for one in finding.occurrences for other in used.get(finding.case, ())
    )


def _is_same(one: Occurrence, other: Occurrence) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return max(one[0], other[0]) < min(one[1], other[1])


def _count_same(
    within: Iterable[EligibleFinding], items: Iterable[EligibleFinding], used: Used
) -> Counter[str]:
    """Count the findings that were not drawn because of their occurrence."""
    drawn = {f.key for f in items}
    return Counter(SAME_OCCURRENCE for f in within if f.key not in drawn and _is_used(f, used))


def _group_by_case(
    findings: Iterable[EligibleFinding], rng: random.Random
) -> dict[str, list[EligibleFinding]]:
    """Group findings by case, both in seeded order, which settles ties."""
    grouped: dict[str, list[EligibleFinding]] = defaultdict(list)
    for f in sorted(findings, key=lambda f: (f.case, f.key)):
        grouped[f.case].append(f)
    order = list(grouped)
    rng.shuffle(order)
    for case in order:
        rng.shuffle(grouped[case])
    return {case: grouped[case] for case in order}


def _replace_missing(pool: _Pool, count: int, used: Used) -> int:
    """Take up to `count`, each from the stratum with most left.

    Ties go by the strata's order. Returns how many were taken.
    """
    for number in range(count):
        strata = sorted(pool.left, key=pool.count_left, reverse=True)
        if not any(pool.take(stratum, used) for stratum in strata):
            return number
    return count


def _exclusion_reasons(
    findings: Iterable[EligibleFinding], design: Design, cases: set[str]
) -> Counter[str]:
    """Count eligible findings that this draw could not reach, by reason."""
    found: Counter[str] = Counter()
    for f in findings:
        if f.pairing not in design.pairings:
            found[OTHER_PAIRING] += 1
        elif f.case not in cases:
            found[OTHER_CASE] += 1
        elif f.stratum not in design.find_quotas(f.pairing):
            found[NO_QUOTA] += 1
    return found
