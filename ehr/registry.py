"""Additions of upper apps to an import, made in `AppConfig.ready`.

This app knows none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from django.db.models import Model, Q, QuerySet

from accounts.models import Study
from ehr.models import Dataset, Encounter
from ehr.report import CaseReport

#: Reads an upper app's files in a case's folder (a reference timeline), inside the transaction of
#: that case, and reports what it rejects.
ImportHook = Callable[[Encounter, Path, CaseReport], None]

_import_hooks: list[ImportHook] = []


def register_import_hook(hook: ImportHook) -> None:
    """Call `hook(encounter, folder, report)` for every imported case folder."""
    if hook not in _import_hooks:
        _import_hooks.append(hook)


def import_hooks() -> tuple[ImportHook, ...]:
    """The registered hooks in order of registration."""
    return tuple(_import_hooks)


#: Called with a dataset when an import into it ended, after its last case was committed.
ImportEndHook = Callable[[Dataset], object]

_import_end_hooks: list[ImportEndHook] = []


def register_import_end_hook(hook: ImportEndHook) -> None:
    """Add what follows an import."""
    if hook not in _import_end_hooks:
        _import_end_hooks.append(hook)


def call_import_end_hooks(dataset: Dataset) -> None:
    """Do what follows an import into this dataset."""
    for hook in _import_end_hooks:
        hook(dataset)


class Keep(Enum):
    """How strictly something is protected when its case is to be deleted."""

    ALWAYS = "always"  # never deleted (findings in review packets)
    # people wrote it; deleted only if the caller asks for exactly that
    UNLESS_ASKED = "unless asked"
    NO = "no"  # can be computed or imported again


@dataclass(frozen=True, slots=True)
class Loss:
    """`count` things that would be deleted together with cases.

    `name` is their plural, for a sentence.
    """

    count: int
    name: str
    singular: str
    keep: Keep = Keep.NO


#: Counts what an upper app would lose if these cases were deleted.
LossCounter = Callable[[QuerySet[Encounter]], Iterable[Loss]]

_loss_counters: list[LossCounter] = []


def register_losses(counter: LossCounter) -> None:
    """Ask `counter(encounters)` before cases are deleted."""
    if counter not in _loss_counters:
        _loss_counters.append(counter)


def loss_counters() -> tuple[LossCounter, ...]:
    """The registered counters in order of registration."""
    return tuple(_loss_counters)


#: Counts what an upper app would lose with the dataset, besides what it loses with the cases.
DatasetLossCounter = Callable[[Dataset], Iterable[Loss]]
#: Deletes what an upper app has of the dataset, inside the transaction that deletes it.
DatasetHook = Callable[[Dataset], None]

_dataset_loss_counters: list[DatasetLossCounter] = []
_dataset_hooks: list[DatasetHook] = []


def register_dataset_deletion(counter: DatasetLossCounter, hook: DatasetHook) -> None:
    """Call `counter` before a dataset is deleted, and `hook` with it."""
    if counter not in _dataset_loss_counters:
        _dataset_loss_counters.append(counter)
        _dataset_hooks.append(hook)


def dataset_loss_counters() -> tuple[DatasetLossCounter, ...]:
    """The registered counters in order of registration."""
    return tuple(_dataset_loss_counters)


def dataset_hooks() -> tuple[DatasetHook, ...]:
    """The registered hooks in order of registration."""
    return tuple(_dataset_hooks)


#: Rows that nobody may read yet: the condition on them, by model.
_withheld: dict[type[Model], Q] = {}


def register_withheld(model: type[Model], condition: Q) -> None:
    """Leave the rows that meet the condition out of exports of a patient."""
    _withheld[model] = condition


def find_withheld() -> dict[type[Model], Q]:
    """Return the registered conditions by model."""
    return dict(_withheld)


@dataclass(frozen=True, slots=True)
class Trace:
    """What stays of a deleted patient: `count` things, and when they go."""

    count: int
    words: str


#: Counts what an app has of these stays that is not deleted with them.
TraceCounter = Callable[[Study, QuerySet[Encounter]], Iterable[Trace]]

_trace_counters: list[TraceCounter] = []


def register_traces(counter: TraceCounter) -> None:
    """Ask `counter(study, encounters)` before a patient is deleted."""
    if counter not in _trace_counters:
        _trace_counters.append(counter)


def count_traces(study: Study, encounters: QuerySet[Encounter]) -> tuple[Trace, ...]:
    """Return what is not deleted with the stays, without zeros."""
    found = (trace for counter in _trace_counters for trace in counter(study, encounters))
    return tuple(trace for trace in found if trace.count)
