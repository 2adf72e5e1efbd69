"""Tokens of a stay by stage, of the prompted backbone.

The notes are those of the demo. The server is simulated: its answers are valid and have no reasoning beyond a letter. A model that
thinks writes more (`--thinking` of `benchmarks.plan`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks.serving import load_cases, make_record
from benchmarks.support.model_server import Rates, run_server
from llm_runtime.calls.calling import Asker, Call, MemoryLedger
from llm_runtime.providers.openai_http import OpenAIModel
from llm_runtime.providers.scripted import HashingEmbedder
from timelines.backbones.prompted.backbone import ROLES, prompted_backbone
from timelines.pipeline.config import PipelineConfig
from timelines.pipeline.run import Case, Tools, reconstruct

STAYS = 12
RESULTS = Path(__file__).resolve().parents[2] / "results" / "tokens.json"


def main() -> None:
    """Measure, print and store the tokens."""
    with run_server(Rates(prefill=1e7, decode=1e6)) as server:
        model = OpenAIModel(base_url=server.url, model="made-up", concurrency=8, reasoning=1000)
        calls = [call for case in load_cases(STAYS) for call in ask_for(model, case)]
        server.stop()
    found = add_tokens(calls, STAYS)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


def ask_for(model: OpenAIModel, case: Case) -> list[Call]:
    """Reconstruct one case; return its calls."""
    ledger, config = MemoryLedger(), PipelineConfig()
    askers = {role: Asker(role, model, ledger) for role in ROLES}
    tools = Tools(prompted_backbone(askers, config), HashingEmbedder(), None, config)
    reconstruct(case, make_record(), tools)
    return ledger.calls


def add_tokens(calls: list[Call], stays: int) -> dict[str, dict[str, Any]]:
    """Return calls and tokens of a stay, by role."""
    found: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for call in calls:
        assert call.reply is not None, call.error
        for name in ("tokens_in", "tokens_cached", "tokens_out"):
            found[call.role][name] += (getattr(call.reply, name) or 0) / stays
        found[call.role]["calls"] += 1 / stays
    return {
        role: {name: round(value, 1) for name, value in of.items()} for role, of in found.items()
    }


if __name__ == "__main__":
    main()
