"""The published recipe with a real small model, over two cases.

A model of 135 million parameters fails at most of it. What fails is counted, and the report is
complete and says so.
"""

from __future__ import annotations

from collections import Counter

import pytest

from adjudication.judge_runs import actions as judge_actions
from adjudication.judge_runs import tools as judge_tools
from llm_runtime.models import ModelCall
from tests.verification.test_vllm_run import use
from tests.worlds.published import check_failing_model
from timelines.runs import tools

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_a_small_model_fails_at_is_counted_and_the_report_is_complete(monkeypatch, server):
    use(monkeypatch, server)
    for module in (judge_actions, judge_tools):
        monkeypatch.setattr(module, "roles", tools.roles)
    check_failing_model("smol")
    outcomes = Counter(ModelCall.objects.filter(reused=False).values_list("outcome", flat=True))
    print(outcomes)
    assert outcomes.total() > outcomes["accepted"], "a model this small fails at something"
