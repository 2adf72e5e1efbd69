"""The input and the values of a judge's report card. No Django.

Source: protocol section 4, "Validation sample".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from adjudication.searching.rates import ReviewerSearches

#: The strata of validation, in the order of the published table; TIMING BOTH/NEITHER and
#: SHARED_UNSUPPORTED are outside.
STRATA = ("TIMING decisive", "TIMING UNCLEAR", "one-sided", "DUPLICATE", "VALUE")
DECISIVE = ("A", "B")
EMISSION, WHICH_SIDE = "emission or abstention", "which side"


@dataclass(frozen=True, slots=True)
class ReviewerDecision:
    """One current decision.

    `active_seconds` is None if it was not measured; `own_time` is in hours from admission.
    """

    reviewer: str
    answer: str
    active_seconds: float | None = None
    own_time: float | None = None
    comment: str = ""
    flagged: bool = False
    amended: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a packet with its decisions.

    `verdict` is the judge's, in the same labels as the answers.
    """

    number: int
    case: str
    pairing: str
    stratum: str
    verdict: str
    decisions: tuple[ReviewerDecision, ...] = ()
    #: The third person's decision if reviewers disagreed.
    adjudicated: str = ""
    key: str = ""

    def find_decision(self, reviewer: str) -> ReviewerDecision | None:
        return next((d for d in self.decisions if d.reviewer == reviewer), None)

    def upheld(self, answer: str) -> bool:
        """Return whether the answer equals the judge's verdict."""
        return answer == self.verdict


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate with its 95 % interval `low` to `high`; None without decisions."""

    upheld: int
    n: int
    low: float | None = None
    high: float | None = None

    @property
    def rate(self) -> float | None:
        return self.upheld / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class StratumRate:
    """A stratum's rate and its share of the findings within the five strata."""

    stratum: str
    rate: Rate
    corpus: float | None


@dataclass(frozen=True, slots=True)
class StandardisedRate:
    """Stratum rates weighted by the corpus.

    None, with a `why`, if a stratum of the corpus has no decision.
    """

    rate: float | None
    low: float | None = None
    high: float | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class ReviewerCard:
    """One reviewer's rates of upholding the judge, and their times."""

    reviewer: str
    decided: int
    raw: Rate
    strata: tuple[StratumRate, ...]
    standardised: StandardisedRate
    pairings: tuple[tuple[str, Rate], ...]
    median_seconds: float | None
    quartiles: tuple[float, float] | None
    not_a_finding: int


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item on which two reviewers answered differently.

    `about` classifies it; `splits`: exactly one of them upholds the judge.
    """

    number: int
    key: str
    case: str
    stratum: str
    verdict: str
    first: str
    second: str
    about: str
    splits: bool
    adjudicated: str = ""


@dataclass(frozen=True)
class Agreement:
    """Two reviewers on the items both decided.

    `table` is [[both uphold, only first], [only second, both reject]].
    """

    first: str
    second: str
    table: tuple[tuple[int, int], tuple[int, int]]
    raw: Rate
    kappa: float | None
    pabak: float | None
    #: (first's answer, second's answer) → count, over the six answers.
    answers: Mapping[tuple[str, str], int] = field(default_factory=dict)
    disagreements: tuple[Disagreement, ...] = ()
    #: (case, items that split the reviewers, items both decided), most first.
    by_case: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class BlindingCheck:
    """How often reviewers named the source behind a side correctly.

    `chance` is the rate by chance; `p` is from the exact two-sided binomial test.
    """

    guesses: int
    right: int
    chance: float
    p: float | None
    unsure: int = 0
    #: Wilson's interval of the rate of correct guesses; None without any.
    interval: tuple[float, float] | None = None

    @property
    def interval_words(self) -> str:
        """The interval as "31 % to 69 %"; "" without one."""
        return (
            ""
            if self.interval is None
            else " to ".join(f"{x:.0%}".replace("%", " %") for x in self.interval)
        )

    @property
    def contains_chance(self) -> bool:
        """Whether the interval contains the rate by chance."""
        return self.interval is not None and self.interval[0] <= self.chance <= self.interval[1]


@dataclass(frozen=True)
class ReportCard:
    """The whole card.

    `primary` is the reviewer with the most decisions, the first assigned if tied.
    """

    items: int
    decided: int
    primary: str
    reviewers: tuple[ReviewerCard, ...]
    agreements: tuple[Agreement, ...]
    corpus: Mapping[str, int]
    outside: int
    blinding: BlindingCheck | None = None
    searches: tuple[ReviewerSearches, ...] = ()
