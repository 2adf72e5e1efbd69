"""The steps of a recipe, in order of dependence. No Django."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adjudication.recipes.schema import ALL, EACH, JudgePart, PlantedPart, Recipe, RunPart
from timelines.pipeline.config import Variant


@dataclass(frozen=True, slots=True)
class Step:
    """One object to make. `needs` are keys of steps that end before."""

    key: str
    part: str
    kind: str
    needs: tuple[str, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Connected:
    """What this installation can run: baselines and names of language models."""

    baselines: Mapping[str, tuple[Variant, ...]]
    models: Sequence[str]
    #: Backbones that ask no language model.
    without_model: frozenset[str]


def plan_steps(recipe: Recipe, connected: Connected) -> tuple[Step, ...]:
    """Return the steps. A part `each` without any connected model has none."""
    runs = [step for part in recipe.runs for step in _plan_runs(recipe, part, connected)]
    judges = [
        Step(_key("judge", part, model), part.name, "judge", _needs(runs, part.runs),
             {**_plain(part), "model": model, "from": list(_needs(runs, part.runs))})
        for part in recipe.judges
        for model in _models(part, connected)
    ]  # fmt: skip
    return (
        *runs,
        *(
            Step(f"evaluation {p.name}", p.name, "evaluation", _needs(runs, p.runs),
                 {**_plain(p), "from": list(_needs(runs, p.runs))})
            for p in recipe.evaluations
        ),
        *judges,
        *(
            Step(_key("planted", p, model), p.name, "planted", _source_needs(runs, p.source),
                 {**_plain(p), "model": model})
            for p in recipe.planted
            for model in _models(p, connected)
        ),
        *(
            Step(f"packet {p.name}", p.name, "packet", (judge.key,),
                 {**_plain(p), "from": [judge.key]})
            for p in recipe.packets
            for judge in [j for j in judges if j.part == p.judge][:1]
        ),
    )  # fmt: skip


def _plan_runs(recipe: Recipe, part: RunPart, connected: Connected) -> Iterator[Step]:
    """Yield the full run of each dataset and model, then what is based on it."""
    kept = part.backbone not in connected.baselines
    usual = (Variant.FULL,) if kept else connected.baselines.get(part.backbone, ())
    asks = part.backbone not in connected.without_model
    models = list(connected.models) if part.model == EACH and asks else [part.model]
    for dataset in recipe.cohorts:
        for model in models:
            prefix = f"{part.name}:{model}" if model else part.name
            variants = part.variants or usual[:1]
            base = f"{prefix}@{dataset}"
            for variant in _order(variants, kept and (len(variants) > 1 or bool(part.rho))):
                full = variant is Variant.FULL or not kept
                key = base if variant is Variant.FULL else f"{prefix}/{variant}@{dataset}"
                yield _run_step(part, key, dataset, model, variant, None if full else base)
            for rho in part.rho if kept else ():
                key = f"{prefix}/rho={rho:g}@{dataset}"
                yield _run_step(part, key, dataset, model, Variant.FULL, base, rho)


def _order(variants: Sequence[Variant], based: bool) -> list[Variant]:
    """Return the variants, the full one first if others rest on it."""
    others: list[Variant] = [v for v in dict.fromkeys(variants) if v is not Variant.FULL]
    full = based or Variant.FULL in variants
    return [Variant.FULL, *others] if full else others


def _run_step(
    part: RunPart,
    key: str,
    dataset: str,
    model: str,
    variant: Variant,
    base: str | None,
    rho: float | None = None,
) -> Step:
    arguments = {
        **_plain(part),
        "dataset": dataset,
        "model": model,
        "variant": variant.value,
        "base": base,
        "rho": rho,
    }
    return Step(key, part.name, "run", (base,) if base else (), arguments)


def _needs(runs: Sequence[Step], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(step.key for step in runs if names == ALL or step.part in names)


def _source_needs(runs: Sequence[Step], source: str) -> tuple[str, ...]:
    """A reference waits for nothing; any other source waits for all runs."""
    return () if source == "reference" else tuple(step.key for step in runs)


def _models(part: JudgePart | PlantedPart, connected: Connected) -> list[str]:
    """Return the models of a judge; [""] means that of the settings."""
    return list(connected.models) if part.model == EACH else [part.model]


def _key(kind: str, part: JudgePart | PlantedPart, model: str) -> str:
    return f"{kind} {part.name}:{model}" if part.model == EACH else f"{kind} {part.name}"


def _plain(part: Any) -> dict[str, Any]:
    """Return a part as plain values for JSON."""
    plain: dict[str, Any] = part.model_dump(mode="json")
    return plain
