"""Evaluate a window over the stays of a dataset, in a job."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from cohorts.engine.language import Window
from cohorts.engine.members import evaluate
from cohorts.engine.shares import share
from cohorts.engine.values import WindowError
from cohorts.facts.loading import load_facts
from cohorts.models import ConceptVersion, WindowMember, WindowResult, WindowVersion
from cohorts.values import Source
from cohorts.windows.deciding import describe_deciders
from cohorts.windows.stays import load_stay_facts
from cohorts.windows.stored import Stored, read_stored
from cohorts.windows.values import Decider, WindowRefused
from jobs.leases.hold import Hold, write_guard
from jobs.models import JobState
from jobs.worker import work
from timelines.runs.study_timeline.selection import find_study_run

#: Members are stored in blocks of so many.
BLOCK = 2000


@dataclass(frozen=True)
class Evaluated:
    """The answers from one source, by primary key of the stay."""

    status: Mapping[int, str]
    shares: Mapping[int, float | None]
    deciding: Mapping[int, list[int]]
    concepts: Mapping[tuple[int, int], str]
    given_up: int


def execute_result(result_id: int) -> JobState | None:
    """Evaluate if the job waits; return its new state, None if there was nothing to do."""
    return work(WindowResult, result_id, _evaluate)


def _evaluate(result: WindowResult, hold: Hold) -> None:
    def progress(done: int, words: str) -> None:
        hold.check()
        hold.report(done=done, total=2, words=words)

    first, second = evaluate_both(result, progress)
    hold.check()
    with write_guard(hold):
        store_members(result, first, second)


def evaluate_both(
    result: WindowResult, progress: Callable[[int, str], None] = lambda done, words: None
) -> tuple[Evaluated, Evaluated]:
    """Return the answers of the result's window from both of its sources."""
    stored = _read(result.version)
    sources = [Source(result.first), Source(result.second)]
    found: list[Evaluated] = []
    for source in sources:
        progress(len(found), f"evaluating: {source.words}")
        found.append(evaluate_source(result, source, stored.criteria, stored.concepts))
    return found[0], found[1]


def _read(version: WindowVersion) -> Stored:
    try:
        return read_stored(version)
    except WindowError as error:
        raise WindowRefused(str(error)) from error


def store_members(result: WindowResult, first: Evaluated, second: Evaluated) -> None:
    """Replace the members and the report of a result."""
    stays = sorted({*first.status, *second.status})
    WindowMember.objects.filter(result=result).delete()
    for start in range(0, len(stays), BLOCK):
        block = stays[start : start + BLOCK]
        WindowMember.objects.bulk_create(_members(result, block, first, second))
    WindowResult.objects.filter(pk=result.pk).update(report=_report(result, first, second))


def evaluate_source(
    result: WindowResult, source: Source, criteria: Window, concepts: Mapping[str, ConceptVersion]
) -> Evaluated:
    """Return the answers of the stays that have times from a source."""
    loaded = load_facts(result.dataset, source, concepts)
    stays = load_stay_facts(result.dataset, loaded.stays, criteria)
    found = evaluate(criteria, loaded.facts, stays)
    open_stays = found.filter(pl.col("status") == "uncertain")["stay"].to_list()
    return Evaluated(
        status=dict(found.select("stay", "status").iter_rows()),
        shares=share(criteria, loaded.facts, stays, open_stays) if open_stays else {},
        deciding=dict(found.select("stay", "deciding").iter_rows()),
        concepts={(s, f): c for s, f, c in _deciding_concepts(found, loaded.facts)},
        given_up=found.filter(~pl.col("exact")).height,
    )


def _deciding_concepts(found: pl.DataFrame, facts: pl.DataFrame) -> Iterator[tuple[int, int, str]]:
    """Yield stay, fact and one concept of each deciding fact."""
    named = found.select("stay", fact="deciding").explode("fact", empty_as_null=False)
    joined = named.join(facts.unique(["stay", "fact"]), on=["stay", "fact"])
    yield from joined.select("stay", "fact", "concept").iter_rows()


def _members(
    result: WindowResult, stays: Sequence[int], first: Evaluated, second: Evaluated
) -> list[WindowMember]:
    deciders = [_deciders(result, stays, one) for one in (first, second)]
    return [
        WindowMember(
            result=result,
            encounter_id=stay,
            first=first.status.get(stay, ""),
            second=second.status.get(stay, ""),
            first_share=first.shares.get(stay),
            second_share=second.shares.get(stay),
            first_deciding=[asdict(one) for one in deciders[0].get(stay, ())],
            second_deciding=[asdict(one) for one in deciders[1].get(stay, ())],
        )
        for stay in stays
    ]


def _deciders(
    result: WindowResult, stays: Sequence[int], found: Evaluated
) -> dict[int, list[Decider]]:
    named = {
        stay: [(fact, found.concepts[stay, fact]) for fact in found.deciding.get(stay, ())]
        for stay in stays
    }
    return describe_deciders(result.dataset, named)


def _report(result: WindowResult, first: Evaluated, second: Evaluated) -> dict[str, Any]:
    run = find_study_run(result.dataset_id)
    return {
        "given_up": {"first": first.given_up, "second": second.given_up},
        "run": run.public_id if run else "",
    }
