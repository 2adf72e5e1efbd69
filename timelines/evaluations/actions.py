"""Start and execute evaluations.

An evaluation is a job of its own, because mentions are embedded where models run, never in the web
process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from django.db import transaction
from numpy.typing import NDArray

from accounts.audit.trail import record
from accounts.models import Study, User
from ehr.models import Dataset, Encounter
from jobs.actions import cancel, retry
from jobs.hints import send_hints
from jobs.leases.hold import Hold, write_guard
from jobs.models import JobState
from jobs.worker import work
from llm_runtime.base import Embedder
from llm_runtime.calls.blocking import run_blocking
from llm_runtime.roles import MATCHER
from timelines.access.references import is_consensus
from timelines.evaluation.closest import evaluate_closest
from timelines.evaluation.plain import (
    case_to_plain,
    report_to_plain,
    settings_from_plain,
    settings_to_plain,
)
from timelines.evaluation.report import evaluate
from timelines.evaluation.spread import summarise_reference
from timelines.evaluation.values import Basis, CaseResult, EvaluatedCase, EvaluationSettings, Report
from timelines.evaluations.data import Chosen, find_referenced, known_sources, load_cases
from timelines.evaluations.rho import load_run_points, revise_points
from timelines.models import Evaluation, EvaluationCase
from timelines.runs.tools import roles
from timelines.runs.versions import code_revision

#: Case results are stored in blocks of so many.
BLOCK = 50
#: Vectors of mentions that are cached at once; with 768 numbers each they take 150 MiB.
MOST_VECTORS = 50_000

#: What a person may do with an evaluation, by the last part of its address.
STEPS: Mapping[str, Callable[..., None]] = {"cancel": cancel, "retry": retry}

#: Called with (cases done, cases in all).
Progress = Callable[[int, int], None]


class EvaluationRefused(ValueError):
    """An evaluation that cannot be started.

    The message lists the valid choices and contains no patient text.
    """

    log_safe = True
    retryable = False


@transaction.atomic
def start_evaluation(
    *,
    study: Study,
    datasets: Sequence[Dataset],
    reference: str,
    further_references: Sequence[str] = (),
    sources: Sequence[str] = (),
    settings: EvaluationSettings | None = None,
    label: str = "",
    by: User | None,
    tell_workers: bool = True,
) -> Evaluation:
    """Freeze what is to be compared and queue the job.

    Without `sources`, all are compared. Raises EvaluationRefused, listing the known ones, for a
    dataset of another study, an unknown source or a reference that no case has.
    """
    chosen = Chosen(datasets, reference, sources)
    further = [source for source in dict.fromkeys(further_references) if source != reference]
    check(study, replace(chosen, further=further))
    evaluation = Evaluation.objects.create(
        study=study,
        label=label,
        reference=reference,
        further_references=further,
        sources=list(sources),
        config=settings_to_plain(settings or EvaluationSettings()),
        code_revision=code_revision(),
        created_by=by,
    )
    evaluation.datasets.set(datasets)
    record(
        actor=by,
        study=study,
        action="evaluation.start",
        object_type="timelines.evaluation",
        object_id=evaluation.public_id,
        detail={"cases": find_referenced(chosen).count()},
    )
    if tell_workers:
        send_hints(Evaluation, [evaluation.pk])
    return evaluation


def check(study: Study | None, chosen: Chosen) -> None:
    """Check that such an evaluation can be made.

    Raises EvaluationRefused.
    """
    if not chosen.datasets:
        raise EvaluationRefused("choose at least one dataset")
    if study is not None and any(d.study_id != study.pk for d in chosen.datasets):
        raise EvaluationRefused("a dataset of another study cannot be evaluated here")
    references, others = known_sources(chosen.datasets)
    for reference in (chosen.reference, *chosen.further):
        if reference not in references:
            known = ", ".join(references)
            raise EvaluationRefused(
                f"no case of these datasets has the reference {reference!r}; references there are:"
                f" {known or 'none yet (import cases with a reference.jsonl, or author one)'}"
            )
    if chosen.further and not find_referenced(chosen).exists():
        raise EvaluationRefused(
            "no case has all of the references"
            f" {', '.join(map(repr, (chosen.reference, *chosen.further)))}"
        )
    unknown = sorted(set(chosen.sources) - set(others) - set(references))
    if unknown:
        raise EvaluationRefused(
            f"no timeline has the source {', '.join(unknown)}; there are:"
            f" {', '.join(others) or 'none yet'}"
        )
    if not chosen.sources and not others and not _others_than(chosen.reference, references):
        raise EvaluationRefused(
            "there is no timeline to compare with the reference; reconstruct or import one first"
        )


def _others_than(reference: str, known: Sequence[str]) -> list[str]:
    """Return the other references; a consensus goes by two names."""
    same = is_consensus(reference)
    return [r for r in known if r != reference and not (same and is_consensus(r))]


def execute_evaluation(evaluation_id: int) -> JobState | None:
    """Execute the evaluation if it waits; return its new state.

    None if there was nothing to do.
    """
    reports: list[Report] = []

    def store(evaluation: Evaluation) -> None:
        Evaluation.objects.filter(pk=evaluation.pk).update(report=report_to_plain(reports[-1]))

    return work(
        Evaluation,
        evaluation_id,
        lambda evaluation, hold: reports.append(_evaluate(evaluation, hold)),
        then=store,
    )


def _evaluate(evaluation: Evaluation, hold: Hold) -> Report:
    """Compute and store an evaluation.

    It is computed outside any transaction; case results are stored in blocks. A repeated execution
    starts over.
    """
    chosen = Chosen(
        list(evaluation.datasets.order_by("name")),
        evaluation.reference,
        evaluation.sources,
        further=evaluation.further_references,
    )
    settings = settings_from_plain(evaluation.config)
    with write_guard(hold):
        EvaluationCase.objects.filter(evaluation=evaluation).delete()
    waiting: list[EvaluationCase] = []

    def store(*, everything: bool = False) -> None:
        if waiting and (everything or len(waiting) >= BLOCK):
            with write_guard(hold):
                EvaluationCase.objects.bulk_create(waiting)
            waiting.clear()

    def keep(encounter_id: int, result: CaseResult) -> None:
        waiting.append(
            EvaluationCase(
                evaluation=evaluation, encounter_id=encounter_id, result=case_to_plain(result)
            )
        )
        store()

    def progress(done: int, total: int) -> None:
        hold.check()
        hold.report(done=done, total=total, words=f"compared {done} of {total} cases")

    report = compute(chosen, settings, keep=keep, progress=progress)
    store(everything=True)
    return report


def compute(
    chosen: Chosen,
    settings: EvaluationSettings,
    *,
    keep: Callable[[int, CaseResult], None] = lambda encounter_id, result: None,
    progress: Progress = lambda done, total: None,
) -> Report:
    """Return the report over the chosen timelines.

    `keep` gets each case's result when it is ready. Embeds in this process. The further references
    of `chosen` give results of their own, and those against the closest of all; all other figures
    are against its first.
    """
    everything = [replace(chosen, rho=settings.rho_sweep, further=())]
    if chosen.further:
        everything += _against_each(chosen)
    total = sum(find_referenced(one).count() for one in (*everything, *everything[1:2]))
    embedder = roles().embedder(MATCHER) if Basis.EMBEDDING in settings.bases else None
    embed = None if embedder is None else _cache_vectors(embedder)
    name = "" if embedder is None else embedder.name
    current: list[int] = []

    def count_case(result: CaseResult) -> None:
        progress(len(current), total)

    def count_closest(encounter: Encounter) -> None:
        current.append(encounter.pk)
        progress(len(current), total)

    def on_case(result: CaseResult) -> None:
        keep(current[-1], result)
        count_case(result)

    def cases(of: Chosen) -> Iterator[EvaluatedCase]:
        for loaded in load_cases(of):
            current.append(loaded.encounter.pk)
            yield loaded.case

    first, *each = everything
    report = evaluate(
        cases(first),
        settings=settings,
        reference=first.reference,
        embed=embed,
        embedder=name,
        rho=revise_points(chosen.datasets, settings.rho_sweep),
        rho_runs=load_run_points(chosen.datasets),
        on_case=on_case,
    )
    against = (
        evaluate(
            cases(one),
            settings=replace(settings, rho_sweep=()),
            reference=one.reference,
            embed=embed,
            embedder=name,
            on_case=count_case,
        )
        for one in each
    )
    references = tuple(summarise_reference(found) for found in against)
    closest = (
        evaluate_closest(_load_each(each, count_closest), settings=settings, embed=embed)
        if each
        else None
    )
    return replace(report, references=references, closest=closest)


def _against_each(chosen: Chosen) -> Iterator[Chosen]:
    """Yield the comparison with each reference.

    It is over the cases that have all of them. The other references are compared with it, too.
    """
    references = (chosen.reference, *chosen.further)
    for reference in references:
        others = [other for other in references if other != reference]
        sources = [*chosen.sources, *others] if chosen.sources else ()
        yield Chosen(chosen.datasets, reference, sources, further=others)


def _load_each(
    each: Sequence[Chosen], done: Callable[[Encounter], None]
) -> Iterator[dict[str, EvaluatedCase]]:
    """Yield each case once for every reference; all have the same cases."""
    for loaded in zip(*(load_cases(one) for one in each), strict=True):
        yield {one.reference: found.case for one, found in zip(each, loaded, strict=True)}
        done(loaded[0].encounter)


def _cache_vectors(embedder: Embedder) -> Callable[[list[str]], NDArray[np.floating]]:
    """Return the embedder with a cache of vectors.

    Notes of one cohort share many mentions.
    """
    vector: dict[str, NDArray[np.float32]] = {}

    def embed(texts: list[str]) -> NDArray[np.floating]:
        if len(vector) > MOST_VECTORS:
            vector.clear()
        new = [t for t in texts if t not in vector]
        if new:
            vector.update(zip(new, run_blocking(embedder.embed_documents(new)), strict=True))
        return np.stack([vector[t] for t in texts])

    return embed
