"""Every number of the protocol's section 2 as a named setting.

A run freezes and records them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import Field, TypeAdapter, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from llm_runtime.schema import SETTINGS, Number, field_faults


class ConfigError(ValueError):
    """A setting that is unknown, of the wrong type or out of range.

    The message names it.
    """


class Variant(StrEnum):
    """Which parts of the pipeline take part (protocol section 2, "Variants")."""

    FULL = "full"
    UNIMODAL = "unimodal"
    NO_UID = "no_uid"
    NO_QUERY = "no_query"
    NO_ROWS = "no_rows"
    NO_RERANKER = "no_reranker"


class QueryContext(StrEnum):
    """What the query writer sees besides the note (protocol stage 4)."""

    #: The names of the stay's series, never a value or a time.
    NAMES = "names"
    #: Nothing, as published.
    BLIND = "blind"


class Preset(StrEnum):
    """A set of settings (protocol section 2, "Presets").

    `published` reproduces the paper; `default` is ours.
    """

    DEFAULT = "default"
    PUBLISHED = "published"


#: Settings without effect that older runs recorded. Their numbers apply to every run: `MAX_CONTEXT`
#: in `timelines.domain`, and the reranker's own option `max_tokens`.
RETIRED = frozenset(("max_context_uids", "rerank_max_tokens"))

#: The value of `notes` that reads every note of a stay.
ALL_NOTES = "all"
#: The kind of note that is read unless a run says otherwise.
DISCHARGE_SUMMARY = "discharge summary"

Count = Annotated[int, Number, Field(ge=1)]
#: A ρ of the reranker, which is a probability.
Rho = Annotated[float, Number, Field(ge=0, le=1)]


@dataclass(frozen=True, slots=True, kw_only=True, config=SETTINGS)
class PipelineConfig:
    """The settings of a run; defaults are the protocol's.

    `None` for a cap or threshold means the backbone's or the reranker's own.
    """

    #: The preset that was chosen; single settings may depart from it.
    preset: Preset = Preset.DEFAULT
    variant: Variant = Variant.FULL
    seed: Annotated[int, Number] = 0
    #: Attempts of a stage, and of a model at one request; attempt k uses seed + k.
    max_attempts: Count = 3

    #: Kinds of notes that are read, separated by commas, or ALL_NOTES. Several notes of a stay are
    #: read as one chart; the discharge summary alone, as published, otherwise.
    notes: Annotated[str, Field(min_length=1, max_length=400)] = DISCHARGE_SUMMARY

    # Stage 1: tag
    tag_single_pass_lines: Count = 500
    tag_chunk_lines: Count = 450
    tag_chunk_characters: Count = 30_000

    # Stage 3: infer from text
    infer_batch_size: Count = 60

    # Stage 4: query, retrieve, rerank
    min_queries: Count = 1
    max_queries: Count = 3
    query_context: QueryContext = QueryContext.NAMES
    #: Occurrences a call; at most 25 as published. More find as much for fewer tokens
    #: (docs/quality.md).
    query_batch_size: Count = 180
    #: Most characters of the names of series in a prompt.
    query_names_characters: Count = 20_000
    query_local_characters: Count = 700
    query_report_characters: Count = 25_000
    top_k_dense: Count = 10
    embed_batch_size: Count = 8
    rerank_batch_size: Count = 4

    # Stage 5: expand
    #: ρ below which a summary is dropped; None takes the reranker's own threshold.
    rho_threshold: Rho | None = None
    top_k_rerank: Count = 3
    rows_per_summary: Count = 3
    discharge_grace_hours: Annotated[float, Number, Field(ge=0)] = 12.0
    #: Tokens that the printed rows of a case may take, less where the context is smaller. None: the
    #: published selection, with `rows_per_summary` and `case_row_cap`.
    evidence_tokens: Count | None = 24_000
    #: Rows that an occurrence may carry; a start and its stop count once.
    rows_per_occurrence: Count = 8
    #: The same for history and plans, whose rows say little of when.
    rows_per_history: Count = 1
    #: Rows that a case may carry in the published selection if its backbone pays for context.
    case_row_cap: Count = 100

    # Stage 6: revise jointly
    #: Timelines of a revision: the first, and as many further ones as the model can defend.
    alternatives: Count = 3
    #: The model writes all of them, also where it sees no other course.
    force_alternatives: Annotated[bool, Field(strict=True)] = False
    #: Rows are printed once, with numbers, and the model names the numbers that a time rests on.
    #: Otherwise the link is inferred from equal hours.
    cite_rows: Annotated[bool, Field(strict=True)] = True
    #: Rows that one time may cite.
    cited_rows: Count = 3
    #: A time equals the hour of a cited row within this (hours): answers have two decimals.
    cited_hours: Annotated[float, Number, Field(ge=0)] = 0.02
    revise_note_characters: Count = 30_000
    revise_local_characters: Count = 220
    evidence_field_characters: Count = 160

    # Baselines
    #: The answer of `llm_timeline` may have at least this many tokens. If the context leaves less,
    #: the prompt is too long for this baseline.
    single_step_tokens: Count = 16_000
    #: Rows that TKW2 retrieves for an event.
    tkw2_rows: Count = 5
    #: Times that TKW2 lists of a row, equally spaced, the last always included.
    tkw2_times: Count = 5

    @model_validator(mode="after")
    def _queries_in_order(self) -> Self:
        if self.min_queries > self.max_queries:
            raise ValueError("min_queries exceeds max_queries")
        return self

    @property
    def note_kinds(self) -> frozenset[str] | None:
        """Return the kinds of notes to read; None for all."""
        kinds = frozenset(kind.strip() for kind in self.notes.split(",") if kind.strip())
        return None if ALL_NOTES in kinds else kinds

    @property
    def own_rho(self) -> float | None:
        """Return the threshold of ρ if it departs from the preset's."""
        usual = preset_config(self.preset).rho_threshold
        return None if self.rho_threshold == usual else self.rho_threshold

    def departures(self, preset: Preset | None = None) -> dict[str, Any]:
        """Return the settings that differ from the preset's; None: its own.

        Variant and seed belong to a run.
        """
        usual = asdict(preset_config(self.preset if preset is None else preset))
        return {
            name: value
            for name, value in self.to_dict().items()
            if name not in ("preset", "variant", "seed") and value != usual[name]
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; `from_dict` restores the same config."""
        return {
            **asdict(self),
            "preset": self.preset.value,
            "variant": self.variant.value,
            "query_context": self.query_context.value,
        }

    def to_json(self) -> str:
        """Keys sorted, so that equal configs have equal text and equal hashes."""
        return json.dumps(self.to_dict(), sort_keys=True)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PipelineConfig:
        """Build a config; missing settings take their default.

        Older runs did not record their preset: it is the one with fewer departures. Raises
        ConfigError naming the field of every wrong value.
        """
        known = {name: value for name, value in values.items() if name not in RETIRED}
        try:
            config = _CONFIG.validate_python(known)
        except ValidationError as error:
            raise ConfigError("; ".join(map(str, field_faults(error)))) from None
        if "preset" in known:
            return config
        nearest = min(Preset, key=lambda preset: len(config.departures(preset)))
        return replace(config, preset=nearest)


#: Settings of the published preset that differ from the defaults.
PUBLISHED: Mapping[str, Any] = {
    "query_context": "blind",
    "query_batch_size": 25,
    "rho_threshold": 0.05,
    "evidence_tokens": None,
    "force_alternatives": True,
    "cite_rows": False,
}


def preset_config(preset: Preset, **settings: Any) -> PipelineConfig:
    """Return a preset's settings with some replaced. Raises ConfigError."""
    usual = PUBLISHED if preset is Preset.PUBLISHED else {}
    return PipelineConfig.from_dict({**usual, "preset": preset.value, **settings})


def describe_preset(values: Mapping[str, Any]) -> str:
    """Return the preset of recorded settings and every departure, in words."""
    config = PipelineConfig.from_dict(values)
    departures = config.departures()
    if not departures:
        return f"{config.preset}, no departures"
    said = ", ".join(
        f"{name} = {'none' if value is None else value}" for name, value in departures.items()
    )
    return f"{config.preset}, with {said}"


_CONFIG = TypeAdapter(PipelineConfig)
#: The protocol's defaults.
PROTOCOL = PipelineConfig()
