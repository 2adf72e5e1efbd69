"""The report on a judge run: ratings, uncertainty and more. No Django.

Source: protocol section 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from adjudication.domain import Grounding, Verdict
from adjudication.judging.validation import LEAST_TOLERANCE, TOLERANCE_SHARE
from adjudication.reports.league.controlled import find_difference, is_second_fuller
from adjudication.reports.league.overlapping import ALL, FAMILIES
from adjudication.reports.league.values import (
    CATEGORIES,
    Bools,
    Floats,
    Games,
    JudgeReport,
    Matchup,
    Overlap,
    PositionPreference,
    Profile,
    Rating,
    SourceRatings,
    ToleranceStep,
    VerdictLine,
)
from adjudication.scoring.bradley_terry import (
    RESAMPLES,
    SEED,
    Undetermined,
    bootstrap_ratings,
    interval,
    ratings,
)
from adjudication.scoring.errors import WEIGHTS, Category
from adjudication.scoring.intervals import wilson_interval
from adjudication.scoring.sensitivity import SCHEMES
from adjudication.scoring.shares import mean_shares, pool_shares

DECISIVE = "decisive"
#: With fewer cases there is nothing to resample.
FEWEST_CASES = 2
#: Tolerances of the sweep: (words, least hours, share of the distance from admission).
TOLERANCES: tuple[tuple[str, float, float], ...] = (
    ("every TIMING finding", 0.0, 0.0),
    ("beyond 3 h", 3.0, 0.0),
    ("beyond max(3 h, 10 %)", LEAST_TOLERANCE, TOLERANCE_SHARE),
    ("beyond max(6 h, 10 %)", 6.0, TOLERANCE_SHARE),
    ("beyond max(12 h, 20 %)", 12.0, 0.2),
    ("beyond max(24 h, 20 %)", 24.0, 0.2),
)
_WRONG_TIME = CATEGORIES.index(Category.WRONG_TIME)


def judge_report(
    games: Games,
    *,
    swap: Sequence[Overlap] = (),
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> JudgeReport:
    """Return the whole report.

    `swap` compares first and swapped positions, for comparisons judged in both.
    """
    main = rate_sources(games, "prespecified", resamples=resamples, seed=seed)
    strata = [(name, games.stratum == n) for n, name in enumerate(games.strata)]
    several = len([1 for _, mask in strata if mask.any()]) > 1
    return JudgeReport(
        sources=games.sources,
        games=len(games),
        cases=len(np.unique(games.case)),
        findings=int(games.findings.sum()),
        decisive=int(games.charges.sum()),
        flagged=int(games.flagged_findings.sum()),
        in_part=sum(games.in_part.values()),
        unjudged=sum(games.unjudged.values()),
        open=sum(games.open.values()),
        rated=main,
        without_flagged=rate_sources(
            games,
            "without flagged TIMING",
            less=games.flagged.astype(np.float64),
            resamples=resamples,
            seed=seed,
        ),
        sensitivity=tuple(
            rate_sources(games, name, weights=w, resamples=resamples, seed=seed)
            for name, w in SCHEMES.items()
        ),
        strata=tuple(
            rate_sources(games, name, mask=mask, resamples=resamples, seed=seed)
            for name, mask in strata
            if several and mask.any()
        ),
        profiles=profiles(games),
        stratum_profiles=tuple(
            (name, profiles(games, mask)) for name, mask in strata if several and mask.any()
        ),
        matchups=matchups(games, resamples=resamples, seed=seed),
        tolerance=tuple(_step(games, *step, resamples=resamples, seed=seed) for step in TOLERANCES),
        swap=tuple(swap),
        verdicts=verdicts(games),
        favoured=_position_preference(*games.for_a),
    )


def costs(
    games: Games, weights: Mapping[Category, float] = WEIGHTS, less: Floats | None = None
) -> Floats:
    """Return (G, 2) points charged to each game's first and second timeline.

    `less`: (G, 2) wrong times that do not count.
    """
    counts = games.charges.astype(np.float64)
    if less is not None:
        counts[:, :, _WRONG_TIME] -= less
    found: Floats = counts @ np.array([weights[c] for c in CATEGORIES])
    return found


def compute_shares(points: Floats) -> Floats:
    """Return (G,) the first timeline's share of each game.

    It is the part charged to the second; one half if nothing is charged.
    """
    total = points.sum(1)
    return np.divide(points[:, 1], total, out=np.full(len(points), 0.5), where=total > 0)


def rate_sources(
    games: Games,
    name: str,
    *,
    weights: Mapping[Category, float] = WEIGHTS,
    mask: Bools | None = None,
    less: Floats | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> SourceRatings:
    """Return ratings of every source, over the games of `mask`.

    Sources without a game there are left out.
    """
    keep = np.ones(len(games), dtype=bool) if mask is None else mask
    points = costs(games, weights, less)[keep]
    first, second, case = games.first[keep], games.second[keep], games.case[keep]
    share = compute_shares(points)
    there = np.unique(np.concatenate([first, second])) if len(first) else np.zeros(0, np.int64)
    index = np.full(len(games.sources), -1, np.int64)
    index[there] = np.arange(len(there))
    i, j = index[first], index[second]
    named = [games.sources[n] for n in there]
    values, low, high, lost, why = _estimates(i, j, share, case, named, resamples, seed)
    flagged = games.flagged if less is None else np.zeros_like(games.flagged)
    record = _records(i, j, points, share, len(there), flagged[keep])
    means = mean_shares(i, j, share, len(there))
    found = [
        Rating(
            source=games.sources[n],
            games=record[at]["games"],
            rating=_number(values[at]),
            low=_number(low[at]),
            high=_number(high[at]),
            mean_share=_number(means[at]),
            wins=record[at]["wins"],
            losses=record[at]["losses"],
            ties=record[at]["ties"],
            draws=record[at]["draws"],
            empty=record[at]["empty"],
            in_part=sum(count for pair, count in games.in_part.items() if n in pair),
            unjudged=sum(count for pair, count in games.unjudged.items() if n in pair),
            flagged=record[at]["flagged"],
        )
        for at, n in enumerate(there)
    ]
    order = sorted(
        found,
        key=lambda r: (r.rating is None, -(r.rating or 0.0), -(r.mean_share or 0.0), r.source),
    )
    return SourceRatings(
        name, tuple(order), len(first), int((share == 0.5).sum()), lost, resamples, why
    )


def profiles(games: Games, mask: Bools | None = None) -> tuple[Profile, ...]:
    """Return the errors of each source and of the average source.

    Over the games of `mask`. The average source has the raw counts over the sum of all sources'
    games.
    """
    keep = np.ones(len(games), dtype=bool) if mask is None else mask
    charges = games.charges[keep]
    found = []
    weights = np.array([WEIGHTS[c] for c in CATEGORIES])
    for n, name in enumerate(games.sources):
        mine = (games.first[keep] == n, games.second[keep] == n)
        count = int(mine[0].sum() + mine[1].sum())
        counts = charges[mine[0], 0].sum(0) + charges[mine[1], 1].sum(0)
        if count:
            found.append(
                Profile(name, count, tuple(int(c) for c in counts), float(counts @ weights) / count)
            )
    total = charges.sum((0, 1))
    count = 2 * int(keep.sum())
    average = Profile(
        "average source",
        count,
        tuple(int(c) for c in total),
        float(total @ weights) / count if count else None,
    )
    return (*found, average)


def matchups(games: Games, *, resamples: int = RESAMPLES, seed: int = SEED) -> tuple[Matchup, ...]:
    """Return every pair of sources with games, judged or not.

    Each has pooled points, the first one's share with its interval, and whether it is separated.
    """
    points = costs(games)
    found = []
    for i, j in combinations(range(len(games.sources)), 2):
        mine = (games.first == i) & (games.second == j)
        unjudged, waiting = games.unjudged.get((i, j), 0), games.open.get((i, j), 0)
        if mine.any() or unjudged or waiting:
            keys = (games.keys[i], games.keys[j]) if games.keys else None
            differ, turned = (
                (find_difference(*keys), is_second_fuller(*keys)) if keys else ("", False)
            )
            charged = points[mine][:, ::-1] if turned else points[mine]
            result = pool_shares(
                charged[:, 0].tolist(),
                charged[:, 1].tolist(),
                games.case[mine],
                resamples=resamples,
                seed=seed,
            )
            pair = (
                (games.sources[j], games.sources[i])
                if turned
                else (games.sources[i], games.sources[j])
            )
            found.append(
                Matchup(
                    *pair,
                    result,
                    int(games.findings[mine].sum()),
                    games.in_part.get((i, j), 0),
                    unjudged,
                    waiting,
                    differ,
                )
            )
    return tuple(found)


def verdicts(games: Games) -> tuple[VerdictLine, ...]:
    """Return counts of verdicts and grounding: all findings, then by type."""
    present = [family for family in FAMILIES if any(kind == family for kind, *_ in games.tally)]
    return tuple(_verdicts(name, games.tally) for name in (*([ALL] if present else []), *present))


def _verdicts(name: str, tally: Mapping[tuple[str, str, str, bool], int]) -> VerdictLine:
    mine = [(key, n) for key, n in tally.items() if name in (ALL, key[0])]

    def counted(at: int, value: object) -> int:
        return sum(n for key, n in mine if key[at] == value)

    return VerdictLine(
        type=name,
        findings=sum(n for _, n in mine),
        decisive=counted(1, DECISIVE),
        both=counted(1, Verdict.BOTH.value),
        neither=counted(1, Verdict.NEITHER.value),
        unclear=counted(1, Verdict.UNCLEAR.value),
        flagged=counted(3, True),
        groundings=tuple((g.value, counted(2, g.value)) for g in Grounding),
    )


def _position_preference(for_a: int, n: int) -> PositionPreference | None:
    ends = wilson_interval(for_a, n)
    return None if ends is None else PositionPreference(for_a, n, *ends)


def _step(
    games: Games, words: str, least: float, share: float, *, resamples: int, seed: int
) -> ToleranceStep:
    far = np.nan_to_num(games.timing_far, nan=0.0)
    # N/A against a time is outside every tolerance.
    inside = games.timing_apart < np.maximum(least, share * far)
    less = np.zeros((len(games), 2))
    np.add.at(less, (games.timing_game[inside], games.timing_side[inside]), 1.0)
    result = rate_sources(games, words, less=less, resamples=resamples, seed=seed)
    return ToleranceStep(words, int((~inside).sum()), int(inside.sum()), result)


def _estimates(
    i: np.ndarray,
    j: np.ndarray,
    share: Floats,
    case: np.ndarray,
    named: Sequence[str],
    resamples: int,
    seed: int,
) -> tuple[Floats, Floats, Floats, int, str]:
    """Return (ratings, low, high, resamples without ratings, why).

    NaN for undetermined values; `why` says why there are no ratings.
    """
    n = len(named)
    none = np.full(n, np.nan)
    if n < 2:
        return none, none, none, 0, "ratings need games between at least two sources"
    try:
        values = ratings(i, j, share, n, names=named)
    except Undetermined as undetermined:
        return none, none, none, 0, str(undetermined)
    if len(np.unique(case)) < FEWEST_CASES:
        return values, none, none, 0, ""
    low, high, lost = interval(bootstrap_ratings(i, j, share, case, n, resamples, seed))
    return values, low, high, lost, ""


def _records(
    i: np.ndarray, j: np.ndarray, points: Floats, share: Floats, n: int, flagged: np.ndarray
) -> list[dict[str, int]]:
    empty = points.sum(1) == 0
    draw = share == 0.5
    found = []
    for source in range(n):
        mine = (i == source) | (j == source)
        ahead = ((i == source) & (share > 0.5)) | ((j == source) & (share < 0.5))
        found.append(
            {
                "games": int(mine.sum()),
                "wins": int(ahead.sum()),
                "losses": int((mine & ~draw & ~ahead).sum()),
                "ties": int((mine & draw & ~empty).sum()),
                "draws": int((mine & draw).sum()),
                "empty": int((mine & empty).sum()),
                "flagged": int(flagged[i == source, 0].sum() + flagged[j == source, 1].sum()),
            }
        )
    return found


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
