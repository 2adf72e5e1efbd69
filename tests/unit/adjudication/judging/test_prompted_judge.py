"""The judge by a language model: its prompts and its answers.

No prompt reveals who is behind a label.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from adjudication.domain import Verdict
from adjudication.judging.input import (
    Candidate,
    Judged,
    JudgeInput,
    Unjudged,
    judge_input,
)
from adjudication.judging.prompted.judge import (
    PromptedJudge,
    read_answer,
    render_game,
    tolerance_words,
)
from adjudication.judging.validation import FIXED_TOLERANCE, TOLERANCE
from llm_runtime.base import Limits, ModelReply, ModelRequest
from llm_runtime.calls.calling import Asker, MemoryLedger
from llm_runtime.errors import AnswerRejected, SchemaRefused, Unavailable
from llm_runtime.providers.scripted import ScriptedModel
from tests.unit.adjudication.judging.judge_games import (
    ANCHOR,
    NOTE,
    SERIES,
    game,
    make_candidates,
    make_good_findings,
)
from timelines.domain import (
    Entry,
    Inventory,
    Occurrence,
    SourceRow,
    Timeline,
    TimelineKind,
)

GIVEN = game()


def judge(
    *replies: str | ModelReply, schema: bool = True, context: int = 128_000
) -> tuple[PromptedJudge, ScriptedModel, MemoryLedger]:
    model = ScriptedModel(replies, limits=Limits(context=context, schema=schema))
    ledger = MemoryLedger()
    return PromptedJudge(Asker("judge", model, ledger, seed=40)), model, ledger


def answer(findings: list[dict[str, Any]]) -> str:
    return json.dumps({"reasoning": "r", "findings": findings})


def test_a_valid_answer_gives_its_findings_with_their_places_in_note_and_record() -> None:
    asked, model, _ = judge(answer(make_good_findings(GIVEN)))
    found = asked.judge(GIVEN)
    assert isinstance(found, Judged)
    assert len(found.findings) == 9
    assert found.series_shown == len(SERIES)
    first, second, *_ = found.findings
    span = first.note_span
    assert span is not None
    assert (
        NOTE[slice(*span)]
        == 'Fever for three days, "the worst ever".'
        == first.finding.note_evidence
    )
    assert second.series_event == "lab:lactate::"
    assert model.requests[0].seed == 41
    assert model.requests[0].schema is not None


def test_an_empty_list_is_a_judgement_without_findings() -> None:
    assert judge(answer([]))[0].judge(GIVEN) == Judged((), len(SERIES))
    assert judge("[]", schema=False)[0].judge(GIVEN) == Judged((), len(SERIES))


def test_a_server_without_schemas_is_asked_for_a_bare_list() -> None:
    asked, model, _ = judge(
        "<think>so</think>" + json.dumps(make_good_findings(GIVEN)), schema=False
    )
    found = asked.judge(GIVEN)
    assert isinstance(found, Judged)
    assert len(found.findings) == 9
    assert model.requests[0].schema is None
    assert '"findings"' not in model.requests[0].messages[1].content


def test_a_schema_that_the_server_refuses_is_left_out() -> None:
    def reply(request: ModelRequest) -> str:
        if request.schema is not None:
            raise SchemaRefused("the schema is too large")
        return "[]"

    asked = PromptedJudge(Asker("judge", ScriptedModel(reply), MemoryLedger()))
    assert asked.judge(GIVEN) == Judged((), len(SERIES))


def test_a_refused_answer_is_asked_again_with_the_reasons_and_after_the_last_the_game_is_unjudged() -> (
    None
):
    wrong = [{**make_good_findings(GIVEN)[0], "note_evidence": "made up"}]
    asked, model, ledger = judge(answer(wrong), answer(make_good_findings(GIVEN)))
    assert isinstance(asked.judge(GIVEN), Judged)
    assert [r.seed for r in model.requests] == [41, 42]
    assert (
        "finding 1: note_evidence is not copied word for word"
        in model.requests[1].messages[-1].content
    )
    assert len(ledger.calls) == 2

    asked, _, ledger = judge(answer(wrong), "no", answer(wrong), "never asked")
    found = asked.judge(GIVEN)
    assert isinstance(found, Unjudged)
    assert [reason.split(":")[0] for reason in found.reasons] == [
        "attempt 1",
        "attempt 2",
        "attempt 3",
    ]
    assert not any("made up" in reason for reason in found.reasons)
    assert len(ledger.calls) == 3


def test_what_does_not_fit_or_is_always_cut_is_unjudged_and_an_outage_is_not() -> None:
    found = judge("[]", context=3000)[0].judge(GIVEN)
    assert isinstance(found, Unjudged)
    assert found.reasons[0].startswith("PromptTooLong")
    found = judge(*[ModelReply("[", finish_reason="length")] * 3)[0].judge(GIVEN)
    assert isinstance(found, Unjudged)
    assert found.reasons[0].startswith("Truncated")

    def away(request: ModelRequest) -> str:
        raise Unavailable("no answer")

    with pytest.raises(Unavailable):
        PromptedJudge(Asker("judge", ScriptedModel(away), MemoryLedger())).judge(GIVEN)


def test_the_schema_answer_holds_findings_and_nothing_else() -> None:
    for text in (
        '{"findings": {}}',
        '{"findings": [], "notes": 1}',
        "[]",
        '{"reasoning": "r"}',
        '{"findings": null}',
    ):
        with pytest.raises(AnswerRejected):
            read_answer(text, schema=True)
    with pytest.raises(AnswerRejected):
        read_answer('{"findings": []}', schema=False)


def test_the_prompt_holds_the_complete_note_both_timelines_and_the_record_as_data() -> None:
    text = render_game(GIVEN).messages[1].content
    for name, body in (("NOTE", NOTE), ("RECORD", GIVEN.record_text)):
        assert re.search(
            rf"<<<BEGIN {name} ([0-9a-f]{{8}})>>>\n{re.escape(body)}\n<<<END {name} \1>>>", text
        )
    for label, rows in (("A", GIVEN.a_rows), ("B", GIVEN.b_rows)):
        table = re.search(
            rf"<<<BEGIN TIMELINE {label} \w+>>>\n(.*?)\n<<<END TIMELINE {label}", text, re.DOTALL
        )
        assert table is not None
        assert table[1].split("\n")[0] == "row | event | time"
        assert len(table[1].split("\n")) == len(rows) + 1
    assert tolerance_words(TOLERANCE) in text
    assert tolerance_words(FIXED_TOLERANCE) == "3 hours"
    assert render_game(GIVEN, FIXED_TOLERANCE).sha256 == render_game(GIVEN).sha256


SOURCES = ("GLM-5.2", "text-only", "Dr. Quincy", "reconstruction-77")


@pytest.mark.parametrize("uid_table", [True, False])
@pytest.mark.parametrize("schema", [True, False])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_name_of_a_source_can_appear_in_a_prompt(
    seed: int, schema: bool, uid_table: bool
) -> None:
    """Fill everything about a timeline's origin with names: none is rendered."""
    inventory = Inventory(
        (Occurrence("00aa", 0, "fever", 0, 5), Occurrence("00bb", 1, "chest pain", 91, 101))
    )

    def timeline(name: str, kind: TimelineKind, hour: float) -> Timeline:
        entries = [
            Entry(
                u, hour, None, None, True, decided_by=name, reason=f"{name} decided", confidence=7.5
            )
            for u in inventory.uids
        ]
        return Timeline.complete(inventory, entries, kind, alternative=2)

    first = make_candidates(timeline("GLM-5.2", TimelineKind.REVISED, 1.0), inventory)
    second = make_candidates(timeline("Dr. Quincy", TimelineKind.REFERENCE, 9.0), inventory)
    rows = (SourceRow(4, 1.0, "lab:x::", "1", source="reconstruction-77"),)
    given = judge_input(
        first,
        second,
        note=NOTE,
        anchor=ANCHOR,
        seed=seed,
        series=SERIES,
        rows=rows,
        uid_table=uid_table,
    )
    text = "\n".join(m.content for m in render_game(given, schema=schema).messages)
    assert "fever" in text
    assert not [
        name
        for name in (*SOURCES, *TimelineKind, "7.5", "alternative")
        if name.lower() in text.lower()
    ]
    assert ("| 00aa |" in text) is uid_table


def test_a_table_of_uids_shows_six_columns_and_the_words_of_the_span() -> None:
    inventory = Inventory((Occurrence("00aa", 0, "fever", 0, 5),))
    timeline = Timeline.complete(
        inventory, [Entry("00aa", -71.6, -80.0, None, True)], TimelineKind.REVISED
    )
    rows = make_candidates(timeline, inventory)
    given = judge_input(rows, rows, note=NOTE, anchor=ANCHOR, seed=0, uid_table=True)
    text = render_game(given).messages[1].content
    assert f"{given.a_rows[0].row} | 00aa | fever | -72 | [-80, N/A] | 1 | [] | Fever\n" in text


def test_a_source_without_identifiers_has_an_empty_column() -> None:
    linked = Candidate(event="fever", time=-71.6, uid="00aa", start=0, end=5, known=True)
    given = judge_input(
        [linked], [Candidate(event="pain", time=3.0)], note=NOTE, anchor=ANCHOR, seed=0,
        uid_table=True,
    )  # fmt: skip
    tables = [table[0][1:] for table in uid_tables(given)]
    assert sorted(tables) == [
        ["", "pain", "3", "[N/A, N/A]", "0", "[]", ""],
        ["00aa", "fever", "-72", "[N/A, N/A]", "1", "[]", "Fever"],
    ]


def uid_tables(given: JudgeInput) -> list[list[list[str]]]:
    """The cells of both tables as the prompt has them, without their heads."""
    tables = re.findall(
        r"<<<BEGIN TIMELINE [AB] \w+>>>\n(.*?)\n<<<END",
        render_game(given).messages[1].content,
        re.DOTALL,
    )
    return [[line.split(" | ") for line in table.split("\n")[1:]] for table in tables]


@pytest.mark.parametrize("seed", range(4))
def test_a_uid_that_two_inventories_share_by_chance_is_not_shown_as_one_occurrence(
    seed: int,
) -> None:
    def rows(*spans: tuple[str, int, int]) -> list[Candidate]:
        return [
            Candidate(event=NOTE[a:b], time=3.0, uid=uid, start=a, end=b, context=("00aa",))
            for uid, a, b in spans
        ]

    first, second = (
        rows(("00aa", 0, 5), ("00bb", 91, 101)),
        rows(("00aa", 91, 101), ("00bb", 91, 101)),
    )
    given = judge_input(first, second, note=NOTE, anchor=ANCHOR, seed=seed, uid_table=True)
    a, b = uid_tables(given)
    # "00bb" is one place in both and stays; "00aa" is the fever on one side, on the other
    # for the pain.
    links = {line[1] for line in a} & {line[1] for line in b}
    assert links == {"00bb"}
    for table, side in ((a, given.a_rows), (b, given.b_rows)):
        shown = next(line[1] for line, row in zip(table, side, strict=True) if row.uid == "00aa")
        assert re.fullmatch("[0-9a-f]{4}", shown)
        assert all(line[6] == f"[{shown}]" for line in table), (
            "what it leans on goes by the same name"
        )
    assert uid_tables(given.swapped()) == [b, a]


def test_swapped_positions_show_the_same_two_tables_under_the_other_labels() -> None:
    texts = [render_game(g).messages[1].content for g in (GIVEN, GIVEN.swapped())]
    tables = [
        re.findall(r"<<<BEGIN TIMELINE [AB] \w+>>>\n(.*?)\n<<<END", t, re.DOTALL) for t in texts
    ]
    assert tables[0] == tables[1][::-1]


def test_name_and_version_tell_model_and_prompt() -> None:
    with_schema, without = judge()[0], judge(schema=False)[0]
    assert with_schema.name == "prompted/scripted"
    assert re.fullmatch(r"[0-9a-f]{12}", with_schema.version)
    assert with_schema.version != without.version


def test_each_label_of_the_finding_schema_stands_in_the_prompt() -> None:
    text = render_game(GIVEN).messages[1].content
    assert all(re.search(rf"\b{verdict}\b", text) for verdict in Verdict)
    assert "900 types" in text
