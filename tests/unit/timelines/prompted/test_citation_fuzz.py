"""Thousands of revisions with spoiled citations.

What is illegal is rejected, all else accepted.

`is_legal` judges an answer from protocol stage 6 alone. It shares no code with the validator. Every
answer begins legal, with words, citations and contexts at random, and is spoiled up to four times.
"""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from datetime import datetime
from typing import Any

import pytest

from llm_runtime.base import Limits
from llm_runtime.calls.calling import Asker, MemoryLedger
from llm_runtime.errors import AttemptsExhausted
from llm_runtime.providers.scripted import ScriptedModel
from timelines.backbones.prompted.backbone import ROLES, prompted_backbone
from timelines.domain import (
    Anchor,
    Entry,
    Evidence,
    Expansion,
    Inventory,
    Occurrence,
    RowLink,
    SourceRow,
    TaggedNote,
    TimeKind,
    Timeline,
    TimelineKind,
    Window,
)
from timelines.pipeline.config import PipelineConfig
from timelines.pipeline.revision import revise

UIDS = ("0a1b", "77de", "c0de")
MENTIONS = ("came to hospital", "lactate 4.1", "norepinephrine started")
NOTE = TaggedNote(
    "He came to hospital.",
    Inventory(tuple(Occurrence(u, n, MENTIONS[n], None, None) for n, u in enumerate(UIDS))),
)
WINDOW = Window(Anchor(datetime(2180, 3, 4, 14, 38)), 60.0)
BEFORE = Timeline.complete(
    NOTE.inventory,
    [Entry(uid, float(n), context=UIDS[:n]) for n, uid in enumerate(UIDS)],
    TimelineKind.TEXT_ONLY,
)
LAB, INFUSION = "lab:lactate:blood", "med:norepinephrine"
#: Number of a printed row → (its index in the record, its hour).
PRINTED = {1: (40, -4.5), 2: (41, 0.0), 3: (7, -3.87), 4: (9, 6.13), 5: (20, 6.15), 6: (21, 19.5)}
FOUND = Expansion(
    (
        Evidence(UIDS[1], 0, SourceRow(7, -3.87, LAB, "4.1", "mmol/L"), 1, 0.5, 0.5),
        Evidence(UIDS[1], 0, SourceRow(9, 6.13, LAB, "1.8", "mmol/L"), 1, 0.5, 0.5),
        Evidence(UIDS[2], 0, SourceRow(20, 6.15, f"{INFUSION}:start"), 1, 0.5, 0.5),
        Evidence(UIDS[2], 0, SourceRow(21, 19.5, f"{INFUSION}:end"), 1, 0.5, 0.5),
    ),
    skeleton=(
        SourceRow(40, -4.5, "transfer:ed:", "ED", time_kind=TimeKind.ADMINISTRATIVE),
        SourceRow(41, 0.0, "admission:hospital admission:", time_kind=TimeKind.ADMINISTRATIVE),
    ),
)
SCHEMA_ANSWERS, TABLE_ANSWERS = 1800, 900
Answer = list[dict[str, Any]]


# ---------------------------------------------------------------------------------------------
# The oracle


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_legal_row(uid: str, row: object, *, later: bool, table: bool) -> bool:
    if isinstance(row, str):
        return not table and (row == "keep" or (row == "first" and later))
    if not isinstance(row, list) or len(row) not in ((7,) if table else (4, 5, 6, 7)):
        return False
    lists: list[Any] = [[], [], []]
    filled: list[Any] = [*row, *lists[len(row) - 4 :]]
    time, lower, upper, known, rows, near, context = filled
    if not all(h is None or (is_number(h) and abs(h) <= 2_000_000) for h in (time, lower, upper)):
        return False
    if not is_count(known) or known not in (0, 1):
        return False
    hours = [h for h in (lower, time, upper) if h is not None]
    if hours != sorted(hours):
        return False
    for named in (rows, near, context):
        if not isinstance(named, list):
            return False
    numbers = [*rows, *near]
    if not all(is_count(n) and 1 <= n <= 6 for n in numbers) or len(set(numbers)) < len(numbers):
        return False
    if len(rows) > 3 or len(near) > 5:
        return False
    if rows and (time is None or min(abs(PRINTED[n][1] - time) for n in rows) > 0.02 + 1e-6):
        return False
    others = {other for other in UIDS if other != uid}
    return all(isinstance(c, str) and c in others for c in context) and (
        len(context) == len(set(context))
    )


def is_legal(answer: Answer, *, table: bool) -> bool:
    if not 1 <= len(answer) <= 3:
        return False
    for number, timeline in enumerate(answer):
        rows = {key: value for key, value in timeline.items() if key != "why"}
        if set(rows) != set(UIDS):
            return False
        if not all(is_legal_row(u, r, later=number > 0, table=table) for u, r in rows.items()):
            return False
        why = timeline.get("why", [])
        if not isinstance(why, list) or not all(
            isinstance(w, dict)
            and set(w) == {"uid4", "words"}
            and w["uid4"] in UIDS
            and isinstance(w["words"], str)
            for w in why
        ):
            return False
    return True


# ---------------------------------------------------------------------------------------------
# Answers


def make_row(rng: random.Random, uid: str, *, later: bool, table: bool) -> Any:
    if not table and rng.random() < 0.25:
        return rng.choice(["keep", "first"] if later else ["keep"])
    numbers = rng.sample(sorted(PRINTED), rng.randrange(6))
    cited, near = numbers[:3][: rng.randrange(4)], numbers[3:]
    time = rng.choice([None, 3, 12.5])
    if cited:
        time = round(PRINTED[cited[0]][1] + rng.choice([0, 0, 0.01, -0.02, 0.02]), 2)
    bounds = (
        [None, None]
        if time is None
        else [rng.choice([None, round(time - 1, 2)]), round(time + 1, 2)]
    )
    others = [other for other in UIDS if other != uid]
    row = [time, *bounds, rng.randrange(2), cited, near, rng.sample(others, rng.randrange(3))]
    while not table and len(row) > 4 and row[-1] == [] and rng.random() < 0.7:
        del row[-1]
    return row


def make_answer(rng: random.Random, *, table: bool) -> Answer:
    answer: Answer = []
    for number in range(rng.randint(1, 3)):
        rows = {u: make_row(rng, u, later=number > 0, table=table) for u in UIDS}
        why = [{"uid4": rng.choice(UIDS), "words": "the row of the act"}] * rng.randrange(3)
        answer.append({**rows, **({} if table else {"why": why})})
    return answer


ODD: tuple[Any, ...] = (0, -1, 7, 99, "r3", "3", 3.0, True, None, [3], {}, "keep", "first", 6.13)


def make_odd(rng: random.Random) -> Any:
    return copy.deepcopy(rng.choice(ODD))


def spoil_numbers(row: list[Any], rng: random.Random) -> None:
    place = rng.choice([4, 4, 4, 5])
    while len(row) <= place:
        row.append([])
    named = row[place]
    if not isinstance(named, list):
        return
    kind = rng.randrange(6)
    if kind == 0:
        named.append(rng.choice(sorted(PRINTED)))
    elif kind == 1:
        named.append(make_odd(rng))
    elif kind == 2 and named:
        named[rng.randrange(len(named))] = rng.choice([rng.choice(list(PRINTED)), make_odd(rng)])
    elif kind == 3 and named:
        named.append(named[0])
    elif kind == 4:
        row[place] = rng.sample(sorted(PRINTED), rng.choice([3, 4, 5, 6]))
    else:
        row[place] = rng.choice([None, 3, "[3]", {}, [[3]]])


def spoil_time(row: list[Any], rng: random.Random) -> None:
    if is_number(row[0]):
        shift = rng.choice([0.01, -0.01, 0.02, 0.03, -0.03, 1, None])
        row[0] = None if shift is None else round(row[0] + shift, 2)
    else:
        row[0] = rng.choice([6.13, 6.14, 19.5, "6.13", True, 3_000_000])


def spoil_shape(row: list[Any], rng: random.Random) -> None:
    at, other = rng.randrange(len(row)), rng.randrange(len(row))
    kind = rng.randrange(5)
    if kind == 0:
        row[at], row[other] = row[other], row[at]
    elif kind == 1:
        del row[at]
    elif kind == 2:
        row.insert(at, make_odd(rng))
    elif kind == 3:
        row[at] = make_odd(rng)
    else:
        row[1], row[2] = rng.choice([(5, 4), (30, 31), (-9, -8), (None, None), (None, -5)])


def spoil(answer: Answer, rng: random.Random) -> None:
    """Spoil one thing; now and then it stays legal."""
    timeline = rng.choice(answer)
    uid = rng.choice(UIDS)
    kind = rng.randrange(12)
    if kind == 0:
        timeline.pop(rng.choice(list(timeline)))
    elif kind == 1:
        timeline["ffff"] = [1, None, None, 0]
    elif kind == 2:
        answer.append(copy.deepcopy(timeline))
    elif kind == 3 and "why" in timeline:
        odd: list[Any] = ["moved", [["x"]], [{"uid4": "ffff", "words": "x"}], [{"uid4": uid}], []]
        timeline["why"] = rng.choice(odd)
    elif kind == 4 and len(answer) > 1:
        answer.remove(timeline)
    elif kind == 5:
        timeline[uid] = make_odd(rng)
    elif isinstance(row := timeline.get(uid), list) and row:
        rng.choice([spoil_numbers, spoil_numbers, spoil_time, spoil_shape])(row, rng)


def mark_words(value: Any) -> Any:
    """Return the value for a table, whose cells have no types.

    No string looks like a number.
    """
    if isinstance(value, dict):
        return {key: mark_words(item) for key, item in value.items()}
    if isinstance(value, list):
        return [mark_words(item) for item in value]
    return f"about {value}" if value in ("3", "[3]", "6.13") else value


def print_schema(answer: Answer) -> str:
    return json.dumps({"reasoning_summary": "r", "timelines": answer})


def print_cell(value: object, prefix: str = "") -> str:
    if isinstance(value, list):
        return f"[{', '.join(f'{prefix}{item}' for item in value)}]"
    return "N/A" if value is None else str(value)


def print_table(answer: Answer) -> str:
    timelines = []
    for timeline in answer:
        lines = ["uid4|mention|time|bounds|known|rows|near|context_uid4s"]
        for uid, row in timeline.items():
            mention = MENTIONS[UIDS.index(uid)] if uid in UIDS else "another"
            cells = [str(row)]
            if isinstance(row, list) and len(row) >= 3:
                bounds = f"[{print_cell(row[1])}, {print_cell(row[2])}]"
                cells = [print_cell(row[0]), bounds]
                cells += [print_cell(v, "r" if n in (1, 2) else "") for n, v in enumerate(row[3:])]
            lines.append("|".join([uid, mention, *cells]))
        timelines.append({"timeline_id": "t", "data": "\n".join(lines), "reasoning": "r"})
    return json.dumps({"reasoning_summary": "r", "timelines": timelines})


# ---------------------------------------------------------------------------------------------
# The check


def ask(text: str, *, schema: bool) -> tuple[Timeline, ...] | None:
    """Return the timelines that one attempt gives, None if it is rejected."""
    model = ScriptedModel([text], limits=Limits(context=128_000, schema=schema))
    askers = {role: Asker(role, model, MemoryLedger(), attempts=1) for role in ROLES}
    reviser = prompted_backbone(askers, PipelineConfig()).reviser
    try:
        return revise(reviser, NOTE, BEFORE, FOUND, WINDOW, alternatives=3, exactly=False)
    except AttemptsExhausted:
        return None


def check_result(answer: Answer, timelines: tuple[Timeline, ...]) -> None:
    """The result has what the answer says, with rows for its numbers."""
    assert len(timelines) == len(answer)
    for timeline, written in zip(timelines, answer, strict=True):
        assert tuple(e.uid for e in timeline) == UIDS
        for e in timeline:
            row = written[e.uid]
            if row == "first":
                row = answer[0][e.uid]
            if row == "keep":
                before = BEFORE.by_uid[e.uid]
                row = [before.time, before.lower, before.upper, 0, [], [], list(before.context)]
            elif len(row) < 7:
                row = [*row, *[[], []][len(row) - 4 :], list(BEFORE.by_uid[e.uid].context)]
            assert [e.time, e.lower, e.upper, int(bool(e.known))] == row[:4]
            assert list(e.adopted_rows) == [PRINTED[n][0] for n in row[4]]
            assert list(e.near_rows) == [PRINTED[n][0] for n in row[5]]
            assert list(e.context) == row[6]
            assert e.link is (RowLink.CITED if row[4] else None)


def test_together_they_are_more_than_two_thousand() -> None:
    assert SCHEMA_ANSWERS + TABLE_ANSWERS >= 2000


@pytest.mark.slow
@pytest.mark.parametrize("table", [False, True], ids=["schema", "table"])
def test_an_answer_is_accepted_if_and_only_if_it_is_legal(table: bool) -> None:
    rng, outcomes = random.Random(20260904 + table), Counter[bool]()
    for number in range(TABLE_ANSWERS if table else SCHEMA_ANSWERS):
        answer = make_answer(rng, table=table)
        assert is_legal(answer, table=table)
        for _ in range(rng.randint(1, 4)):
            spoil(answer, rng)
        answer = mark_words(answer) if table else answer
        legal = is_legal(answer, table=table)
        text = print_table(answer) if table else print_schema(answer)
        found = ask(text, schema=not table)
        assert (found is not None) == legal, (number, text)
        if found is not None:
            check_result(answer, found)
        outcomes[legal] += 1
    assert outcomes[False] >= 400
    assert outcomes[True] >= 60


@pytest.mark.parametrize("table", [False, True], ids=["schema", "table"])
def test_every_answer_is_accepted_before_it_is_spoiled(table: bool) -> None:
    rng = random.Random(7 + table)
    for _ in range(100):
        answer = make_answer(rng, table=table)
        found = ask(print_table(answer) if table else print_schema(answer), schema=not table)
        assert found is not None
        check_result(answer, found)
