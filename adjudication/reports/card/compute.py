"""The judge's report card from a packet's decisions. No Django.

Source: protocol section 4, "Validation sample".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb
from statistics import NormalDist

import numpy as np

from adjudication.reports.card.values import (
    DECISIVE,
    EMISSION,
    STRATA,
    WHICH_SIDE,
    Agreement,
    BlindingCheck,
    Disagreement,
    Item,
    Rate,
    ReportCard,
    ReviewerCard,
    StandardisedRate,
    StratumRate,
)
from adjudication.scoring.agreement import cohen_kappa, pabak
from adjudication.scoring.intervals import standardise_rate, wilson_interval

#: Above this many reviews no number is given.
MOST_REVIEWS = 1_000_000


def report_card(
    items: Sequence[Item],
    reviewers: Sequence[str],
    corpus: Mapping[str, int],
    *,
    outside: int = 0,
    blinding: BlindingCheck | None = None,
) -> ReportCard:
    """Return the card of a packet.

    `reviewers` are in order of assignment. `corpus` counts the findings of all games by stratum,
    `outside` those outside the five strata. Reviewers are never pooled: items that several decide
    on serve agreement only.
    """
    cards = [reviewer_card(items, name, corpus) for name in reviewers]
    primary = max(cards, key=lambda c: c.decided).reviewer if cards else ""
    return ReportCard(
        items=len(items),
        decided=sum(1 for i in items if i.decisions),
        primary=primary,
        reviewers=tuple(cards),
        agreements=tuple(
            a for pair in combinations(reviewers, 2) if (a := agreement(items, *pair)) is not None
        ),
        corpus={s: corpus.get(s, 0) for s in STRATA},
        outside=outside,
        blinding=blinding,
    )


def reviewer_card(items: Sequence[Item], reviewer: str, corpus: Mapping[str, int]) -> ReviewerCard:
    """Return one reviewer's rates, and their active seconds per item.

    Rates are raw with Wilson's interval, by stratum, by pairing, and standardised.
    """
    mine = [(i, d) for i in items if (d := i.find_decision(reviewer)) is not None]
    seconds = [d.active_seconds for _, d in mine if d.active_seconds is not None]
    total = sum(corpus.get(s, 0) for s in STRATA)
    strata = [
        StratumRate(
            s, _rate([(i, d.answer) for i, d in mine if i.stratum == s]), _share(corpus, s, total)
        )
        for s in STRATA
    ]
    pairings = dict.fromkeys(i.pairing for i in items)
    return ReviewerCard(
        reviewer=reviewer,
        decided=len(mine),
        raw=_rate([(i, d.answer) for i, d in mine]),
        strata=tuple(strata),
        standardised=_standardise(strata),
        pairings=tuple(
            (p, _rate([(i, d.answer) for i, d in mine if i.pairing == p])) for p in pairings
        ),
        median_seconds=float(np.median(seconds)) if seconds else None,
        quartiles=(
            (float(np.percentile(seconds, 25)), float(np.percentile(seconds, 75)))
            if seconds
            else None
        ),
        not_a_finding=sum(1 for _, d in mine if d.answer == "NOT_A_FINDING"),
    )


def agreement(items: Sequence[Item], first: str, second: str) -> Agreement | None:
    """Compare two reviewers on the items both decided; None without any.

    Compares whether they uphold the judge.
    """
    shared = [
        (i, a, b)
        for i in items
        if (a := i.find_decision(first)) is not None and (b := i.find_decision(second)) is not None
    ]
    if not shared:
        return None
    cells = Counter((i.upheld(a.answer), i.upheld(b.answer)) for i, a, b in shared)
    table = ((cells[True, True], cells[True, False]), (cells[False, True], cells[False, False]))
    alike = table[0][0] + table[1][1]
    low, high = wilson_interval(alike, len(shared)) or (None, None)
    apart = [(i, a.answer, b.answer) for i, a, b in shared if a.answer != b.answer]
    found = [
        Disagreement(
            i.number,
            i.key,
            i.case,
            i.stratum,
            i.verdict,
            a,
            b,
            classify_disagreement(a, b),
            i.upheld(a) != i.upheld(b),
            i.adjudicated,
        )
        for i, a, b in apart
    ]
    splits = Counter(d.case for d in found if d.splits)
    together = Counter(i.case for i, _, _ in shared)
    return Agreement(
        first=first,
        second=second,
        table=table,
        raw=Rate(alike, len(shared), low, high),
        kappa=cohen_kappa(table),
        pabak=pabak(table),
        answers=dict(Counter((a.answer, b.answer) for _, a, b in shared)),
        disagreements=tuple(found),
        by_case=tuple(
            sorted(
                ((c, splits[c], n) for c, n in together.items()), key=lambda row: (-row[1], row[0])
            )
        ),
    )


def classify_disagreement(first: str, second: str) -> str:
    """Classify two different answers.

    They differ in which side is right, or in whether there is anything to report or decide.
    """
    return WHICH_SIDE if first in DECISIVE and second in DECISIVE else EMISSION


def reviews_needed(rate: float, width: float) -> int | None:
    """Return the least number of reviews for an interval of this width.

    Wilson's interval at this rate is then at most `width` wide (0 to 1). None if a million reviews
    are not enough. Raises ValueError unless 0 ≤ rate ≤ 1 and 0 < width < 1.
    """
    if not 0 <= rate <= 1 or not 0 < width < 1:
        raise ValueError("0 ≤ rate ≤ 1 and 0 < width < 1")
    low, high = 1, MOST_REVIEWS
    if _width(rate, high) > width:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _width(rate, middle) <= width else (middle + 1, high)
    return low


def blinding_check(
    right: int, guesses: int, *, chance: float = 0.5, unsure: int = 0
) -> BlindingCheck:
    """Test guesses of the source behind a side against chance.

    Exact two-sided binomial test (outcomes at most as likely as the observed one). Answers of "no
    idea" are counted separately. Raises ValueError for impossible counts.
    """
    if not 0 <= right <= guesses or not 0 < chance < 1:
        raise ValueError("0 ≤ right ≤ guesses and 0 < chance < 1")
    if not guesses:
        return BlindingCheck(0, 0, chance, None, unsure)
    likely = [
        comb(guesses, k) * chance**k * (1 - chance) ** (guesses - k) for k in range(guesses + 1)
    ]
    # The relative slack treats outcomes of the same likelihood as equal despite rounding.
    p = sum(x for x in likely if x <= likely[right] * (1 + 1e-9))
    return BlindingCheck(
        guesses, right, chance, min(1.0, p), unsure, wilson_interval(right, guesses)
    )


def _rate(decided: Sequence[tuple[Item, str]]) -> Rate:
    upheld = sum(1 for item, answer in decided if item.upheld(answer))
    low, high = wilson_interval(upheld, len(decided)) or (None, None)
    return Rate(upheld, len(decided), low, high)


def _share(corpus: Mapping[str, int], stratum: str, total: int) -> float | None:
    return corpus.get(stratum, 0) / total if total else None


def _standardise(strata: Sequence[StratumRate]) -> StandardisedRate:
    shares = [s.corpus or 0.0 for s in strata]
    if not any(shares):
        return StandardisedRate(None, why="the judge run has no finding within the five strata")
    missing = [s.stratum for s in strata if s.corpus and not s.rate.n]
    found = standardise_rate([s.rate.upheld for s in strata], [s.rate.n for s in strata], shares)
    if found is None:
        return StandardisedRate(
            None, why=f"no finding was decided in {', '.join(missing)}, which the corpus has"
        )
    return StandardisedRate(*found)


def _width(rate: float, n: int) -> float:
    """Return the width of Wilson's interval; it falls as n grows.

    The rate need not be a whole number of reviews.
    """
    z = NormalDist().inv_cdf(0.975)
    return 2 * z / (1 + z * z / n) * (rate * (1 - rate) / n + z * z / (4 * n * n)) ** 0.5
