"""The cases of an evaluation as its pages list them.

A case has one timeline's figures, which the database reads from the stored results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Func, JSONField, QuerySet, Value

from timelines.evaluation.values import Basis, SourceKey
from timelines.models import Evaluation, EvaluationCase
from timelines.presentation.evaluation.tables import value_words

CASE_METRICS = ("match_rate", "concordance", "aultc_ref", "median_error", "within_tolerance")
_SOURCE = (
    # JSON path
    "$.sources[*] ? (@.key.source == $source && @.key.kind == $kind && @.key.alternative =="
    " $alternative && @.basis == $basis)"
)


@dataclass(frozen=True)
class CaseLine:
    """One case of the list."""

    public_id: str
    case_id: str
    dataset: str
    reference_events: int
    predicted_events: int
    figures: tuple[str, ...]
    values: Mapping[str, float | None]
    available: bool


def case_lines(
    evaluation: Evaluation, key: SourceKey, basis: Basis, dataset: str = ""
) -> list[CaseLine]:
    """Return the cases of an evaluation with figures of one timeline.

    By case id; limited to one dataset if its public id is given.
    """
    rows = evaluation.cases.order_by("encounter__dataset__name", "encounter__case_id")
    if dataset:
        rows = rows.filter(encounter__dataset__public_id=dataset)
    fields = ("encounter__public_id", "encounter__case_id", "encounter__dataset__name", "found")
    return [_line(*row) for row in _add_source(rows, key, basis).values_list(*fields)]


def _add_source(
    rows: QuerySet[EvaluationCase], key: SourceKey, basis: Basis
) -> QuerySet[EvaluationCase]:
    """Add `found`: the stored source without its pairs, which are long."""
    wanted = {
        "source": key.source,
        "kind": key.kind,
        "alternative": key.alternative,
        "basis": basis.value,
    }
    path = Func(Value(_SOURCE), template="%(expressions)s::jsonpath")
    variables = Func(Value(json.dumps(wanted)), template="%(expressions)s::jsonb")
    first = Func(
        F("result"), path, variables, function="jsonb_path_query_first", output_field=JSONField()
    )
    return rows.annotate(
        found=Func(first, template="(%(expressions)s - 'pairs')", output_field=JSONField())
    )


def _line(public_id: str, case_id: str, dataset: str, found: dict[str, Any] | None) -> CaseLine:
    source = found or {}
    metrics = source.get("metrics") or {}
    values = {name: (metrics.get(name) or {}).get("value") for name in CASE_METRICS}
    return CaseLine(
        public_id=public_id,
        case_id=case_id,
        dataset=dataset,
        reference_events=source.get("reference_events", 0),
        predicted_events=source.get("predicted_events", 0),
        figures=tuple(value_words(name, values[name]) for name in CASE_METRICS),
        values=values,
        available=bool(source.get("available")),
    )
