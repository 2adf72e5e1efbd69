"""Compare each timeline with the closest of a case's references.

In every case a timeline is compared with the reference that it fits best. The figures are the best
that the choice of a reference allows, so what remains of an error is no one reference's. No Django.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from timelines.evaluation.collecting import Collected, Embed, embed_mentions
from timelines.evaluation.figures import Cases
from timelines.evaluation.report import describe_source, order_key
from timelines.evaluation.resamples import Resamples
from timelines.evaluation.scoring import Paired
from timelines.evaluation.spread import summarise_result
from timelines.evaluation.values import (
    Basis,
    EvaluatedCase,
    EvaluationSettings,
    ReferenceResult,
    SourceKey,
)

#: The name of this comparison beside those with each reference.
CLOSEST = "closest"


def evaluate_closest(
    cases: Iterable[Mapping[str, EvaluatedCase]],
    *,
    settings: EvaluationSettings,
    embed: Embed | None = None,
) -> ReferenceResult:
    """Return the comparison; each case is given once for every reference.

    A reference is compared with the closest of the others. Of equally close references the first
    one counts.
    """
    collected: dict[str, Collected] = {}
    for one in cases:
        for reference, case in one.items():
            vectors = None if embed is None else embed_mentions(case, embed)
            collected.setdefault(reference, Collected(settings)).add(case, vectors)
    each = list(collected.values())
    number = len(each[0].sizes) if each else 0
    resamples = Resamples.draw(number, settings.resamples, settings.seed)
    known = {k for one in each for k in one.pairs if one.comparable(*k)}
    ordered = sorted(known, key=lambda k: (settings.bases.index(k[1]), order_key(k[0])))
    results = (describe_source(*k, _choose(each, *k, resamples), ()) for k in ordered)
    return ReferenceResult(CLOSEST, number, tuple(summarise_result(r) for r in results))


def _choose(each: Sequence[Collected], key: SourceKey, basis: Basis, resamples: Resamples) -> Cases:
    """Return a timeline's cases, each with its closest reference."""
    there = [one for one in each if (key, basis) in one.pairs and one.comparable(key, basis)]
    chosen = [_choose_in_case(each, there, key, basis, at) for at in range(len(each[0].sizes))]
    paired, sizes, timed = zip(*chosen, strict=True)
    s_max = max((s for one in each if (s := one.s_max(basis)) is not None), default=None)
    return Cases(paired, sizes, timed, resamples, s_max)


def _choose_in_case(
    each: Sequence[Collected], there: Sequence[Collected], key: SourceKey, basis: Basis, at: int
) -> tuple[Paired | None, int, int]:
    """Return the closest pairing and its reference's size and timed events.

    The first reference is that of a case without the timeline.
    """
    threshold = None if basis is Basis.SPAN else each[0].settings.threshold
    found = [
        (paired.upto(threshold), one.sizes[at], one.timed[at])
        for one in there
        if (paired := one.pairs[key, basis][at]) is not None
    ]
    missing = (None, each[0].sizes[at], each[0].timed[at])
    return max(found, key=lambda one: measure_fit(one[0], one[1]), default=missing)


def measure_fit(paired: Paired, size: int) -> tuple[float, float]:
    """Return how well a timeline fits a reference of `size` occurrences.

    The share of them that are matched at a time within the tolerance, then the share matched.
    """
    return (paired.tolerated / size, len(paired) / size) if size else (0.0, 0.0)
