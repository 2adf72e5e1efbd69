"""Every number of the protocol's section 2 as a named setting; frozen with a run and recorded with
it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any


class ConfigError(ValueError):
    """A setting that is unknown, of the wrong type or out of range; the message names it."""


class Variant(StrEnum):
    """Which parts of the pipeline take part (protocol section 2, "Variants")."""

    FULL = "full"
    UNIMODAL = "unimodal"
    NO_UID = "no_uid"
    NO_QUERY = "no_query"
    NO_ROWS = "no_rows"
    NO_RERANKER = "no_reranker"


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineConfig:
    """Defaults are the protocol's. `None` for a cap or threshold means: as the backbone or reranker
    has it.
    """

    variant: Variant = Variant.FULL
    seed: int = 0
    #: Attempts a stage has before its case fails; attempt k uses seed + k.
    max_attempts: int = 3

    # Stage 1: tag
    tag_single_pass_lines: int = 500
    tag_chunk_lines: int = 450
    tag_chunk_characters: int = 30_000

    # Stage 3: infer from text
    infer_batch_size: int = 60
    max_context_uids: int = 5

    # Stage 4: query, retrieve, rerank
    min_queries: int = 1
    max_queries: int = 3
    query_batch_size: int = 25
    query_local_characters: int = 700
    query_report_characters: int = 25_000
    top_k_dense: int = 10
    embed_batch_size: int = 8
    rerank_batch_size: int = 4
    rerank_max_tokens: int = 8192

    # Stage 5: expand
    #: ρ below which a summary is dropped; None takes the reranker's own threshold (0.05 belongs to
    #: Qwen3's P(yes)).
    rho_threshold: float | None = None
    top_k_rerank: int = 3
    rows_per_summary: int = 3
    discharge_grace_hours: float = 12.0
    #: Rows a case may carry into revision when the backbone pays for context; a backbone may set
    #: None.
    case_row_cap: int = 100

    # Stage 6: revise jointly
    alternatives: int = 3
    revise_note_characters: int = 30_000
    revise_local_characters: int = 220
    evidence_field_characters: int = 160

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = getattr(self, setting.name)
            if setting.name not in _ZERO_OR_UNSET and value < 1:
                raise ConfigError(f"{setting.name} must be at least 1, not {value}")
        if self.rho_threshold is not None and not 0.0 <= self.rho_threshold <= 1.0:
            raise ConfigError(f"rho_threshold must lie in 0…1, not {self.rho_threshold}")
        if self.discharge_grace_hours < 0:
            raise ConfigError(
                f"discharge_grace_hours must not be negative, not {self.discharge_grace_hours}"
            )
        if self.min_queries > self.max_queries:
            raise ConfigError(
                f"min_queries {self.min_queries} exceeds max_queries {self.max_queries}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold; `from_dict` gives the same config back."""
        return {**asdict(self), "variant": self.variant.value}

    def to_json(self) -> str:
        """Keys sorted, so that equal configs have equal text and equal hashes."""
        return json.dumps(self.to_dict(), sort_keys=True)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PipelineConfig:
        """Missing settings take their default. Raises ConfigError naming an unknown setting or a
        wrong type.
        """
        defaults = {f.name: f.default for f in fields(cls)}
        given: dict[str, Any] = {}
        for name, value in values.items():
            if name not in defaults:
                raise ConfigError(f"unknown setting {name!r}")
            given[name] = _checked(name, value, defaults[name])
        return cls(**given)


#: Settings that may be 0 or unset; every other number counts something and is at least 1.
_ZERO_OR_UNSET = {"variant", "seed", "rho_threshold", "discharge_grace_hours"}


def _checked(name: str, value: Any, default: Any) -> Any:
    if name == "variant":
        try:
            return Variant(value)
        except ValueError:
            raise ConfigError(f"unknown variant {value!r}; known: {', '.join(Variant)}") from None
    numeric = isinstance(value, (int, float)) and not isinstance(value, bool)
    if default is None and (value is None or numeric):
        return None if value is None else float(value)
    if isinstance(default, float) and numeric:
        return float(value)
    if isinstance(default, int) and numeric and float(value).is_integer():
        return int(value)
    raise ConfigError(f"{name} has a value of the wrong type: {value!r}")
