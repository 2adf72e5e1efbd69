"""The revision prompt of a demo stay, as the default preset writes it.

Tagger, timer and query writer are those of the rules, so that no model is needed. The rules give
more context identifiers than the prompts ask a model for; the prompt is rather too long.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from tokenizers import Tokenizer

from benchmarks.support.demo_cases import read_record
from llm_runtime.base import Embedder, Limits
from llm_runtime.calls.calling import Asker, MemoryLedger
from llm_runtime.errors import AttemptsExhausted
from llm_runtime.providers.lexical import LexicalReranker
from llm_runtime.providers.scripted import ScriptedModel
from tests.paths import DEMO
from timelines.backbones.prompted.backbone import ROLES, prompted_backbone
from timelines.backbones.rules.backbone import rules_backbone
from timelines.pipeline.config import PipelineConfig
from timelines.pipeline.run import Tools, reconstruct

#: A demo stay of about 180 occurrences.
STAY = "20338077"


@dataclass(frozen=True)
class RevisionPrompt:
    text: str
    occurrences: int

    def count(self, tokenizer: Tokenizer) -> int:
        """Return its tokens."""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return len(tokenizer.encode(self.text, add_special_tokens=False).ids)


def write_revision_prompt(embedder: Embedder, stay: str = STAY) -> RevisionPrompt:
    """Run the stages before revision and return what it would ask.

    An embedder that finds less makes a shorter prompt.
    """
    model = ScriptedModel(["no answer"], limits=Limits(context=128_000, reasoning=4000))
    askers = {role: Asker(role, model, MemoryLedger(), attempts=1) for role in ROLES}
    rules, config = rules_backbone(), PipelineConfig()
    backbone = replace(
        prompted_backbone(askers, config),
        tagger=rules.tagger,
        timer=rules.timer,
        query_writer=rules.query_writer,
    )
    tools = Tools(backbone, embedder, LexicalReranker(), config)
    case, record = read_record(DEMO / "cohort" / stay, tools.embedder)
    with pytest.raises(AttemptsExhausted):
        reconstruct(case, record, tools)
    (request,) = model.requests
    text = "\n".join(message.content for message in request.messages)
    table = text.split("<<<BEGIN TIMELINE")[1].split("<<<END TIMELINE")[0].strip().split("\n")
    return RevisionPrompt(text, len(table) - 2)
