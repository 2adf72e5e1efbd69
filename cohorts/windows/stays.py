"""What a window may ask of a stay, as columns."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping

import polars as pl

from cohorts.engine import language as lang
from cohorts.engine.values import STAYS
from ehr.models import Dataset
from ehr.presentation.headline import OLDEST, Stay
from ehr.record.headlines import AT_ONCE, load_stays

_SEX = {"M": "male", "F": "female"}
#: What is read from notes and rows.
_READ = {"age", "sex", "disposition"}
_YEARS = {"mo": 1 / 12, "wk": 7 / 365.25, "d": 1 / 365.25, "h": 0.0}


def load_stay_facts(
    dataset: Dataset, encounters: Collection[int], criteria: lang.Window
) -> pl.DataFrame:
    """Return the stays with their facts; notes and rows are read only if the window asks."""
    asked = {part.about for part in lang.walk(criteria.where) if isinstance(part, lang.Stay)}
    keys = sorted(encounters)
    read: Mapping[int, Stay] = dict(_read(keys)) if asked & _READ else {}
    known = dataset.encounters.filter(pk__in=keys).order_by("pk")
    rows = [
        _row(pk, None if discharged is None else (discharged - admitted).total_seconds() / 3600)
        | {"unit": unit or None}
        | _describe(read.get(pk))
        for pk, admitted, discharged, unit in known.values_list(
            "pk", "admitted_at", "discharged_at", "unit"
        )
    ]
    return pl.DataFrame(rows, schema=STAYS)


def _row(pk: int, hours: float | None) -> dict[str, object]:
    return {"stay": pk, "discharge": hours, "length": hours}


def _read(keys: list[int]) -> Iterator[tuple[int, Stay]]:
    for start in range(0, len(keys), AT_ONCE):
        yield from load_stays(keys[start : start + AT_ONCE]).items()


def _describe(stay: Stay | None) -> dict[str, object]:
    if stay is None:
        return {}
    return {
        "age": read_age(stay.age),
        "age_until": math.inf if stay.age.startswith(">") else None,
        "sex": _SEX.get(stay.sex),
        "disposition": stay.outcome or None,
    }


def read_age(words: str) -> float | None:
    """Return years; the least that is possible for "> 89"."""
    number, _, unit = words.partition(" ")
    if words == "newborn":
        return 0.0
    if words.startswith(">"):
        return float(OLDEST + 1)
    if not number.isdigit():
        return None
    return int(number) * _YEARS.get(unit, 1.0)
