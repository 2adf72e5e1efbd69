"""The occurrences behind a cell of the evidence funnel.

The database selects the stored lines, so that a page of a large evaluation reads only its own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

from django.db.models import F, Func, IntegerField, JSONField, QuerySet, Value
from pydantic import TypeAdapter

from ehr.presentation.clock import Clock
from timelines.evaluation.values import FunnelLine, Lost, SourceKey, Step
from timelines.models import Evaluation, EvaluationCase, Occurrence, Timeline
from timelines.pipeline.uids import unescape_mention

_LINES: TypeAdapter[list[FunnelLine]] = TypeAdapter(list[FunnelLine])
_OF_SOURCE = (
    "$.funnel[*] ? (@.key.source == $source && @.key.kind == $kind_of_timeline"
    " && @.key.alternative == $alternative)"
)


@dataclass(frozen=True)
class FunnelCell:
    """Which occurrences to list.

    They reached `step` or were lost by `lost`; without both, all are listed. An empty `kind` means
    every kind of event.
    """

    key: SourceKey
    kind: str = ""
    step: Step | None = None
    lost: Lost | None = None

    @property
    def lines_path(self) -> str:
        """Return the JSON path of the lines in a stored case."""
        conditions = [
            condition
            for condition, applies in (
                ("@.kind == $kind", self.kind),
                ("@.reached[*] == $step", self.step),
                ("@.lost == $lost", self.lost),
            )
            if applies
        ]
        return f"{_OF_SOURCE}.lines[*]" + (f" ? ({' && '.join(conditions)})" if conditions else "")

    @property
    def variables(self) -> dict[str, object]:
        """Return the values that the path names."""
        return {
            "source": self.key.source,
            "kind_of_timeline": self.key.kind,
            "alternative": self.key.alternative,
            "kind": self.kind,
            "step": self.step,
            "lost": self.lost,
        }


@dataclass(frozen=True)
class Listed:
    """One occurrence of the list.

    `mention` and `timeline` are empty if the compared timeline was deleted.
    """

    encounter: str
    case_id: str
    dataset: str
    timeline: str
    mention: str
    line: FunnelLine
    clock: Clock


class ListedOccurrences(Sequence[Listed]):
    """The occurrences of a cell, by dataset, case and time, for a paginator.

    Its length takes one query, a slice three.
    """

    def __init__(self, evaluation: Evaluation, cell: FunnelCell) -> None:
        self._cell = cell
        self._cases = evaluation.cases.order_by("encounter__dataset__name", "encounter__case_id")

    @cached_property
    def _counts(self) -> list[tuple[int, int]]:
        """Return (case result, its occurrences) of the cases that have any."""
        size = Func(
            self._select("jsonb_path_query_array", self._cell.lines_path),
            function="jsonb_array_length",
            output_field=IntegerField(),
        )
        return list(self._cases.annotate(size=size).filter(size__gt=0).values_list("pk", "size"))

    def __len__(self) -> int:
        return sum(size for _, size in self._counts)

    @overload
    def __getitem__(self, at: int) -> Listed: ...

    @overload
    def __getitem__(self, at: slice) -> list[Listed]: ...

    def __getitem__(self, at: int | slice) -> Listed | list[Listed]:
        if isinstance(at, int):
            return self[at : at + 1][0]
        start, stop, _ = at.indices(len(self))
        chosen: list[int] = []
        before = skipped = 0
        for pk, size in self._counts:
            if before + size > start and before < stop:
                if not chosen:
                    skipped = before
                chosen.append(pk)
            before += size
        return self._load(self._cases.filter(pk__in=chosen))[start - skipped : stop - skipped]

    def _load(self, cases: QuerySet[EvaluationCase]) -> list[Listed]:
        rows = cases.annotate(
            lines=self._select("jsonb_path_query_array", self._cell.lines_path),
            timeline=self._select("jsonb_path_query_first", f"{_OF_SOURCE}.timeline"),
        ).values_list(
            "encounter__public_id",
            "encounter__case_id",
            "encounter__dataset__name",
            "encounter__admitted_at",
            "encounter__discharged_at",
            "timeline",
            "lines",
        )
        found = [(*words, timeline, _sort(lines)) for *words, timeline, lines in rows]
        mentions = _load_mentions(
            {timeline: {line.predicted for line in lines} for *_, timeline, lines in found}
        )
        return [
            Listed(
                encounter,
                case_id,
                dataset,
                timeline if timeline in mentions else "",
                mentions.get(timeline, {}).get(line.predicted, ""),
                line,
                Clock.of_stay(admitted, discharged),
            )
            for encounter, case_id, dataset, admitted, discharged, timeline, lines in found
            for line in lines
        ]

    def _select(self, function: str, path: str) -> Func:
        return Func(
            F("result"),
            Func(Value(path), template="%(expressions)s::jsonpath"),
            Func(Value(json.dumps(self._cell.variables)), template="%(expressions)s::jsonb"),
            function=function,
            output_field=JSONField(),
        )


def _sort(lines: object) -> list[FunnelLine]:
    return sorted(
        _LINES.validate_python(lines),
        key=lambda line: (line.reference_time is None, line.reference_time or 0.0, line.predicted),
    )


def _load_mentions(wanted: dict[str, set[str]]) -> dict[str, dict[str, str]]:
    """Return timeline → UID → mention, of the timelines that still exist."""
    inventories = dict(
        Timeline.objects.filter(public_id__in=wanted, inventory__isnull=False).values_list(
            "public_id", "inventory_id"
        )
    )
    uids = {uid for each in wanted.values() for uid in each}
    occurrences = Occurrence.objects.filter(inventory__in=set(inventories.values()), uid4__in=uids)
    of_inventory: dict[int, dict[str, str]] = {}
    for inventory, uid, mention in occurrences.values_list("inventory", "uid4", "mention"):
        of_inventory.setdefault(inventory, {})[uid] = unescape_mention(mention)
    return {
        timeline: of_inventory.get(inventory, {}) for timeline, inventory in inventories.items()
    }
