"""What a trajectory page shows, as its address and as a saved view."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from accounts.models import Study
from cohorts.models import Trajectory
from cohorts.trajectories.lanes import Order
from cohorts.values import Source
from ehr.models import Dataset

#: Hours around hour 0 that plots may show, and the bins that they are cut into.
LONGEST = 24.0 * 60
BINS = 40
MOST_CONCEPTS = 8
NUMBER = re.compile(r"-?\d{1,5}(\.\d{1,2})?")


@dataclass(frozen=True, slots=True)
class Choice:
    """The choices of one page; public ids name datasets and concepts.

    `zero`: "" aligns at admission. `series`: patterns of series names, `*` for any text. `group`:
    "", "unit", "sex" or a concept's public id.
    """

    dataset: str = ""
    source: Source = Source.RECORD
    #: Times to put beside those of `source`, or None.
    beside: Source | None = None
    zero: str = ""
    concepts: tuple[str, ...] = ()
    target: str = ""
    series: str = ""
    start: float = -24.0
    stop: float = 96.0
    group: str = ""
    order: Order = Order.LENGTH

    @classmethod
    def parse(cls, given: QueryDict | Mapping[str, Any]) -> Choice:
        """Read the choices; what cannot be read is the default."""
        every = (
            given.getlist("concepts") if isinstance(given, QueryDict) else given.get("concepts", ())
        )
        start, stop = (
            _hours(str(given.get("start", "")), -24.0),
            _hours(str(given.get("stop", "")), 96.0),
        )
        source, order = str(given.get("source", "")), str(given.get("order", ""))
        beside = str(given.get("beside", "") or "")
        return cls(
            dataset=str(given.get("dataset", "")),
            source=Source(source) if source in set(Source) else Source.RECORD,
            beside=Source(beside) if beside in set(Source) and beside != source else None,
            zero=str(given.get("zero", "")),
            concepts=tuple(dict.fromkeys(map(str, every)))[:MOST_CONCEPTS],
            target=str(given.get("target", "")),
            series=str(given.get("series", ""))[:200],
            start=min(start, 0.0),
            stop=stop if stop > min(start, 0.0) else min(start, 0.0) + 24.0,
            group=str(given.get("group", "")),
            order=Order(order) if order in set(Order) else Order.LENGTH,
        )

    def as_plain(self) -> dict[str, Any]:
        """Return the choices as they are stored."""
        return {
            "source": self.source.value,
            "beside": self.beside.value if self.beside else "",
            "zero": self.zero,
            "concepts": list(self.concepts),
            "target": self.target,
            "series": self.series,
            "start": self.start,
            "stop": self.stop,
            "group": self.group,
            "order": self.order.value,
        }

    @property
    def query(self) -> str:
        """Return the choices as the query of an address."""
        return urlencode({"dataset": self.dataset, **self.as_plain()}, doseq=True)

    @property
    def step(self) -> float:
        return (self.stop - self.start) / BINS


def _hours(text: str, otherwise: float) -> float:
    return max(-LONGEST, min(LONGEST, float(text))) if NUMBER.fullmatch(text) else otherwise


def saved_choice(saved: Trajectory) -> Choice:
    """Return the choices of a saved view."""
    return Choice.parse({**saved.config, "dataset": saved.dataset.public_id})


def find_dataset(study: Study, choice: Choice) -> Dataset | None:
    """Return the chosen dataset, else the first of the study, or None."""
    datasets = Dataset.objects.filter(study=study).order_by("name")
    return datasets.filter(public_id=choice.dataset).first() or datasets.first()
