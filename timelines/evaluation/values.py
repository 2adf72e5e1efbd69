"""The input and the results of an evaluation.

Every page, file and command shows these values and computes none. No Django. Times and errors in
hours from admission. Source: protocol section 3.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass as pydantic_dataclass

from llm_runtime.schema import SETTINGS, Number


class Basis(StrEnum):
    """The method that pairs reference and predicted occurrences."""

    #: One-to-one by span overlap (IoU), largest first. Primary wherever both sides have spans.
    SPAN = "span"
    #: One-to-one by cosine distance of sentence embeddings of the mentions; the report names the
    #: embedder.
    EMBEDDING = "embedding"
    #: One-to-one by normalised Levenshtein distance of the mentions.
    LEVENSHTEIN = "levenshtein"


#: The globally closest pair first, or the least total distance.
Method = Literal["greedy", "assignment"]
#: The widest threshold: pairs beyond it count nowhere, and S_max is fixed there.
WIDEST = 0.5
Threshold = Annotated[float, Number, Field(gt=0, le=WIDEST)]
Rho = Annotated[float, Number, Field(ge=0, le=1)]
#: ρ values of the sensitivity sweep.
RHO_SWEEP = tuple(round(n / 20, 2) for n in range(11))


@pydantic_dataclass(frozen=True, slots=True, kw_only=True, config=SETTINGS)
class EvaluationSettings:
    """Defaults are the protocol's; stored with every report."""

    bases: tuple[Basis, ...] = (Basis.SPAN, Basis.EMBEDDING)
    method: Method = "greedy"
    #: A pair counts when its distance is strictly below.
    threshold: Threshold = 0.1
    sweep: tuple[Threshold, ...] = tuple(round(n / 100, 2) for n in range(1, 51))
    #: Spans pair from this share of overlap: intersection over union.
    iou: Annotated[float, Number, Field(gt=0, le=1)] = 0.4
    resamples: Annotated[int, Number, Field(ge=1)] = 200
    seed: int = 20260904
    #: ρ values of the sensitivity sweep; empty leaves it out.
    rho_sweep: tuple[Rho, ...] = ()


@dataclass(frozen=True, slots=True)
class PlacedEvent:
    """One occurrence of one timeline as evaluation sees it.

    `rows` are the row indices its time rests on; `lane` is its kind, empty if it has none. A bound
    of None is open. `stated` is the entry's `known`; `way` is how its time was decided
    (`naming.name_way`).
    """

    key: str
    mention: str
    time: float | None
    start: int | None = None
    end: int | None = None
    rows: tuple[int, ...] = ()
    lane: str = ""
    lower: float | None = None
    upper: float | None = None
    stated: bool | None = None
    way: str = ""


@dataclass(frozen=True, slots=True)
class SourceKey:
    """One column of comparison.

    A source, the kind of its timeline and the alternative.
    """

    source: str
    kind: str
    alternative: int = 1

    @property
    def label(self) -> str:
        """Return "rules · revised", with the alternative unless it is first.

        "reference" alone if both words are the same.
        """
        words = (
            self.source
            if self.source == self.kind
            else f"{self.source} · {self.kind.replace('_', '-')}"
        )
        return words + (f" {self.alternative}" if self.alternative > 1 else "")

    @property
    def written(self) -> str:
        """ "rules@revised#2": how a person writes it in a form or a command."""
        return f"{self.source}@{self.kind}" + (
            f"#{self.alternative}" if self.alternative > 1 else ""
        )


@dataclass(frozen=True)
class Trail:
    """What a run did with the rows that the reference cites.

    It is the run of a revised timeline; `timeline` is the timeline's public id.
    """

    timeline: str
    #: Key of an occurrence → series among its candidates → what became of it.
    fates: Mapping[str, Mapping[str, str]]
    #: Rows that the reference cites and the revision saw.
    printed: frozenset[int]
    #: Key of an occurrence → rows chosen for it that the budget left out.
    over_budget: Mapping[str, Collection[int]]


@dataclass(frozen=True)
class EvaluatedCase:
    """One case with its reference and the timelines to compare.

    `stratum` is its dataset. `row_series` names the series of each row that the reference cites;
    with `trails` it is all that the evidence funnel needs.
    """

    case_id: str
    stratum: str
    reference: tuple[PlacedEvent, ...]
    timelines: Mapping[SourceKey, tuple[PlacedEvent, ...]]
    trails: Mapping[SourceKey, Trail] = field(default_factory=dict)
    row_series: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % case-level percentile bootstrap interval.

    No data is None with a `why`, never 0. `n` is the number of events, pairs or cases behind the
    figure; the metric says which.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    why: str = ""


#: Metric name → its words in a table head. The order is the order of columns.
METRICS: Mapping[str, str] = {
    "match_rate": "Event match rate",
    "precision": "Precision",
    "concordance": "Concordance",
    "concordance_ref": "Concordance (ties ½)",
    "aultc": "AULTC",
    "aultc_ref": "AULTC (fixed horizon)",
    "median_error": "Median error, h",
    "within_tolerance": "Within tolerance",
    "numeric_share": "Share with a time",
    "evidence_precision": "Evidence precision",
    "evidence_recall": "Evidence recall",
}


@dataclass(frozen=True)
class SourceResult:
    """Everything about one source under one basis.

    On basis `span`, `match_rate` is span recall.
    """

    key: SourceKey
    basis: Basis
    cases: int
    missing_cases: int
    reference_events: int
    predicted_events: int
    matched_events: int
    #: Cases that have the timeline.
    available: Mapping[str, Estimate]
    #: Missing cases count match rate and concordance 0 and errors S_max.
    missing_as_zero: Mapping[str, Estimate]
    #: (words, share) cumulative: within 1 hour, 1 day, 1 week, 1 month, 1 year.
    cumulative: tuple[tuple[str, Estimate], ...] = ()
    #: Errors grouped by |reference time|: (words, matched with both times, median error, share
    #: within tolerance).
    by_distance: tuple[tuple[str, int, Estimate, Estimate], ...] = ()
    #: (threshold, match rate, concordance, AULTC); empty on basis `span`.
    sweep: tuple[tuple[float, float | None, float | None, float | None], ...] = ()
    #: Sorted absolute errors, thinned to at most 400 points of their empirical CDF: (hours, share).
    error_cdf: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Difference:
    """Second minus first on the cases both have.

    It uses the matched pairs of each, and a paired case-level bootstrap. `median_error_common` is
    over reference events that both match and place.
    """

    first: SourceKey
    second: SourceKey
    basis: Basis
    metrics: Mapping[str, Estimate]


@dataclass(frozen=True)
class MatchedPair:
    """A reference occurrence and its predicted partner.

    `distance` is 1 - IoU on basis `span`.
    """

    reference: str
    predicted: str
    distance: float


@dataclass(frozen=True)
class CaseSource:
    """One source in one case.

    `available` False: the case has no such timeline.
    """

    key: SourceKey
    basis: Basis
    available: bool
    reference_events: int
    predicted_events: int
    pairs: tuple[MatchedPair, ...] = ()
    metrics: Mapping[str, Estimate] = field(default_factory=dict)


class Step(StrEnum):
    """A step of the evidence funnel, in order."""

    CANDIDATE = "candidate"
    RETAINED = "retained"
    PRINTED = "printed"
    CITED = "cited"
    IN_TIME = "in-time"


class Lost(StrEnum):
    """Why an occurrence failed a step of the evidence funnel."""

    NOT_FOUND = "not-found"
    BELOW_THRESHOLD = "below-threshold"
    OUTSIDE_TOP = "outside-top"
    OVER_BUDGET = "over-budget"
    NOT_SELECTED = "not-selected"
    NOT_CITED = "not-cited"
    OTHER_ROW = "other-row"
    TIME_DIFFERS = "time-differs"


@dataclass(frozen=True, slots=True)
class FunnelLine:
    """A matched occurrence whose reference cites rows.

    `reached` are the steps that succeeded, `lost` is the reason for the first that failed. `kind`
    is the kind of the reference occurrence, or of the predicted one if the reference has no kinds.
    """

    reference: str
    predicted: str
    kind: str
    reference_time: float | None
    predicted_time: float | None
    reached: tuple[Step, ...]
    lost: Lost | None


@dataclass(frozen=True)
class CaseFunnel:
    """The evidence funnel of one timeline of a case.

    `timeline` is its public id.
    """

    key: SourceKey
    timeline: str
    lines: tuple[FunnelLine, ...]


@dataclass(frozen=True)
class FunnelResult:
    """The evidence funnel of a source, for one kind of event.

    An empty `kind` means every kind.
    """

    key: SourceKey
    kind: str
    occurrences: int
    reached: Mapping[Step, int]
    lost: Mapping[Lost, int]


class BoundsOf(StrEnum):
    """The occurrences of a source whose bounds are evaluated together."""

    ALL = "all"
    STATED = "stated"
    NOT_STATED = "not-stated"
    #: Those whose times were decided in one way.
    WAY = "way"


@dataclass(frozen=True, slots=True)
class BoundsGroup:
    """Coverage and width of the bounds of one group of occurrences.

    `way` is set if the group is a way of decision. `width` is the median of closed bounds in hours,
    over their number; `coverage` and `open` are shares of all occurrences.
    """

    of: BoundsOf
    way: str
    occurrences: int
    coverage: Estimate
    width: Estimate
    open: Estimate


@dataclass(frozen=True, slots=True)
class WidthGroup:
    """Coverage of closed bounds of similar width: about a tenth of them.

    Widths in hours.
    """

    narrowest: float
    widest: float
    median: float
    coverage: Estimate


@dataclass(frozen=True)
class BoundsResult:
    """The bounds of one source under one basis."""

    key: SourceKey
    basis: Basis
    groups: tuple[BoundsGroup, ...]
    widths: tuple[WidthGroup, ...]


@dataclass(frozen=True)
class CaseResult:
    """One case of a report, for the drill-down."""

    case_id: str
    stratum: str
    sources: tuple[CaseSource, ...]
    funnel: tuple[CaseFunnel, ...] = ()


@dataclass(frozen=True)
class StratumResult:
    """The cases of one dataset alone.

    Strata differ in more than their source: a comparison across them is descriptive.
    """

    stratum: str
    cases: int
    results: tuple[SourceResult, ...]


@dataclass(frozen=True)
class RhoPoint:
    """The revised timeline at one reranker threshold ρ."""

    source: str
    rho: float
    rows: int
    metrics: Mapping[str, Estimate]


@dataclass(frozen=True)
class ReferenceResult:
    """The comparisons with one of several references.

    They cover the cases that have all of the references, so that figures differ by the reference
    alone.
    """

    reference: str
    cases: int
    results: tuple[SourceResult, ...]


@dataclass(frozen=True)
class Report:
    """One evaluation.

    `s_max` has for each basis the largest error at threshold 0.50 over all compared sources and
    resamples.
    """

    settings: EvaluationSettings
    reference: str
    embedder: str
    cases: int
    s_max: Mapping[str, float | None]
    results: tuple[SourceResult, ...]
    differences: tuple[Difference, ...] = ()
    #: Alternatives 1..A on the cases for which all of them are valid.
    alternatives: tuple[SourceResult, ...] = ()
    strata: tuple[StratumResult, ...] = ()
    rho: tuple[RhoPoint, ...] = ()
    #: The evidence funnel on the first basis, by source and kind.
    funnel: tuple[FunnelResult, ...] = ()
    #: Coverage and width of bounds, in the order of `results` without further alternatives. Reports
    #: of earlier versions have none.
    bounds: tuple[BoundsResult, ...] = ()
    #: The same timelines against each of several references; empty if there is one.
    references: tuple[ReferenceResult, ...] = ()
    #: Each timeline against the closest of them in each case.
    closest: ReferenceResult | None = None
    #: Cautions for a reader who quotes a figure ("the annotator knew the rows").
    warnings: tuple[str, ...] = ()

    def find(self, key: SourceKey, basis: Basis) -> SourceResult | None:
        return next((r for r in self.results if r.key == key and r.basis is basis), None)

    @property
    def keys(self) -> Sequence[SourceKey]:
        """Every source of the report once, in order."""
        return list(dict.fromkeys(r.key for r in self.results))
