"""What a study recipe may say. No Django.

A recipe names everything that a study computes: runs, evaluations, judge runs, planted differences
and packets. Each part has a name of its own; parts refer to each other by these names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from adjudication.judging.config import SEED
from adjudication.sampling.drawing import CASES, QUOTAS
from llm_runtime.schema import Number, Strict
from timelines.pipeline.config import PipelineConfig, Preset, Variant

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]
Words = Annotated[str, Field(max_length=180)]
Count = Annotated[int, Number, Field(ge=1)]
Share = Annotated[float, Number, Field(ge=0, le=1)]
#: Settings of a run that no field of its own chooses.
SETTINGS = frozenset(f.name for f in fields(PipelineConfig)) - {"preset", "variant"}
#: Instead of a model's name: a run by each model that is connected.
EACH = "each"
#: Instead of names of parts: all of them.
ALL: Literal["all"] = "all"


class RunPart(Strict):
    """Runs by one backbone or baseline: one for each variant, model and ρ."""

    name: Name
    backbone: Words
    #: An entry of MODEL_ENDPOINTS, EACH, or empty for that of the settings.
    model: Words = ""
    preset: Annotated[Preset, Field(strict=False)] = Preset.DEFAULT
    variants: tuple[Annotated[Variant, Field(strict=False)], ...] = ()
    #: Further thresholds of the reranker, over the same searches.
    rho: tuple[Share, ...] = ()
    settings: Mapping[str, Any] = {}

    @field_validator("settings")
    @classmethod
    def _check_settings(cls, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Refuse what is no setting of a run, and what has a field of its own."""
        if unknown := sorted(set(settings) - SETTINGS):
            raise ValueError(
                f"{', '.join(unknown)} cannot be set here. Settings: {', '.join(sorted(SETTINGS))}"
            )
        PipelineConfig.from_dict(settings)
        return settings


class EvaluationPart(Strict):
    """One evaluation of timelines against a reference."""

    name: Name
    reference: Words = "reference"
    further_references: tuple[Words, ...] = ()
    #: Run parts whose timelines are compared, and names of stored sources.
    runs: tuple[Name, ...] | Literal["all"] = ALL
    sources: tuple[Words, ...] = ()
    resamples: Count = 200
    rho_sweep: bool = False


class JudgePart(Strict):
    """One judge over all pairs of the named timelines."""

    name: Name
    judge: Literal["rules", "prompted"] = "rules"
    model: Words = ""
    preset: Literal["default", "published"] = "default"
    #: Run parts: their full timelines. `sources` are written as `source@kind#alternative`.
    runs: tuple[Name, ...] | Literal["all"] = ()
    sources: tuple[Words, ...] = ()
    #: The runs' text-only timelines too.
    text_only: bool = False
    swap: bool = False
    #: Show UIDs and spans to the judge; without it as the preset.
    uid_table: bool | None = None
    #: "fixed": three hours at any distance from admission.
    tolerance: Literal["scaled", "fixed"] = "scaled"
    seed: Annotated[int, Number, Field(ge=0)] = SEED
    series: Count | None = None


class PlantedPart(Strict):
    """A judge's recall on differences planted in copies of a timeline."""

    name: Name
    judge: Literal["rules", "prompted"] = "rules"
    model: Words = ""
    source: Words = "reference"
    each: Count = 3
    seed: Annotated[int, Number, Field(ge=0)] = SEED
    uid_table: bool = False


class PacketPart(Strict):
    """A packet of findings for blinded review, drawn from a judge part."""

    name: Name
    judge: Name
    label: Words
    #: Pairings as "a | b", in which * fits any words; empty: all of the judge's.
    pairings: tuple[Words, ...] = ()
    quotas: Mapping[str, Annotated[int, Number, Field(ge=0)]] = dict(QUOTAS)
    cases: Count | None = CASES
    redistribute: bool = False
    #: Pairings whose items get two reviewers.
    second: tuple[Words, ...] = ()
    seed: Annotated[int, Number, Field(ge=0)] = SEED


class Recipe(Strict):
    """A whole study."""

    name: Annotated[str, Field(min_length=1, max_length=80)]
    about: Annotated[str, Field(max_length=2000)] = ""
    #: Datasets by name, and case ids; without ids every case.
    cohorts: Annotated[tuple[Words, ...], Field(min_length=1)]
    cases: tuple[Words, ...] = ()
    runs: tuple[RunPart, ...] = ()
    evaluations: tuple[EvaluationPart, ...] = ()
    judges: tuple[JudgePart, ...] = ()
    planted: tuple[PlantedPart, ...] = ()
    packets: tuple[PacketPart, ...] = ()

    @property
    def parts(self) -> Iterator[tuple[str, Any]]:
        """Every part with the list that has it."""
        for kind in ("runs", "evaluations", "judges", "planted", "packets"):
            for part in getattr(self, kind):
                yield kind, part

    @model_validator(mode="after")
    def _check_names(self) -> Recipe:
        """Refuse names given twice and references to parts that are missing."""
        names = [part.name for _, part in self.parts]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"several parts are named {', '.join(twice)}: give each its own name")
        runs, judges = {p.name for p in self.runs}, {p.name for p in self.judges}
        readers: tuple[EvaluationPart | JudgePart, ...] = (*self.evaluations, *self.judges)
        for part in readers:
            if part.runs != ALL and (unknown := sorted(set(part.runs) - runs)):
                raise ValueError(
                    f"{part.name} names runs that the recipe does not have: {', '.join(unknown)}"
                )
        for packet in self.packets:
            if packet.judge not in judges:
                raise ValueError(f"{packet.name} is drawn from {packet.judge}, which is no judge")
        if not names:
            raise ValueError("a recipe has at least one run, evaluation, judge or packet")
        return self
