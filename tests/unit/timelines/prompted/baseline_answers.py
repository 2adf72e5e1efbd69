"""Valid answers to every prompt of the baselines, made from the prompt."""

from __future__ import annotations

import json

from llm_runtime.base import ModelRequest
from tests.unit.timelines.prompted.answers import block
from timelines.backbones.baselines.tkw2_answers import ADMISSION


def baseline_answer(request: ModelRequest) -> str:
    """Return the answer to any step.

    There is a fever two days before admission and a lactate after it; rows move the fever to -50 h.
    """
    text = request.messages[1].content
    if "event | time | confidence" in text:
        return "event | time | confidence\nfever|-48|8\nlactate was measured|0.5|5"
    if "Choose its central events" in text:
        return json.dumps({"reasoning": "r", "events": ["fever", ADMISSION]})
    if "For each pair of them" in text:
        return json.dumps(
            {
                "reasoning": "r",
                "offsets": [{"first": 2, "second": 1, "hours": -48, "confidence": 8}],
            }
        )
    if "Place every central event" in text:
        return json.dumps({"reasoning": "r", "times": {"1": -48, "2": 0}})
    if "List every other clinical event" in text:
        return json.dumps(
            {
                "reasoning": "r",
                "events": [{"event": "lactate was measured", "central": 2, "hours": 1.5}],
            }
        )
    times = {"1": -50, "2": 0, "3": 1.25}
    return json.dumps(
        {
            "reasoning": "r",
            "times": {
                n: times[n] for n in list(times)[: len(block(request, "TIMELINE").split("\n"))]
            },
        }
    )
