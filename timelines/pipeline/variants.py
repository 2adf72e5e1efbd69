"""The parts of a backbone that a variant's revision needs.

Protocol section 2, "Variants".
"""

from __future__ import annotations

from timelines.pipeline.backbone import Backbone, SummaryReviser, UnidentifiedReviser
from timelines.pipeline.config import Variant


class VariantUnsupported(ValueError):
    """The backbone cannot run the variant; the message names what it lacks."""

    log_safe = True
    retryable = False


def check_supported(backbone: Backbone, variant: Variant) -> None:
    """Raise VariantUnsupported if the backbone cannot run the variant."""
    if variant is Variant.NO_ROWS:
        summary_reviser(backbone)
    if variant is Variant.NO_UID:
        unidentified_reviser(backbone)


def summary_reviser(backbone: Backbone) -> SummaryReviser:
    """Raises VariantUnsupported."""
    if backbone.summary_reviser is None:
        raise VariantUnsupported(
            "the variant no_rows needs a revision from summaries alone, which the backbone"
            f" {backbone.name} lacks"
        )
    return backbone.summary_reviser


def unidentified_reviser(backbone: Backbone) -> UnidentifiedReviser:
    """Raises VariantUnsupported."""
    if backbone.unidentified_reviser is None:
        raise VariantUnsupported(
            "the variant no_uid needs a revision without identifiers, which the backbone"
            f" {backbone.name} lacks"
        )
    return backbone.unidentified_reviser
