"""The rules backbone: deterministic, on the CPU, seconds a note.

A machine without a model server runs it.
"""

from __future__ import annotations

from timelines.pipeline.backbone import Backbone, Check, never_stop

NAME = "rules"
#: Increased whenever a rule or a vocabulary changes the output; recorded with every run.
VERSION = "13"


def rules_backbone(check: Check = never_stop) -> Backbone:
    """Return the four stages without a model; `check` interrupts them.

    Imports are local, so that naming the backbone does not load a parser.
    """
    from timelines.backbones.rules.linking.linker import RuleLinker
    from timelines.backbones.rules.querying.writer import RuleQueryWriter
    from timelines.backbones.rules.revision.reviser import RuleReviser
    from timelines.backbones.rules.revision.summaries import SummaryRuleReviser
    from timelines.backbones.rules.revision.unidentified import UnidentifiedRuleReviser
    from timelines.backbones.rules.tagging.tagger import RuleTagger
    from timelines.backbones.rules.timing.timer import RuleTimer

    return Backbone(
        name=NAME,
        version=VERSION,
        tagger=RuleTagger(check),
        timer=RuleTimer(check),
        query_writer=RuleQueryWriter(check),
        reviser=RuleReviser(check),
        pays_for_rows=False,
        summary_reviser=SummaryRuleReviser(check),
        unidentified_reviser=UnidentifiedRuleReviser(check),
        linker=RuleLinker(check),
    )
