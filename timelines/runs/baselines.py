"""Baselines as runs: sources whose events have no inventory.

They use the same machinery as reconstructions (docs/adr/0027). Their timelines name each event by
its own words; nothing links a line to a place in the note. So no results of another run can be
reused, and only those words are matched with a reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from timelines.domain import TimelineKind
from timelines.models import Stage
from timelines.pipeline.config import Variant
from timelines.pipeline.variants import VariantUnsupported


@dataclass(frozen=True, slots=True)
class Baseline:
    """A simpler published method, run for comparison.

    `roles` are those of the language models that it asks. `stages` are the stages of each variant,
    the usual variant first.
    """

    version: str
    roles: tuple[str, ...]
    stages: Mapping[Variant, tuple[Stage, ...]]


#: Name → baseline. Stages: times from the note alone, times calibrated by rows, and reading back
#: the stored timelines.
BASELINES: Mapping[str, Baseline] = {
    "llm_timeline": Baseline("2", ("timer",), {Variant.UNIMODAL: (Stage.INFER, Stage.PROVENANCE)}),
    "tkw2": Baseline(
        "2",
        ("timer",),
        {
            Variant.FULL: (Stage.INFER, Stage.REVISE, Stage.PROVENANCE),
            Variant.UNIMODAL: (Stage.INFER, Stage.PROVENANCE),
        },
    ),
}

#: Stage → the kind of timeline that it stores.
MADE_BY: Mapping[Stage, TimelineKind] = {
    Stage.INFER: TimelineKind.TEXT_ONLY,
    Stage.REVISE: TimelineKind.REVISED,
}


def is_baseline(backbone: str) -> bool:
    """Return whether runs by that name have no inventory."""
    return backbone in BASELINES


def usual_variant(backbone: str) -> Variant:
    """The variant of a run for which none was asked."""
    return next(iter(BASELINES[backbone].stages)) if is_baseline(backbone) else Variant.FULL


def baseline_stages(backbone: str, variant: Variant) -> tuple[Stage, ...]:
    """The stages of a baseline's case. Raises VariantUnsupported."""
    known = BASELINES[backbone].stages
    if variant not in known:
        raise VariantUnsupported(
            f"the baseline {backbone} runs as {' or '.join(known)} only, not as {variant}"
        )
    return known[variant]
