"""The prompted judge with a real vLLM server.

A game is judged or counted as unjudged, and every failure has its kind. The model is far too small
to judge. The tests show that the server accepts the prompt and the schema of a game, and how its
answers are treated. The prompt alone needs more context than the server of the other tests has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from adjudication.judging.input import Candidate, Judged, JudgeInput, Unjudged, judge_input
from adjudication.judging.prompted.answer_schema import answer_schema
from adjudication.judging.prompted.judge import PromptedJudge
from llm_runtime.calls.calling import Asker, MemoryLedger
from llm_runtime.structured import json_object
from tests.unit.adjudication.judging.judge_games import SERIES
from tests.verification.asking import ANCHOR, model, token
from tests.verification.vllm_server import GENERATE_LONG, Server

NOTE = "Fever for three days before admission. Lactate was 4.1 in the emergency room. Denies chest pain."
ONE = (Candidate(event="fever", time=-72.0), Candidate(event="lactate 4.1", time=0.4))
TWO = (Candidate(event="fever", time=72.0), Candidate(event="no chest pain", time=0.0))
#: Faults that only the validator can find; the schema prevents the others.
BEYOND_THE_SCHEMA = (
    "is not the text of row",
    "is not the time of row",
    "reported twice",
    "were asked for",
    "note_evidence is not copied word for word",
    "note_evidence is not a text",
    "table_evidence",
    "grounding",
    "reason is not a text",
    "the answer was cut off",
)


@pytest.fixture(scope="module")
def long_server(
    vllm_environment: Path, small_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    found = Server(
        vllm_environment,
        small_model,
        "smol",
        GENERATE_LONG,
        tmp_path_factory.mktemp("vllm") / "judge.log",
    )
    try:
        found.start()
        yield found
    finally:
        found.stop()


def judge_game(
    server: Server, given: JudgeInput, **extra: object
) -> tuple[Judged | Unjudged, MemoryLedger]:
    ledger = MemoryLedger()
    return PromptedJudge(Asker("judge", model(server), ledger, seed=7, extra=extra)).judge(
        given
    ), ledger


def check_ledger(found: Judged | Unjudged, ledger: MemoryLedger, given: JudgeInput) -> None:
    """Check that calls are in order, with one outcome each.

    No call follows an accepted one, answers follow the schema, and the other reasons have their
    kinds.
    """
    calls = ledger.calls
    kinds = Counter(call.error for call in calls)
    assert [call.attempt for call in calls] == list(range(1, len(calls) + 1))
    assert [call.request.seed for call in calls] == [7 + call.attempt for call in calls]
    assert [len(call.request.messages) for call in calls] == [2] + [3] * (len(calls) - 1), (
        "refused answers are shown from the second attempt on"
    )
    assert set(kinds) <= {"", "AnswerRejected"}
    assert [call.error == "" for call in calls] == [False] * (len(calls) - 1) + [
        isinstance(found, Judged) and not found.dropped
    ]
    schema = answer_schema(given, 0)
    for call in calls:
        assert call.request.schema == schema
        assert call.reply is not None, "what was paid for is kept"
        assert bool(call.reasons) == bool(call.error)
        assert [
            reason
            for reason in call.reasons
            if not any(kind in reason for kind in BEYOND_THE_SCHEMA)
        ] == []
        if call.reply.finish_reason == "stop":
            assert (
                list(Draft202012Validator(schema).iter_errors(json_object(call.reply.text))) == []
            )
    if isinstance(found, Unjudged):
        assert len(calls) == 3
        assert found.reasons
        assert not any(
            words in reason
            for reason in found.reasons
            for words in ("Lactate", "chest pain", "emergency")
        )
    else:
        assert {n for j in found.findings for n in (j.finding.a_row, j.finding.b_row)} - {
            None
        } <= set(given.by_row)
    print(
        "outcome:",
        found.reasons if isinstance(found, Unjudged) else f"{len(found.findings)} findings",
        dict(kinds),
    )


@pytest.mark.parametrize("swap", [False, True])
def test_a_game_is_judged_or_reasons_are_stored(long_server: Server, swap: bool) -> None:
    given = judge_input(ONE, TWO, note=NOTE, anchor=ANCHOR, seed=3, swap=swap)
    found, ledger = judge_game(long_server, given)
    check_ledger(found, ledger, given)
    assert ledger.calls


def test_every_led_finding_is_validated(long_server: Server) -> None:
    """Each led answer has findings, and all are validated.

    Left alone, the model may report no difference.
    """
    leading = {'{"': 60.0, '":': 30.0, "null": 30.0, "N": 30.0, "ONE": 30.0, '"}': 80.0, "]}": 30.0}
    bias = {str(token(long_server, text)): value for text, value in leading.items()}
    given = judge_input(ONE[:1], TWO[:1], note=NOTE, anchor=ANCHOR, seed=3)
    found, ledger = judge_game(long_server, given, logit_bias=bias)
    check_ledger(found, ledger, given)
    assert all(call.reply is not None and '"type"' in call.reply.text for call in ledger.calls)


def test_two_empty_timelines_have_no_findings(long_server: Server) -> None:
    given = judge_input((), (), note=NOTE, anchor=ANCHOR, seed=3, series=SERIES)
    found, ledger = judge_game(long_server, given)
    check_ledger(found, ledger, given)
    assert isinstance(found, Judged)
    assert found.findings == ()


def test_a_game_that_does_not_fit_is_unjudged_and_nothing_is_sent(long_server: Server) -> None:
    given = judge_input(ONE, TWO, note=NOTE * 400, anchor=ANCHOR, seed=3)
    found, ledger = judge_game(long_server, given)
    assert isinstance(found, Unjudged)
    assert [reason.split(":")[0] for reason in found.reasons] == ["PromptTooLong"]
    assert ledger.calls == []
