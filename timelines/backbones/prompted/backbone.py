"""The prompted backbone: four stages, with a language model per role."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from llm_runtime.calls.calling import Asker
from llm_runtime.prompts import load
from timelines.backbones.prompted.query_writer import PromptedQueryWriter
from timelines.backbones.prompted.reviser import PromptedReviser
from timelines.backbones.prompted.tagger import PromptedTagger
from timelines.backbones.prompted.timer import PromptedTimer
from timelines.backbones.prompted.unidentified import PromptedUnidentifiedReviser
from timelines.pipeline.backbone import Backbone
from timelines.pipeline.config import PipelineConfig

NAME = "prompted"
ROLES = ("tagger", "timer", "query_writer", "reviser")
PROMPTS = (
    *("tag", "tag_table", "infer", "infer_table", "query", "query_names"),
    *("revise", "revise_table", "revise_published", "revise_published_table"),
    *("revise_no_rows", "revise_no_rows_table", "revise_no_uid", "revise_no_uid_published"),
)

#: The share of the reviser's context that printed rows may take.
EVIDENCE_SHARE = 0.35


def prompted_backbone(askers: Mapping[str, Asker], config: PipelineConfig) -> Backbone:
    """Return the stages over the askers of the four roles.

    Context costs money, so the budget of rows applies, and a small context takes fewer (protocol
    stage 5). Raises ValueError if a role has no model.
    """
    missing = [role for role in ROLES if role not in askers]
    if missing:
        raise ValueError(f"no model for the roles {', '.join(missing)}")
    # Naming the backbone loads no vocabulary; the rules link the notes of a chart for models, too.
    from timelines.backbones.rules.linking.linker import RuleLinker

    reviser = PromptedReviser(askers["reviser"], config)
    return Backbone(
        name=NAME,
        version=prompt_version(),
        tagger=PromptedTagger(askers["tagger"], config),
        timer=PromptedTimer(askers["timer"], config),
        query_writer=PromptedQueryWriter(askers["query_writer"], config),
        reviser=reviser,
        room_for_rows=lambda: int(askers["reviser"].model.limits.context * EVIDENCE_SHARE),
        summary_reviser=reviser,
        unidentified_reviser=PromptedUnidentifiedReviser(askers["reviser"], config),
        linker=RuleLinker(),
    )


def prompt_version() -> str:
    """Return the first eight digits of the digest of all its prompts.

    A changed prompt is therefore another version.
    """
    joined = "".join(load(f"timelines/{name}").sha256 for name in PROMPTS)
    return hashlib.sha256(joined.encode()).hexdigest()[:8]
