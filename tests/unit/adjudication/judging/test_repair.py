"""Invalid findings are asked for again alone, and dropped in the end."""

from __future__ import annotations

import json
from typing import Any

from adjudication.judging.input import Judged, Unjudged
from adjudication.judging.prompted.judge import PromptedJudge
from adjudication.judging.prompted.repair import MOST_ASKED
from llm_runtime.base import Limits, ModelReply
from llm_runtime.calls.budget import SPARE
from llm_runtime.calls.calling import Asker, MemoryLedger
from llm_runtime.providers.scripted import ScriptedModel
from tests.unit.adjudication.judging.judge_games import game, make_good_findings

GIVEN = game()
GOOD = make_good_findings(GIVEN)


def spoil(finding: dict[str, Any], quote: str = "made up") -> dict[str, Any]:
    return {**finding, "grounding": "NOTE", "note_evidence": quote}


def judge(
    *answers: list[Any] | str | ModelReply, repair: bool = True
) -> tuple[Judged | Unjudged, ScriptedModel]:
    replies = [json.dumps({"findings": a}) if isinstance(a, list) else a for a in answers]
    model = ScriptedModel(replies, limits=Limits(context=128_000, schema=True))
    asked = PromptedJudge(Asker("judge", model, MemoryLedger(), seed=40), repair=repair)
    return asked.judge(GIVEN), model


def rows(found: Judged | Unjudged) -> list[tuple[int | None, int | None]]:
    assert isinstance(found, Judged)
    return [(j.finding.a_row, j.finding.b_row) for j in found.findings]


def raw_rows(findings: list[dict[str, Any]]) -> list[tuple[int | None, int | None]]:
    return [(f["a_row"], f["b_row"]) for f in findings]


def test_valid_findings_stay_and_invalid_ones_are_asked_for_again_alone() -> None:
    found, model = judge([*GOOD[:3], spoil(GOOD[3]), *GOOD[4:]], [GOOD[3]])
    assert rows(found) == raw_rows([*GOOD[:3], *GOOD[4:], GOOD[3]])
    assert isinstance(found, Judged)
    assert found.dropped == ()
    assert [r.seed for r in model.requests] == [41, 42]
    assert model.requests[1].messages[:2] == model.requests[0].messages
    message = model.requests[1].messages[-1].content
    numbers = {part: json.dumps({part: GOOD[3][part]})[1:-1] for part in ("a_row", "b_row")}
    assert all(words in message for words in numbers.values())
    assert "note_evidence is not copied word for word" in message
    assert "at most 1" in message
    assert "made up" not in message
    assert str(GOOD[0]["a_row"]) not in message


def test_what_stays_invalid_after_three_attempts_is_counted_and_dropped() -> None:
    wrong = [spoil(GOOD[0]), spoil(GOOD[3])]
    found, model = judge([*wrong, *GOOD[4:6]], [wrong[0], GOOD[3]], [wrong[0]], "never asked")
    assert rows(found) == raw_rows([*GOOD[4:6], GOOD[3]])
    assert isinstance(found, Judged)
    assert found.dropped == ("TIMING: note_evidence is not copied word for word from the note",)
    assert len(model.requests) == 3


def test_an_answer_without_any_valid_finding_is_asked_for_again_whole() -> None:
    found, model = judge([spoil(GOOD[0])], GOOD)
    assert rows(found) == raw_rows(GOOD)
    assert "Answer again, whole" in model.requests[1].messages[-1].content
    found, _ = judge(*[[spoil(GOOD[0])]] * 3)
    assert isinstance(found, Unjudged)


def test_a_finding_may_be_withdrawn() -> None:
    found, _ = judge([*GOOD[:2], GOOD[1]], [])
    assert rows(found) == raw_rows(GOOD[:2])
    assert isinstance(found, Judged)
    assert found.dropped == ()


def test_malformed_and_cut_repairs_leave_the_valid_findings() -> None:
    for second in ("no", ModelReply("[", finish_reason="length"), [*GOOD, spoil(GOOD[0])]):
        found, model = judge([spoil(GOOD[0]), GOOD[1]], second, second)
        assert rows(found) == raw_rows(GOOD[1:2])
        assert isinstance(found, Judged)
        assert len(found.dropped) == 1
        assert "these findings alone" in model.requests[2].messages[-1].content


def test_the_published_preset_rejects_the_whole_answer() -> None:
    found, model = judge([spoil(GOOD[0]), GOOD[1]], GOOD, repair=False)
    assert rows(found) == raw_rows(GOOD)
    assert "Answer again, whole" in model.requests[1].messages[-1].content
    found, _ = judge(*[[spoil(GOOD[0]), GOOD[1]]] * 3, repair=False)
    assert isinstance(found, Unjudged)


def test_many_invalid_findings_are_asked_for_in_turns_within_the_reserved_tokens() -> None:
    wrong = [spoil(GOOD[0]) for _ in range(MOST_ASKED + 5)]
    found, model = judge([GOOD[1], *wrong], wrong[:MOST_ASKED], [])
    assert rows(found) == raw_rows(GOOD[1:2])
    second, third = (r.messages[-1].content for r in model.requests[1:])
    assert f"at most {MOST_ASKED}" in second
    assert f"at most {MOST_ASKED}" in third
    assert len(second) / 4 < 2 * SPARE
    assert isinstance(found, Judged)
    assert len(found.dropped) == 5


def test_an_unknown_row_is_named_by_its_words_and_odd_values_break_nothing() -> None:
    odd = [
        {**GOOD[0], "a_row": 99_999, "a_event": "fever \ud800 and more"},
        {**GOOD[2], "a_row": ["x"], "type": {"A": 1}},
        "not an object",
        {**GOOD[4], "b_row": 10**400},
    ]
    found, model = judge([GOOD[3], *odd], [])
    assert rows(found) == raw_rows(GOOD[3:4])
    message = model.requests[1].messages[-1].content
    assert "99999" in message
    assert "fever" in message
    assert "is not an object" in message
