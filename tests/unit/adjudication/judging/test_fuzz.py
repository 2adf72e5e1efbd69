"""Spoiled judge answers never crash the judge or break the protocol.

Every answer begins valid and is spoiled in a way that models spoil them. It is refused as a whole,
or each accepted finding follows every rule and says what the answer said. The check uses the game
itself and not the validator: an accepted change was harmless.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from adjudication.domain import Side
from adjudication.judging.input import JudgedFinding, JudgeInput, Unjudged
from adjudication.judging.prompted.judge import PromptedJudge
from adjudication.scoring.errors import charge
from llm_runtime.base import Limits
from llm_runtime.calls.calling import Asker, MemoryLedger
from llm_runtime.providers.scripted import ScriptedModel
from tests.unit.adjudication.judging.judge_games import NOTE, game, make_good_findings
from tests.unit.adjudication.judging.judge_spoils import SPOILS, Spoil, answer_text, spoil_answer

SEEDS = range(45)
GAME = game()
#: By whether a schema constrains the answer; both label orders are played.
GAMES = {True: GAME, False: GAME.swapped()}
NEVER_HARMLESS = {"drop_field", "extra_field", "told_twice", "cut", "key_twice", "nested_field"}
NEVER_REFUSED = {"two_times"}
#: What the summaries of the game show, written by hand: (value, hours from admission), None for
#: what the record has no time for.
SHOWN: dict[str, list[tuple[str, float | None]]] = {
    "admission:admission_type:": [("emergency", 0.0)],
    "lab:lactate::": [("4.1", 0.25), ("4.1 mmol/l", 0.25), ("2.0", 18.5), ("2.0 mmol/l", 18.5)],
    "chart:heart rate::": [("80", 0.0), ("99", 19.0)],
    "chart:pain present::": [(value, float(hour)) for value in ("yes", "no") for hour in range(20)],
    "diagnosis:E = mc2:": [("sepsis", None)],
}
LEGAL_SIDES = {"A_ONLY": ["A"], "B_ONLY": ["B"], "DUPLICATE": ["A", "B"]}


def squeeze(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub("[\"'“”‘’´`«»]", "'", text)).strip()


def read_findings(text: str) -> list[dict[str, Any]]:
    """The raw findings of an answer that was let through."""
    rest = text.rsplit("</think>", 1)[-1]
    start = min(at for at in (rest.find("{"), rest.find("[")) if at >= 0)
    value, _ = json.JSONDecoder().raw_decode(rest[start:])
    return list(value["findings"] if isinstance(value, dict) else value)


def find_breaks(judged: JudgedFinding, answer: dict[str, Any], given: JudgeInput) -> Iterator[str]:
    """Yield the rules that a finding breaks.

    They come from protocol section 4, not from the validator.
    """
    f = judged.finding
    for name in ("type", "verdict", "grounding", "polarity", "relation"):
        if getattr(f, name) != answer[name]:
            yield f"{name} is not what was said"
    for side, number, event, time in (
        (Side.A, f.a_row, f.a_event, f.a_time),
        (Side.B, f.b_row, f.b_event, f.b_time),
    ):
        yield from find_row_breaks(side, number, event, time, answer, given)
    if "".join(
        s for s, row in (("A", f.a_row), ("B", f.b_row)) if row is not None
    ) not in LEGAL_SIDES.get(f.type, ["AB"]):
        yield "sides"
    if (f.type == "SHARED_UNSUPPORTED" and f.verdict != "NEITHER") or (
        f.type.endswith("_ONLY") and f.verdict in ("BOTH", "NEITHER")
    ):
        yield "verdict"
    if f.type.endswith("_ONLY") != (f.relation is not None):
        yield "relation"
    quoted, cited = (
        f.note_evidence not in (None, "none found"),
        f.table_evidence not in (None, "none found"),
    )
    if quoted != (judged.note_span is not None) or (
        quoted and not is_exact_quote(judged, answer["note_evidence"])
    ):
        yield "quote"
    if cited != (judged.series_event is not None) or (
        cited and not is_exact_citation(answer["table_evidence"], judged.series_event or "")
    ):
        yield "citation"
    if not {
        "NOTE": quoted,
        "TABLE": cited,
        "BOTH": quoted and cited,
        "NONE": not quoted and not cited,
    }[f.grounding]:
        yield "grounding"
    if not f.reason.strip() or f.reason != " ".join(answer["reason"].split()):
        yield "reason"
    if f.flagged != close(f.type, f.a_time, f.b_time):
        yield "flag"


def find_row_breaks(
    side: Side,
    number: int | None,
    event: str | None,
    time: int | None,
    answer: dict[str, Any],
    given: JudgeInput,
) -> Iterator[str]:
    name = side.lower()
    if number is None:
        if (
            event,
            time,
            answer[f"{name}_row"],
            answer[f"{name}_event"],
            answer[f"{name}_time"],
        ) != (None,) * 5:
            yield "half a row"
        return
    rows = {r.row: r for r in (given.a_rows if side is Side.A else given.b_rows)}
    if number not in rows or (event, time) != (rows[number].event, rows[number].time):
        yield "not a supplied row"
    if (answer[f"{name}_row"], answer[f"{name}_time"]) != (number, "N/A" if time is None else time):
        yield "not the row that was named"
    if squeeze(answer[f"{name}_event"]).replace("\\", "") != squeeze(event or "").replace("\\", ""):
        yield "not the words that were said"


def is_exact_quote(judged: JudgedFinding, answer: str) -> bool:
    start, end = judged.note_span or (0, 0)
    here = NOTE[start:end]
    whole_words = not (NOTE[start - 1 : start] + here[:1]).isalnum() if start else True
    ends_whole = not (here[-1:] + NOTE[end : end + 1]).isalnum() if end < len(NOTE) else True
    return (
        here == judged.finding.note_evidence
        and squeeze(here) == squeeze(answer)
        and whole_words
        and ends_whole
    )


def is_exact_citation(answer: str, event: str) -> bool:
    what, _, when = " ".join(answer.split()).removeprefix("- ").rpartition("@")
    hours = None if "N" in when.upper() else float(when.strip().removesuffix("h"))
    if not what.startswith(event):
        return False
    value = what.removeprefix(event).lstrip(":").strip()
    wanted = value.removeprefix("=").strip().casefold()
    return any(
        (not value or wanted == shown)
        and (hours is at if hours is None or at is None else abs(hours - at) <= 1)
        for shown, at in SHOWN[event]
    )


def close(kind: str, a: int | None, b: int | None) -> bool:
    if kind != "TIMING":
        return False
    return (
        a is b
        if a is None or b is None
        else abs(a - b) < 3 or abs(a - b) < 0.1 * max(abs(a), abs(b))
    )


def test_the_corpus_has_more_than_a_thousand_answers_of_either_form() -> None:
    for schema, given in GAMES.items():
        texts = {spoil_answer(spoil, seed, schema, given) for spoil in SPOILS for seed in SEEDS}
        assert len(texts - {answer_text(make_good_findings(given), schema)}) >= 1000


@pytest.mark.parametrize("spoil", SPOILS, ids=lambda s: s.__name__)
def test_no_spoiled_answer_crashes_the_judge_or_lets_an_illegal_finding_in(spoil: Spoil) -> None:
    outcomes: Counter[str] = Counter()
    for seed, (schema, given) in product(SEEDS, GAMES.items()):
        text = spoil_answer(spoil, seed, schema, given)
        model = ScriptedModel([text], limits=Limits(context=128_000, schema=schema))
        asker = Asker("judge", model, MemoryLedger(), attempts=1)
        found = PromptedJudge(asker, repair=False).judge(given)
        if isinstance(found, Unjudged):
            assert found.reasons
            assert not any(
                words in reason
                for reason in found.reasons
                for words in ("Lactate", "chest pain", "rash", "SYSTEM")
            )
            outcomes["refused"] += 1
            continue
        outcomes["harmless"] += 1
        raw = read_findings(text)
        assert len(raw) == len(found.findings)
        assert [
            list(find_breaks(judged, answer, given))
            for judged, answer in zip(found.findings, raw, strict=True)
        ] == [[]] * len(raw)
        assert all(
            charge(judged.finding) is None or judged.finding.verdict.decisive
            for judged in found.findings
        )
        assert len({(j.finding.a_row, j.finding.b_row) for j in found.findings}) == len(raw)
    assert sum(outcomes.values()) == 2 * len(SEEDS)
    if spoil.__name__ in NEVER_HARMLESS:
        assert outcomes["harmless"] == 0
    if spoil.__name__ not in NEVER_REFUSED:
        assert outcomes["refused"] > 0


@pytest.mark.parametrize("spoil", SPOILS, ids=lambda s: s.__name__)
def test_no_repair_lets_an_illegal_finding_in(spoil: Spoil) -> None:
    """The spoiled answer comes first, or comes as the repair of another."""
    for seed, (schema, given) in product(SEEDS[::3], GAMES.items()):
        good = make_good_findings(given)
        started = answer_text([{**good[0], "note_evidence": "made up"}, good[1]], schema)
        text = spoil_answer(spoil, seed, schema, given)
        for replies in ([text, text, text], [started, text, text]):
            model = ScriptedModel(replies, limits=Limits(context=128_000, schema=schema))
            found = PromptedJudge(Asker("judge", model, MemoryLedger())).judge(given)
            if isinstance(found, Unjudged):
                continue
            raw = [f for reply in replies for f in find_raw(reply)]
            for judged in found.findings:
                answers = [f for f in raw if is_about(f, judged)]
                assert any(not list(find_breaks(judged, f, given)) for f in answers)
            assert len({(j.finding.a_row, j.finding.b_row) for j in found.findings}) == len(
                found.findings
            )
            assert not any(
                words in reason
                for reason in found.dropped
                for words in ("Lactate", "chest pain", "rash", "SYSTEM")
            )


def find_raw(text: str) -> list[dict[str, Any]]:
    """The raw findings of an answer, [] if it cannot be read."""
    try:
        return [f for f in read_findings(text) if isinstance(f, dict)]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []


def is_about(answer: dict[str, Any], judged: JudgedFinding) -> bool:
    names = ("type", "verdict", "a_row", "b_row", "reason")
    if not all(name in answer for name in names):
        return False
    f = judged.finding
    return [answer["a_row"], answer["b_row"], answer["type"]] == [f.a_row, f.b_row, f.type]
