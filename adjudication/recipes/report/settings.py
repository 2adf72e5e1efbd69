"""What is needed to repeat a launch, what it cost, and how it differs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from django.db.models import QuerySet

from adjudication.judge_runs.calls import find_calls
from adjudication.judge_runs.planted import find_recall_calls
from adjudication.judging.config import JudgeConfig
from adjudication.recipes.results import StudyResults
from adjudication.study_report.values import Section
from ehr.models import Dataset, Encounter
from llm_runtime.accounting import Spent, spent_by_owner, total
from llm_runtime.models import ModelCall
from timelines.evaluation.tables import Table, TableRow
from timelines.models import Run
from timelines.pipeline.config import describe_preset
from timelines.runs.costs import MEASURES, load_costs, summarise_costs

#: Cases of the published cohort.
PUBLISHED_CASES = 40
Pairs = tuple[tuple[str, str], ...]


def spent_section(results: StudyResults) -> Section:
    """Return time, calls and tokens of runs, judges and measurements."""
    return Section("cost", "Cost and time", tables=tuple(_tables_of_cost(results)))


def _tables_of_cost(results: StudyResults) -> Iterator[Table]:
    if results.runs:
        yield _cost_of_runs(results.runs)
    asked = dict(_spent_by_judges(results))
    if asked:
        yield _cost_of_judges(asked)


def _spent_by_judges(results: StudyResults) -> Iterator[tuple[str, Spent]]:
    """Yield what each judge's calls cost, of those that asked a model."""
    for key, run in results.judge_runs.items():
        if run.language_models:
            yield key, _sum_calls(find_calls(run.games.all()))
    for key, recall in results.planted.items():
        if recall.language_models:
            yield key, _sum_calls(find_recall_calls([recall]))


def _sum_calls(calls: QuerySet[ModelCall]) -> Spent:
    return total(spent_by_owner(calls).values())


def _cost_of_judges(asked: Mapping[str, Spent]) -> Table:
    """Return a line for each judge and measurement of planted differences."""
    names = ("calls", "reused", "tokens_in", "tokens_cached", "tokens_out", "seconds")
    rows: list[TableRow] = [
        (key, *("–" if (n := spent.figures()[name]) is None else f"{n:,.0f}" for name in names))
        for key, spent in asked.items()
    ]
    heads = (
        "Step",
        "Calls",
        "Found stored",
        "Tokens in",
        "of them cached",
        "Tokens out",
        "Seconds",
    )
    return Table("judges", "All calls of judges to language models", heads, tuple(rows))


def _cost_of_runs(runs: Mapping[str, Run]) -> Table:
    """Return a line for each stage of each run."""
    rows: list[TableRow] = [
        (key, line.label, line.cases, *line.cells)
        for key, run in runs.items()
        for line in summarise_costs(load_costs(run))
    ]
    heads = ("Run", "Stage", "Cases", *(m.replace("_", " ").capitalize() for m in MEASURES))
    title = "Mean and range of a case: wall time in seconds, calls and tokens of models"
    return Table("cost", title, heads, tuple(rows))


def gather_settings(results: StudyResults) -> dict[str, Pairs]:
    """Return every setting, revision and digest, by the object of each."""
    launch = results.launch
    found: dict[str, Pairs] = {
        "Launch": (
            ("Recipe", f"{results.recipe.name}, version {launch.version.number}"),
            ("SHA-256 of the recipe", launch.version.sha256),
            ("Code revision", launch.code_revision or "not recorded"),
            ("Launched", f"{launch.created_at:%Y-%m-%d %H:%M} UTC"),
        ),
        "Data": tuple(_digest_data(results)),
    }
    for key, run in results.runs.items():
        found[f"Run {key}"] = tuple(_describe_run(run))
    for key, evaluation in results.evaluations.items():
        found[key.capitalize()] = (
            ("Reference", evaluation.reference),
            ("Code revision", evaluation.code_revision),
            *((name, str(value)) for name, value in sorted(evaluation.config.items())),
        )
    for key, judged in results.judge_runs.items():
        found[key.capitalize()] = (
            ("Judge", f"{judged.judge_name}, version {judged.judge_version}"),
            ("Preset", JudgeConfig.from_dict(judged.config).preset),
            ("Code revision", judged.code_revision),
            *((f"Prompt {name}", sha) for name, sha in sorted(judged.prompt_hashes.items())),
            *((name, str(value)) for name, value in sorted(judged.config.items())),
        )
    return found


def _digest_data(results: StudyResults) -> Iterator[tuple[str, str]]:
    """Yield the digest of each dataset, over its cases' files in order."""
    datasets = Dataset.objects.filter(
        study=results.launch.study, name__in=results.recipe.cohorts
    ).order_by("name")
    for dataset in datasets:
        whole, cases = hashlib.sha256(), 0
        files = Encounter.objects.filter(dataset=dataset).order_by("case_id")
        for case_id, digest in files.values_list("case_id", "source_sha256").iterator():
            whole.update(f"{case_id} {digest}\n".encode())
            cases += 1
        yield f"{dataset.name}: {cases} cases", f"SHA-256 {whole.hexdigest()}"


def _describe_run(run: Run) -> Iterator[tuple[str, str]]:
    yield "Source", run.source
    yield "Preset", describe_preset(run.config)
    yield "Code revision", run.code_revision
    for role, name in sorted(run.tools.items()):
        yield role.capitalize(), str(name)
    for role, model in sorted(run.language_models.items()):
        known = (f"{name} {model[name]}" for name in ("model", "revision") if model.get(name))
        yield f"Model, {role}", ", ".join(known)
    if run.language_models:
        for name, sha in sorted(run.prompt_hashes.items()):
            if not name.startswith("adjudication/"):
                yield f"Prompt {name}", sha


def describe_differences(results: StudyResults) -> Iterator[str]:
    """Yield what differs from the published design, read from the objects."""
    cases = max((e.report["cases"] for e in results.evaluations.values() if e.report), default=0)
    if cases and cases != PUBLISHED_CASES:
        yield f"{cases} cases with a reference, where {PUBLISHED_CASES} were published."
    models = sorted({m for run in results.runs.values() for m in _models(run)})
    yield (
        f"Language models: {', '.join(models)}. Published were other models or revisions."
        if models
        else "No language model was connected: timelines are by rules alone."
    )
    if any("scripted" in name for name in models):
        yield "A scripted stand-in answered for a language model. Its figures are no model's."
    if any(run.config.get("preset") != "published" for run in results.runs.values()):
        yield "Some runs use our default preset; the settings below say which."
    if any(not judged.language_models for judged in results.judge_runs.values()):
        yield "A judge decides by rules, where a language model judged in the publication."
    reviewed = sum(
        packet.assignments.filter(withdrawn_at__isnull=True).count()
        for packet in results.packets.values()
    )
    if results.packets and not reviewed:
        yield "Nobody has been assigned to a packet yet, so nothing is reviewed."


def _models(run: Run) -> list[str]:
    return [str(model.get("model", name)) for name, model in run.language_models.items()]
