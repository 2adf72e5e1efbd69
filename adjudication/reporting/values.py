"""What a report on a judge run is made from and of. No Django here: a notebook gives records and gets values back.

Records speak of a comparison's first and second timeline, never of the labels A and B. Source: protocol section 4, "Charging",
"Share" and "Beyond the paper".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from adjudication.domain import FindingType, Grounding, Verdict
from adjudication.scoring.errors import Category
from timelines.evaluation.values import SourceKey

#: Kinds of difference in the order of tables: A_ONLY and B_ONLY are one kind, since which label holds the row is chance.
ONE_SIDED = "one-sided"
KINDS = (FindingType.TIMING.value, FindingType.VALUE.value, ONE_SIDED, FindingType.DUPLICATE.value, FindingType.SHARED_UNSUPPORTED.value)
CATEGORIES = tuple(Category)


class GameState(StrEnum):
    """Unjudged is a judge's answer that does not hold; unfinished covers games that wait, failed or were cancelled."""

    JUDGED = "judged"
    UNJUDGED = "unjudged"
    UNFINISHED = "unfinished"


class Held(StrEnum):
    """A verdict without labels."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "BOTH"
    NEITHER = "NEITHER"
    UNCLEAR = "UNCLEAR"

    @property
    def decisive(self) -> bool:
        return self in (Held.FIRST, Held.SECOND)


def kind_of(type: FindingType | str) -> str:
    """The kind of difference that a finding's type is."""
    found = FindingType(type)
    return ONE_SIDED if found.one_sided else found.value


def held_of(verdict: Verdict | str, a_is_first: bool) -> Held:
    """A verdict in a game's labels, told of the comparison's first and second timeline."""
    found = Verdict(verdict)
    if not found.decisive:
        return Held(found.value)
    return Held.FIRST if (found is Verdict.A) == a_is_first else Held.SECOND


class FindingRecord(NamedTuple):
    """One finding. Hours are whole hours from admission, None for N/A or no row. A tuple, since a cohort has millions of them.

    `subject` names what it is about: it finds the same difference again in another judging of the comparison.
    """

    kind: str
    held: Held
    grounding: Grounding = Grounding.NONE
    flagged: bool = False
    category: Category | None = None
    charged_first: bool | None = None
    first_time: int | None = None
    second_time: int | None = None
    subject: str = ""

    @property
    def charge(self) -> tuple[Category | None, bool | None]:
        return self.category, self.charged_first


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One judging of one comparison. `stratum` is the annotation protocol of its case; `swapped` marks the rerun in exchanged positions.

    Raises ValueError for a source against itself and for findings of a game that was not judged.
    """

    case: str
    first: SourceKey
    second: SourceKey
    state: GameState = GameState.JUDGED
    stratum: str = ""
    swapped: bool = False
    a_is_first: bool | None = None
    findings: tuple[FindingRecord, ...] = ()

    def __post_init__(self) -> None:
        if self.first == self.second:
            raise ValueError("a source is not compared with itself")
        if self.findings and self.state is not GameState.JUDGED:
            raise ValueError("only a judged game has findings")


@dataclass(frozen=True, slots=True)
class Rating:
    """One source of a rating, with the counts that stand beside every rating.

    `games` were judged; `empty` of them have no decisive finding. Wins, losses and ties leave empty games out, `draws` include them.
    `flagged` counts the TIMING findings within tolerance of its games, `flagged_charged` those charged to it.
    """

    source: str
    rating: float | None
    low: float | None
    high: float | None
    mean_share: float | None
    games: int
    unjudged: int
    unfinished: int
    empty: int
    wins: int
    losses: int
    ties: int
    draws: int
    flagged: int
    flagged_charged: int


@dataclass(frozen=True, slots=True)
class Ratings:
    """Ratings centred on 1500 over the sources that played. `why`: the reason where there are none.

    `failed` of `resamples` gave no finite ratings and are left out of the intervals; 0 resamples where no interval was asked for or
    fewer than two cases allow one.
    """

    rows: tuple[Rating, ...]
    cases: int
    games: int
    draws: int
    empty: int
    resamples: int = 0
    failed: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Scheme:
    """Ratings under other weights, a value a source in the report's order."""

    name: str
    ratings: tuple[float | None, ...]
    draws: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """Errors charged to one source over `games` matchups: a count a category in the order of `CATEGORIES`, and their weighted cost."""

    source: str
    games: int
    counts: tuple[int, ...]
    penalty: float

    @property
    def total(self) -> int:
        return sum(self.counts)

    def per_matchup(self, count: float) -> float | None:
        """None without a game."""
        return count / self.games if self.games else None


@dataclass(frozen=True, slots=True)
class HeadToHead:
    """Two sources over their common cases. `differ` says in what one thing they do, "" where in more than one.

    `share` is the first one's part of all points, with its case-level interval; None without a decisive finding.
    """

    first: str
    second: str
    differ: str
    cases: int
    unjudged: int
    empty: int
    points: float
    share: float | None
    low: float | None
    high: float | None
    wins: int
    losses: int
    ties: int
    separated: bool
    errors: tuple[ProfileLine, ProfileLine]


@dataclass(frozen=True, slots=True)
class Stratum:
    """The cases of one annotation protocol by themselves: ratings are centred anew, so that they do not compare across strata."""

    name: str
    ratings: Ratings
    profile: tuple[ProfileLine, ...]


@dataclass(frozen=True, slots=True)
class VerdictLine:
    """How findings of one kind were judged and what they rest on; `groundings` counts note, table, both and none."""

    kind: str
    findings: int
    decisive: int
    both: int
    neither: int
    unclear: int
    flagged: int
    groundings: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Proportion:
    """`part` of `n`, with Wilson's 95 % interval; None of nothing."""

    part: int
    n: int
    low: float | None = None
    high: float | None = None

    @property
    def rate(self) -> float | None:
        return self.part / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class Recurrence:
    """Findings of one kind in first positions and what became of them in exchanged ones.

    `recurs`: told again; `same`: told again with the same verdict and charge; `turned`: held for the other side; `only_rerun`: told
    in exchanged positions alone.
    """

    kind: str
    told: int
    recurs: Proportion
    same: Proportion
    turned: int
    only_rerun: int


@dataclass(frozen=True, slots=True)
class Consistency:
    """Games judged in both positions. `for_a`: decisive findings that hold A right, over all games; half of them without a preference."""

    comparisons: int
    rows: tuple[Recurrence, ...]
    for_a: Proportion
    ratings: Ratings | None = None


@dataclass(frozen=True, slots=True)
class ToleranceStep:
    """TIMING findings that stay when times this close count as equal, and the ratings without the others."""

    name: str
    least: float
    share: float
    timing: int
    timing_decisive: int
    ratings: tuple[float | None, ...]
    draws: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class KindAgreement:
    """Two judges on findings of one kind. `same` is over the findings that both told.

    `sides` is the 2 × 2 table of findings that both decided (rows the first judge, columns the second, the comparison's first
    timeline before its second), `decided` that of deciding before abstaining; kappas are None where chance explains everything.
    """

    kind: str
    both: int
    only_first: int
    only_second: int
    same: Proportion
    sides: tuple[tuple[int, int], tuple[int, int]]
    decided: tuple[tuple[int, int], tuple[int, int]]
    sides_kappa: float | None
    sides_pabak: float | None
    decided_kappa: float | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two judge runs over the comparisons that both judged; the last row is over all kinds."""

    comparisons: int
    rows: tuple[KindAgreement, ...]


@dataclass(frozen=True)
class Report:
    """Everything about one judge run. Ratings, profile and schemes name sources in the order of `sources`."""

    sources: tuple[str, ...]
    cases: int
    games: int
    unjudged: int
    unfinished: int
    findings: int
    decisive: int
    flagged: int
    ratings: Ratings
    without_flagged: Ratings
    schemes: tuple[Scheme, ...] = ()
    profile: tuple[ProfileLine, ...] = ()
    matchups: tuple[HeadToHead, ...] = ()
    strata: tuple[Stratum, ...] = ()
    verdicts: tuple[VerdictLine, ...] = ()
    tolerances: tuple[ToleranceStep, ...] = ()
    consistency: Consistency | None = None

    @property
    def controlled(self) -> tuple[HeadToHead, ...]:
        """Matchups of sources that differ in one thing."""
        return tuple(m for m in self.matchups if m.differ)
