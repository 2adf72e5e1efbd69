"""The ledger of model calls on a real database.

What it stores, what it looks up again, and what the database refuses.
"""

from __future__ import annotations

import pytest
from asgiref.sync import async_to_sync
from django.db import DatabaseError, connection, transaction

from llm_runtime.base import Message, ModelReply, ModelRequest
from llm_runtime.calls.calling import Asker
from llm_runtime.errors import AnswerRejected, AttemptsExhausted, Truncated, Unavailable
from llm_runtime.ledger import DatabaseLedger, parse_reply, request_messages
from llm_runtime.models import ModelCall, ModelRequestText
from llm_runtime.prompts import Rendered
from llm_runtime.providers.scripted import ScriptedModel
from tests import factories
from timelines.models import StageRun

pytestmark = pytest.mark.django_db

PROMPT = Rendered(
    "timelines/infer",
    "ab" * 32,
    (Message("system", "Answer."), Message("user", "What is \x00 left \ud800?")),
)


def digits(reply: ModelReply) -> int:
    if not reply.text.isdigit():
        raise AnswerRejected(["answer with digits only"])
    return int(reply.text)


def ask(model: ScriptedModel, owner: str = "1", round: int = 0) -> int:
    asker = Asker("timer", model, DatabaseLedger("timelines.stagerun", owner), seed=7, round=round)
    return async_to_sync(asker.ask)(
        PROMPT, digits, max_tokens=10, part="batch 1", covers=["ab12", "cd34"]
    )


def test_every_attempt_is_kept_whole():
    raw = {"id": "x", "choices": [{"message": {"content": "1\x002"}}]}
    reply = ModelReply(
        "1\x002", tokens_in=30, tokens_out=3, tokens_cached=16, raw=raw, reasoning="hm \ud800"
    )
    model = ScriptedModel([reply, "12"], name="smol@127.0.0.1:8001")
    assert ask(model) == 12
    first, second = ModelCall.objects.all()
    assert (first.role, first.model, first.endpoint, first.prompt) == (
        "timer",
        "smol@127.0.0.1:8001",
        "127.0.0.1:8001",
        "timelines/infer",
    )
    assert (first.tokens_in, first.tokens_cached, first.tokens_out, first.attempt, first.seed) == (
        30,
        16,
        3,
        1,
        8,
    )
    assert (first.outcome, first.reasons) == ("rejected", ["answer with digits only"])
    assert parse_reply(first.response or "") == reply
    assert first.covers == ["ab12", "cd34"]
    assert (second.outcome, second.reasons, second.seed, second.reused) == (
        "accepted",
        [],
        9,
        False,
    )
    assert request_messages(first.request.body)[:2] == [
        (m.role, m.content) for m in PROMPT.messages
    ]
    assert ModelRequestText.objects.count() == 2


def test_an_answered_request_is_found_by_whoever_asks_and_counted_as_found():
    assert ask(ScriptedModel(["x", "5"])) == 5
    silent = ScriptedModel([])
    assert ask(silent, owner="2") == 5
    assert silent.requests == []
    found = ModelCall.objects.filter(owner_id="2")
    assert [(c.reused, c.outcome, c.seconds) for c in found] == [
        (True, "rejected", 0.0),
        (True, "accepted", 0.0),
    ]


def test_a_call_without_a_reply_answers_nothing():
    def away(request: ModelRequest) -> str:
        raise Unavailable("the server is away")

    with pytest.raises(Unavailable):
        ask(ScriptedModel(away))
    assert [(c.outcome, c.response) for c in ModelCall.objects.all()] == [("unavailable", None)]
    assert ask(ScriptedModel(["6"])) == 6


def test_a_later_round_counts_on_and_pays_only_for_what_is_new():
    with pytest.raises(AttemptsExhausted):
        ask(ScriptedModel(["a", "b", "c"]))
    model = ScriptedModel(["d", "8"])
    assert ask(model, round=1) == 8
    assert [(r.seed, len(r.messages)) for r in model.requests] == [(11, 3), (12, 3)]
    assert ModelCall.objects.filter(reused=True).count() == 3


def test_a_later_round_has_no_more_live_attempts_than_the_first():
    model = ScriptedModel(["a", "b", "c", "d"])
    with pytest.raises(AttemptsExhausted):
        ask(model, round=1)
    assert len(model.requests) == 3


def test_a_cut_answer_is_told_apart():
    cut = ModelReply("1", finish_reason="length", tokens_out=10)
    with pytest.raises(Truncated):
        ask(ScriptedModel([cut, cut, cut]))
    assert set(ModelCall.objects.values_list("outcome", "finish_reason")) == {("cut", "length")}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE llm_runtime_modelcall SET outcome = 'rejected'",
        "DELETE FROM llm_runtime_modelcall",
        "UPDATE llm_runtime_modelrequesttext SET body = ''",
        "DELETE FROM llm_runtime_modelrequesttext",
    ],
)
def test_the_database_refuses_to_change_or_delete_calls(statement):
    ask(ScriptedModel(["5"]))
    with (
        pytest.raises(DatabaseError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


def test_calls_go_with_the_stage_that_made_them_and_a_request_with_its_last_call():
    dataset = factories.make_dataset()
    case_run = factories.make_case_run(
        factories.make_run(dataset), factories.make_encounter(dataset)
    )
    mine = StageRun.objects.create(case_run=case_run, stage="infer")
    ask(ScriptedModel(["x", "5"]), owner=str(mine.pk))
    ask(ScriptedModel([]), owner="another")
    ask(ScriptedModel(["x", "y", "9"], name="second"), owner=str(mine.pk))
    mine.delete()
    assert set(ModelCall.objects.values_list("owner_id", flat=True)) == {"another"}
    assert ModelRequestText.objects.count() == 2
    assert ask(ScriptedModel([]), owner="third") == 5
