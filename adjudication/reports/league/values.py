"""The input and the values of a report on a judge run. No Django.

Source: protocol section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adjudication.domain import FindingType
from adjudication.scoring.errors import Category
from adjudication.scoring.shares import ControlledShare
from timelines.evaluation.values import SourceKey

CATEGORIES = tuple(Category)
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Games:
    """The judged games of one judge run in first positions, as columns.

    G games, N sources, 7 categories in the order of CATEGORIES. `first`, `second`: (G,) source
    indices. `case`: (G,) case ids; `stratum`: (G,) indices into `strata`. `charges`: (G, 2, 7)
    errors charged to the first and the second timeline. `flagged`: (G, 2) wrong times among them
    whose hours are within tolerance. `findings`, `flagged_findings`: (G,) all of them.

    The timing columns have a row for every decisive TIMING finding: its game, the side charged (0
    first), the hours between the two times and the larger distance from admission. Both are NaN if
    a time is N/A (0 hours if both times are).
    """

    sources: tuple[str, ...]
    strata: tuple[str, ...]
    first: Ints
    second: Ints
    case: Ints
    stratum: Ints
    charges: Ints
    flagged: Ints
    findings: Ints
    flagged_findings: Ints
    timing_game: Ints
    timing_side: Ints
    timing_apart: Floats
    timing_far: Floats
    #: (first, second) → games without a valid answer; games that failed or have not ended.
    unjudged: Mapping[tuple[int, int], int]
    open: Mapping[tuple[int, int], int]
    #: (first, second) → judged games in which invalid findings were dropped.
    in_part: Mapping[tuple[int, int], int] = field(default_factory=dict)
    #: The same sources as keys, if known: they identify controlled comparisons.
    keys: tuple[SourceKey, ...] = ()
    #: (type, verdict, grounding, flagged) → findings; A_ONLY and B_ONLY are "one-sided", A and B
    #: "decisive".
    tally: Mapping[tuple[str, str, str, bool], int] = field(default_factory=dict)
    #: Decisive findings for A, and all decisive ones, over both positions.
    for_a: tuple[int, int] = (0, 0)

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, slots=True)
class Rating:
    """One source's rating and record.

    Intervals are 95 %, by case; None, with the report's `why`, if undetermined. Wins, losses and
    ties leave out empty games (without a decisive finding); draws are games with a share of one
    half, including empty ones.
    """

    source: str
    games: int
    rating: float | None
    low: float | None
    high: float | None
    mean_share: float | None
    wins: int
    losses: int
    ties: int
    draws: int
    empty: int
    in_part: int
    unjudged: int
    flagged: int


@dataclass(frozen=True)
class SourceRatings:
    """Ratings of all sources under one way to count.

    `lost` resamples had no ratings; the intervals leave them out.
    """

    name: str
    ratings: tuple[Rating, ...]
    games: int
    draws: int
    lost: int
    resamples: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Profile:
    """Errors of one source, or of the average source.

    Counts are in the order of CATEGORIES; `penalty` is the cost per matchup.
    """

    source: str
    games: int
    counts: tuple[int, ...]
    penalty: float | None

    @property
    def a_matchup(self) -> tuple[float | None, ...]:
        """Errors of each category per game."""
        return tuple(n / self.games if self.games else None for n in self.counts)


@dataclass(frozen=True, slots=True)
class Matchup:
    """Two sources over the cases both have: pooled points and their share.

    It also counts games judged in part and games without an answer. `differ` names the one thing in which a controlled pair
    differs, and then the fuller source is first; "" for any other pair.
    """

    first: str
    second: str
    result: ControlledShare
    findings: int
    in_part: int
    unjudged: int
    open: int
    differ: str = ""


@dataclass(frozen=True, slots=True)
class VerdictLine:
    """Verdicts of one type of finding, and their grounding.

    Grounding is by note, record, both or neither.
    """

    type: str
    findings: int
    decisive: int
    both: int
    neither: int
    unclear: int
    flagged: int
    groundings: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class PositionPreference:
    """Decisive findings for A; one half for a judge without a preference.

    `low`, `high`: Wilson's interval.
    """

    for_a: int
    n: int
    low: float | None
    high: float | None

    @property
    def rate(self) -> float | None:
        return self.for_a / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class ToleranceStep:
    """Ratings if only TIMING findings beyond a tolerance are charged."""

    words: str
    charged: int
    left_out: int
    rated: SourceRatings


class FindingRow(NamedTuple):
    """A finding for the comparison of two judgings.

    `charged_first` is None if nothing is charged. A tuple, because there are many.
    """

    comparison: int
    subject: str
    type: FindingType
    verdict_first: str
    category: str
    charged_first: bool | None


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two judgings of the same comparisons, for one type of finding or all.

    `alike`: with the same verdict; `charged_alike`: also with the same charge, or none in both;
    `turned`: each for another side. `kappa` is of the side judged right, over subjects on which
    both are decisive.
    """

    type: str
    first: int
    second: int
    both: int
    alike: int
    kappa: float | None
    charged_alike: int = 0
    turned: int = 0

    @property
    def shared(self) -> float | None:
        """Subjects that both reported, as a share of all reported."""
        union = self.first + self.second - self.both
        return self.both / union if union else None

    @property
    def same(self) -> float | None:
        """Subjects with the same verdict, as a share of those both reported."""
        return self.alike / self.both if self.both else None


@dataclass(frozen=True)
class JudgeReport:
    """Everything that the dashboard of one judge run shows."""

    sources: tuple[str, ...]
    games: int
    cases: int
    findings: int
    decisive: int
    flagged: int
    in_part: int
    unjudged: int
    open: int
    rated: SourceRatings
    without_flagged: SourceRatings
    sensitivity: tuple[SourceRatings, ...]
    strata: tuple[SourceRatings, ...]
    profiles: tuple[Profile, ...]
    stratum_profiles: tuple[tuple[str, tuple[Profile, ...]], ...]
    matchups: tuple[Matchup, ...]
    tolerance: tuple[ToleranceStep, ...]
    swap: tuple[Overlap, ...] = ()
    verdicts: tuple[VerdictLine, ...] = ()
    favoured: PositionPreference | None = None


@dataclass(frozen=True, slots=True)
class Agreement:
    """How the findings of two judge runs overlap, by type.

    `comparisons` is how many both have judged.
    """

    comparisons: int
    rows: tuple[Overlap, ...]
