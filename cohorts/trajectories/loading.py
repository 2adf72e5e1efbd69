"""Load the stays of a trajectory page and compute its figures."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from django.db import connection

from cohorts.facts.loading import load_facts
from cohorts.models import ConceptVersion
from cohorts.trajectories.aligning import ADMISSION, Aligned, align
from cohorts.trajectories.choices import Choice
from ehr.models import Dataset, Encounter, EventSeries

_HERE = Path(__file__).parent
_CURVES = (_HERE / "curves.sql").read_text(encoding="utf-8")
_CHANGES = (_HERE / "changes.sql").read_text(encoding="utf-8")
#: Hours before and after hour 0 in which a value is looked for.
AROUND = 24.0
#: Series that the patterns of a page may find; more would mix what is not alike.
MOST_SERIES = 20
#: "74 M · …", "> 89 F · …", "3 mo M · …": the last word of the first part.
_SEX = re.compile(r"[^·]*?\b([MF])(?: ·|$)")
#: A stay that a group has no name for.
OTHER = "not known"


@dataclass(frozen=True)
class Loaded:
    """The aligned stays, with their encounters and groups by primary key."""

    aligned: Aligned
    encounters: Mapping[int, Encounter]
    groups: Mapping[int, str]
    facts: pl.DataFrame


def load(
    dataset: Dataset,
    choice: Choice,
    versions: Mapping[str, ConceptVersion],
    closed: Collection[int],
) -> Loaded:
    """Return the open stays of a dataset, aligned as chosen. Four queries."""
    wanted = [choice.zero, choice.target, choice.group, *choice.concepts]
    concepts = {name: versions[name] for name in dict.fromkeys(wanted) if name in versions}
    loaded = load_facts(dataset, choice.source, concepts)
    encounters = {
        e.pk: e
        for e in dataset.encounters.exclude(pk__in=list(closed)).defer("source_sha256")
        if e.pk in loaded.stays
    }
    facts = loaded.facts.filter(pl.col("stay").is_in(list(encounters)))
    zero = choice.zero if choice.zero in concepts else ADMISSION
    return Loaded(
        align(facts, _frame(encounters.values()), zero),
        encounters,
        _find_groups(encounters, facts, choice.group),
        facts,
    )


def _frame(encounters: Collection[Encounter]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            (
                e.pk,
                None
                if e.discharged_at is None
                else (e.discharged_at - e.admitted_at).total_seconds() / 3600,
            )
            for e in encounters
        ],
        schema={"stay": pl.Int64, "discharge": pl.Float64},
        orient="row",
    )


def _find_groups(
    encounters: Mapping[int, Encounter], facts: pl.DataFrame, group: str
) -> dict[int, str]:
    """Return the group of each stay; none without a group."""
    if group == "unit":
        return {pk: e.unit or OTHER for pk, e in encounters.items()}
    if group == "sex":
        return {pk: _read_sex(e.headline) for pk, e in encounters.items()}
    if not group:
        return {}
    having = set(facts.filter(pl.col("concept") == group)["stay"].to_list())
    return {pk: "with" if pk in having else "without" for pk in encounters}


def _read_sex(headline: str) -> str:
    found = _SEX.match(headline)
    return {"M": "male", "F": "female"}[found[1]] if found else OTHER


def find_series(dataset: Dataset, patterns: str) -> list[str]:
    """Return the names of the series that a pattern matches, at most `MOST_SERIES`.

    Patterns are separated by commas; `*` is any text.
    """
    names = EventSeries.objects.filter(encounter__dataset=dataset).order_by()
    found: set[str] = set()
    for pattern in filter(None, map(str.strip, patterns.split(","))):
        wanted = ".*".join(re.escape(part) for part in pattern.split("*"))
        matches = names.filter(event__iregex=f"^{wanted}$").values_list("event", flat=True)
        found.update(matches.distinct()[: MOST_SERIES + 1])
    return sorted(found)[:MOST_SERIES]


@dataclass(frozen=True, slots=True)
class Bin:
    """The numbers of a bin that begins at `at` hours from hour 0."""

    at: float
    low: float
    median: float
    high: float
    values: int
    stays: int


def load_curve(
    dataset: Dataset, aligned: Aligned, series: Sequence[str], choice: Choice
) -> list[Bin]:
    """Return median and quartiles of the series' numbers in each bin. One query."""
    rows = _execute(
        _CURVES,
        dataset,
        aligned,
        series,
        {"from": choice.start, "until": choice.stop, "step": choice.step},
    )
    return [
        Bin(choice.start + number * choice.step, low, median, high, values, stays)
        for number, low, median, high, values, stays in rows
    ]


def load_changes(
    dataset: Dataset, aligned: Aligned, series: Sequence[str], hours: float
) -> list[tuple[int, float, float]]:
    """Return (stay, last number before hour 0, first after it) within these hours. One query."""
    return _execute(_CHANGES, dataset, aligned, series, {"hours": hours})


def _execute(
    query: str,
    dataset: Dataset,
    aligned: Aligned,
    series: Sequence[str],
    values: Mapping[str, float],
) -> list[tuple[Any, ...]]:
    given = {
        "dataset": dataset.pk,
        "stays": aligned.stays["stay"].to_list(),
        "zeros": aligned.stays["zero"].to_list(),
        "events": list(series),
    }
    if not series:
        return []
    with connection.cursor() as cursor:
        cursor.execute(query, {**given, **values})
        return cursor.fetchall()
