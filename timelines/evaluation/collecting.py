"""Pair the cases of a report one by one.

Only what the report's figures need is stored. No Django. Matching is done once a case, timeline and
basis (protocol section 3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from timelines.evaluation.scoring import (
    Paired,
    has_span,
    mention_distance,
    pair_by_distance,
    pair_by_span,
)
from timelines.evaluation.values import (
    WIDEST,
    Basis,
    EvaluatedCase,
    EvaluationSettings,
    PlacedEvent,
    SourceKey,
)

#: Texts → (n, d) vectors. Each distinct mention of a case is embedded once, so that equal mentions
#: are at distance 0 exactly.
Embed = Callable[[list[str]], NDArray[np.floating]]


@dataclass
class Collected:
    """Everything that was paired so far; one entry a case in each list."""

    settings: EvaluationSettings
    pairs: dict[tuple[SourceKey, Basis], list[Paired | None]] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)
    timed: list[int] = field(default_factory=list)
    strata: list[str] = field(default_factory=list)
    reference_rows: bool = False
    #: The largest error at the widest threshold, in hours.
    largest: dict[tuple[SourceKey, Basis], float] = field(default_factory=dict)
    #: (occurrences with a span, all) of the references and of each timeline; counted only if spans
    #: are compared.
    reference_spans: tuple[int, int] = (0, 0)
    spans: dict[SourceKey, tuple[int, int]] = field(default_factory=dict)

    def add(
        self, case: EvaluatedCase, vectors: dict[str, NDArray[np.float64]] | None
    ) -> dict[tuple[SourceKey, Basis], Paired]:
        """Pair every timeline of a case.

        `vectors` has one for each mention on basis `embedding`.
        """
        found = {
            (key, basis): self._pair(case, key, basis, vectors)
            for key in case.timelines
            for basis in self.settings.bases
        }
        before = len(self.sizes)
        for known in found:
            self.pairs.setdefault(known, [None] * before)
        for known, listed in self.pairs.items():
            listed.append(found.get(known))
        self.sizes.append(len(case.reference))
        self.timed.append(sum(e.time is not None for e in case.reference))
        self.strata.append(case.stratum)
        self.reference_rows |= any(e.rows for e in case.reference)
        self.reference_spans = _add_counts(self.reference_spans, case.reference)
        return found

    def _pair(
        self,
        case: EvaluatedCase,
        key: SourceKey,
        basis: Basis,
        vectors: dict[str, NDArray[np.float64]] | None,
    ) -> Paired:
        events = case.timelines[key]
        if basis is Basis.SPAN:
            self.spans[key] = _add_counts(self.spans.get(key, (0, 0)), events)
            paired = pair_by_span(case.reference, events, self.settings.iou)
        else:
            distance = mention_distance(basis, case.reference, events, vectors)
            paired = pair_by_distance(case.reference, events, distance, self.settings)
            if (
                self.settings.method != "greedy"
            ):  # a greedy matching contains the one at every lower threshold
                self._note(
                    key,
                    basis,
                    pair_by_distance(
                        case.reference, events, distance, replace(self.settings, threshold=WIDEST)
                    ),
                )
        self._note(key, basis, paired)
        return paired

    def _note(self, key: SourceKey, basis: Basis, paired: Paired) -> None:
        if paired.errors.size:
            self.largest[key, basis] = max(
                self.largest.get((key, basis), 0.0), float(paired.errors.max())
            )

    def comparable(self, key: SourceKey, basis: Basis) -> bool:
        """Return whether a source takes part on a basis.

        On spans, only if it and the reference have some.
        """
        return basis is not Basis.SPAN or bool(
            self.spans.get(key, (0, 0))[0] and self.reference_spans[0]
        )

    def s_max(self, basis: Basis) -> float | None:
        """Return the largest error of any compared source at threshold 0.50.

        A resample repeats cases and so cannot exceed it.
        """
        return max(
            (
                e
                for (key, found), e in self.largest.items()
                if found is basis and self.comparable(key, basis)
            ),
            default=None,
        )


def _add_counts(before: tuple[int, int], events: Sequence[PlacedEvent]) -> tuple[int, int]:
    return before[0] + sum(has_span(e) for e in events), before[1] + len(events)


def embed_mentions(case: EvaluatedCase, embed: Embed) -> dict[str, NDArray[np.float64]]:
    """Mention → its vector, of every mention of the case."""
    mentions = sorted(
        {e.mention for e in case.reference}
        | {e.mention for events in case.timelines.values() for e in events}
    )
    return (
        dict(zip(mentions, np.asarray(embed(mentions), dtype=np.float64), strict=True))
        if mentions
        else {}
    )
