"""Games taken one by one into columns: a cohort of a hundred thousand games fits, and every table is a sum over these columns.

No Django. Findings are not kept: what tables need of them is a count a game, side, category and flag, and the hours of TIMING findings.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from adjudication.domain import FindingType
from adjudication.reporting.recurring import Recurrences
from adjudication.reporting.values import CATEGORIES, FindingRecord, GameRecord, GameState, Held
from adjudication.scoring.errors import Category
from timelines.evaluation.values import SourceKey

Counts = NDArray[np.int32]
Points = NDArray[np.float64]
Mask = NDArray[np.bool_]

_CATEGORY = {c: n for n, c in enumerate(CATEGORIES)}
_WRONG_TIME = _CATEGORY[Category.WRONG_TIME]
_FLAGS, _SIDES = 2, 2
_CELLS = _SIDES * len(CATEGORIES) * _FLAGS


@dataclass(frozen=True)
class Timing:
    """TIMING findings of judged games: the game's row, the side that was charged (0 first, 1 second, −1 none), hours with NaN for N/A."""

    game: NDArray[np.int64]
    charged: NDArray[np.int8]
    flagged: Mask
    first: Points
    second: Points


@dataclass(frozen=True)
class Columns:
    """Games in first positions, a row each. `counts` (games, side, category, flagged): findings charged to the first, the second."""

    sources: tuple[SourceKey, ...]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    case: NDArray[np.intp]
    stratum: NDArray[np.intp]
    strata: tuple[str, ...]
    judged: Mask
    unjudged: Mask
    counts: Counts
    #: Flagged findings a game, charged or not.
    flagged: NDArray[np.int32]
    timing: Timing

    def points(self, weights: Mapping[Category, float], counts: Counts | None = None) -> Points:
        """(games, 2) points charged to the first and the second timeline."""
        chosen = self.counts if counts is None else counts
        by_category = chosen.sum(axis=3)
        found: Points = by_category @ np.array([weights[c] for c in CATEGORIES])
        return found

    def without_flagged(self) -> Counts:
        """Counts without the TIMING findings within tolerance."""
        found = self.counts.copy()
        found[:, :, _WRONG_TIME, 1] = 0
        return found

    def without_timing(self, removed: Mask) -> Counts:
        """Counts without these of the TIMING findings (`timing`'s rows)."""
        found, t = self.counts.copy(), self.timing
        gone = removed & (t.charged >= 0)
        np.subtract.at(found, (t.game[gone], t.charged[gone], _WRONG_TIME, t.flagged[gone].astype(np.intp)), 1)
        return found


@dataclass
class Verdicts:
    """Counts of findings over judged games in first positions, and which label decisive ones held right, in all games."""

    held: Counter[tuple[str, Held]] = field(default_factory=Counter)
    groundings: Counter[tuple[str, str]] = field(default_factory=Counter)
    flagged: Counter[str] = field(default_factory=Counter)
    for_a: int = 0
    for_label: int = 0


@dataclass(frozen=True)
class Collected:
    """`games` in first positions; `reruns` in exchanged ones, None where there are none."""

    games: Columns
    reruns: Columns | None
    verdicts: Verdicts
    recurrences: Recurrences


class _Building:
    """Columns while they grow: plain arrays, a few dozen bytes a game."""

    def __init__(self) -> None:
        self.first, self.second, self.case, self.stratum, self.state = (array("q") for _ in range(5))
        self.counts, self.flagged = array("i"), array("i")
        self.timing_game, self.timing_charged, self.timing_flagged = array("q"), array("b"), array("b")
        self.hours = array("d")

    def add(self, game: GameRecord, first: int, second: int, case: int, stratum: int) -> None:
        number = len(self.first)
        for column, value in zip(
            (self.first, self.second, self.case, self.stratum, self.state),
            (first, second, case, stratum, list(GameState).index(game.state)),
            strict=True,
        ):
            column.append(value)
        cells = [0] * _CELLS
        for f in game.findings:
            if f.category is not None:
                cells[((0 if f.charged_first else 1) * len(CATEGORIES) + _CATEGORY[f.category]) * _FLAGS + f.flagged] += 1
            if f.kind == FindingType.TIMING.value:
                self._timing(number, f)
        self.counts.extend(cells)
        self.flagged.append(sum(f.flagged for f in game.findings))

    def _timing(self, number: int, found: FindingRecord) -> None:
        self.timing_game.append(number)
        self.timing_charged.append(-1 if found.charged_first is None else 0 if found.charged_first else 1)
        self.timing_flagged.append(found.flagged)
        self.hours.extend(float("nan") if t is None else float(t) for t in (found.first_time, found.second_time))

    def columns(self, sources: Sequence[SourceKey], strata: Sequence[str]) -> Columns:
        state = np.array(self.state, dtype=np.int64)
        hours = np.array(self.hours, dtype=np.float64).reshape(-1, 2)
        return Columns(
            sources=tuple(sources),
            first=np.array(self.first, dtype=np.intp),
            second=np.array(self.second, dtype=np.intp),
            case=np.array(self.case, dtype=np.intp),
            stratum=np.array(self.stratum, dtype=np.intp),
            strata=tuple(strata),
            judged=state == list(GameState).index(GameState.JUDGED),
            unjudged=state == list(GameState).index(GameState.UNJUDGED),
            counts=np.array(self.counts, dtype=np.int32).reshape(-1, _SIDES, len(CATEGORIES), _FLAGS),
            flagged=np.array(self.flagged, dtype=np.int32),
            timing=Timing(
                np.array(self.timing_game, dtype=np.int64),
                np.array(self.timing_charged, dtype=np.int8),
                np.array(self.timing_flagged, dtype=bool),
                hours[:, 0],
                hours[:, 1],
            ),
        )


def collect(games: Iterable[GameRecord], sources: Sequence[SourceKey]) -> Collected:
    """Columns of all games. A rerun stands next to the game it repeats.

    Raises ValueError for a source that is not among `sources`, a game that comes twice, and one comparison's games apart from another.
    """
    index = {key: n for n, key in enumerate(sources)}
    cases, strata = _Numbered(), _Numbered()
    straight, swapped, verdicts, recurrences = _Building(), _Building(), Verdicts(), Recurrences()
    seen: set[tuple[str, SourceKey, SourceKey]] = set()
    for key, group in groupby(games, key=lambda g: (g.case, g.first, g.second)):
        if key in seen:
            raise ValueError("the games of one comparison stand together")
        if unknown := [k for k in key[1:] if k not in index]:
            raise ValueError(f"a game has a source that is not one of the run's: {unknown[0].label}")
        seen.add(key)
        for game in _checked(group):
            into = swapped if game.swapped else straight
            into.add(game, index[game.first], index[game.second], cases[game.case], strata[game.stratum])
            _count(verdicts, game)
            recurrences.take(game)
    reruns = swapped.columns(sources, list(strata.known)) if len(swapped.first) else None
    return Collected(straight.columns(sources, list(strata.known)), reruns, verdicts, recurrences)


def _checked(group: Iterable[GameRecord]) -> Iterator[GameRecord]:
    found = sorted(group, key=lambda g: g.swapped)
    if len({g.swapped for g in found}) != len(found):
        raise ValueError("a comparison is judged once in each position")
    yield from found


def _count(verdicts: Verdicts, game: GameRecord) -> None:
    for f in game.findings:
        if f.held.decisive and game.a_is_first is not None:
            verdicts.for_label += 1
            verdicts.for_a += (f.held is Held.FIRST) == game.a_is_first
        if not game.swapped:
            verdicts.held[f.kind, f.held] += 1
            verdicts.groundings[f.kind, f.grounding.value] += 1
            verdicts.flagged[f.kind] += f.flagged


class _Numbered:
    """Names numbered in the order they come."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def __getitem__(self, name: str) -> int:
        return self.known.setdefault(name, len(self.known))
