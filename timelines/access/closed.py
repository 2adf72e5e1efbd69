"""Cases whose timelines are closed to a person at the moment.

Lists, counts, searches and sums treat them as if they had no timelines. The registry of page guards
(`accounts.registry`) decides which cases are closed: cases of a review packet that is not closed,
and cases of an open unaided draft. The stay and its record, which name no source, stay visible
(docs/adr/0033-closed-cases.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any, TypeVar

from django.db.models import Exists, Model, OuterRef, QuerySet

from accounts.models import User
from accounts.permissions import NotAllowed
from accounts.registry import closed_objects
from ehr.models import Dataset, Encounter
from timelines.access.authoring import SUPERSEDED, TIMELINE_PAGES, hidden_timelines
from timelines.access.references import add_consensus
from timelines.evaluation.values import SourceKey
from timelines.models import CaseRun, Evaluation, Run, Timeline

M = TypeVar("M", bound=Model)
RUN_CLOSED = (
    "All cases of this run are closed to you while you review them or write unaided timelines of"
    " them."
)
EVALUATION_CLOSED = (
    "This evaluation has cases that are closed to you: you review them, or you author them and not"
    " every author has submitted. Figures over all its cases would show theirs. It opens when your"
    " packet is closed and the timelines are submitted."
)


def closed_encounters(user: Any, object_type: str = TIMELINE_PAGES) -> frozenset[int]:
    """Return the primary keys of the encounters closed to the person.

    Their pages of type `object_type` are closed.
    """
    ids = closed_objects(user, object_type)
    return (
        frozenset(Encounter.objects.filter(public_id__in=ids).values_list("pk", flat=True))
        if ids
        else frozenset()
    )


def exclude_closed(
    rows: QuerySet[M], closed: Collection[int], path: str = "encounter"
) -> QuerySet[M]:
    """Exclude the rows of closed cases.

    `path` leads from the model to its encounter.
    """
    return rows.exclude(**{f"{path}__in": list(closed)}) if closed else rows


def open_runs(runs: QuerySet[Run], closed: Collection[int]) -> QuerySet[Run]:
    """Exclude the runs whose every case is closed.

    A run whose cases have not been added yet stays.
    """
    cases = CaseRun.objects.filter(run=OuterRef("pk"))
    return runs.filter(Exists(exclude_closed(cases, closed)) | ~Exists(cases)) if closed else runs


def check_run_is_open(run: Run, closed: Collection[int]) -> None:
    """Raise NotAllowed if every case of the run is closed."""
    if closed and run.cases.exists() and not exclude_closed(run.cases.all(), closed).exists():
        raise NotAllowed(RUN_CLOSED)


def has_closed(datasets: Collection[Dataset] | QuerySet[Dataset], closed: Collection[int]) -> bool:
    """Return whether one of these datasets has a closed case."""
    return (
        bool(closed)
        and Encounter.objects.filter(pk__in=list(closed), dataset__in=datasets).exists()
    )


def closed_evaluations(user: Any, evaluations: Iterable[Evaluation]) -> set[int]:
    """Return the primary keys of the evaluations closed to the person.

    Their figures depend on a closed case or on a fellow author's hidden timeline.
    """
    closed = set(
        Encounter.objects.filter(pk__in=closed_encounters(user)).values_list(
            "dataset_id", flat=True
        )
    )
    hidden: dict[int, set[str]] = defaultdict(set)
    for encounter in Encounter.objects.filter(authorings__author=user).distinct():
        hidden[encounter.dataset_id] |= {key.source for key in hidden_sources(user, encounter)}
    found = evaluations if closed or any(hidden.values()) else ()
    return {
        e.pk
        for e in found
        if any(d.pk in closed or _compares(e, hidden[d.pk]) for d in e.datasets.all())
    }


def _compares(evaluation: Evaluation, sources: set[str]) -> bool:
    """Return whether one of these sources is in the evaluation.

    An evaluation that names no sources compares all of them.
    """
    references = {evaluation.reference, *evaluation.further_references}
    sources = set(add_consensus(sources))
    return bool(sources & (references | {*evaluation.sources}) if evaluation.sources else sources)


def hidden_sources(user: User, encounter: Encounter) -> set[SourceKey]:
    """Return the timelines of a case that the person must not see.

    They are named as in an evaluation.
    """
    found = Timeline.objects.filter(pk__in=hidden_timelines(user, encounter)).values_list(
        "source", "kind", "alternative"
    )
    return {
        SourceKey(SUPERSEDED.sub("", source), kind, alternative)
        for source, kind, alternative in found
    }
