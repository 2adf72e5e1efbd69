"""Thousands of revisions with spoiled citations.

What is illegal is rejected, all else accepted. `find_faults` judges an answer from protocol stage 6
alone. It shares no code with the validator. Every answer begins legal, with words, citations and
contexts at random, and is spoiled up to four times. Every reason of a refusal is one of the faults,
with its timeline and its occurrence.
"""

from __future__ import annotations

import asyncio
import copy
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import pytest

from llm_runtime.base import Limits
from llm_runtime.calls.calling import Asker, MemoryLedger
from llm_runtime.errors import AttemptsExhausted
from llm_runtime.providers.scripted import ScriptedModel
from timelines.backbones.prompted.backbone import ROLES, prompted_backbone
from timelines.backbones.prompted.record import print_record
from timelines.backbones.prompted.reviser import Material, PromptedReviser
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
from timelines.pipeline.revision import accept_revision, revise

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
MATERIAL = Material(NOTE, BEFORE, FOUND, WINDOW, record=print_record(FOUND, 160))
SCHEMA_ANSWERS, TABLE_ANSWERS = 2200, 1100
#: Whether the answers are tables → how many illegal ones are refused at least.
REFUSED = {False: 1800, True: 1000}
Answer = list[dict[str, Any]]


# ---------------------------------------------------------------------------------------------
# The oracle


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


#: Why a row is illegal, and the words in which the validator says so.
REASONS = {
    "why": r"why",
    "form": r"not a list of time|a word instead of a row|has \d+ columns",
    "time": r"time is neither",
    "bounds": r"(?:lower|upper) is neither|bounds are not of the form|the bounds do not contain",
    "known": r"known is neither 0 nor 1",
    "numbers": r"(?:rows|near) (?:is|are) not a list of row numbers",
    "unprinted": r"a row number that was not printed",
    "many": r"\d+ (?:near )?rows, at most",
    "twice": r"a row is named twice",
    "N/A": r"rows for a time of N/A",
    "hour": r"the time equals the hour of none of the rows that it cites",
    "context": r"context (?:is|identifiers|identifier) ",
    "missing": r"missing",
    "unknown": r"keys that were not asked for|has an identifier that was not asked for",
    "count": r"there are \d+ timelines, 1 to 3 are asked for",
}
#: (number of the timeline, UID, why): 0 and "" for all of them.
Fault = tuple[int, str, str]


def is_hours(value: Any) -> bool:
    return value is None or (is_number(value) and abs(value) <= 2_000_000)


def find_number_faults(row: Sequence[Any]) -> Iterator[str]:
    """Yield why the numbers of a row, and its time beside them, are illegal."""
    time, rows, near = row[0], row[4], row[5]
    if not isinstance(rows, list) or not isinstance(near, list):
        yield "numbers"
        return
    numbers = [*rows, *near]
    if not all(is_count(n) for n in numbers):
        yield "numbers"
        return
    if any(n < 0 for n in numbers):
        yield "numbers"  # a cell of a table has no sign
    if not all(1 <= n <= 6 for n in numbers):
        yield "unprinted"
    if len(rows) > 3 or len(near) > 5:
        yield "many"
    if len(set(numbers)) < len(numbers):
        yield "twice"
    if rows and time is None:
        yield "N/A"
    hours = [PRINTED[n][1] for n in rows if n in PRINTED]
    if hours and is_number(time) and min(abs(hour - time) for hour in hours) > 0.02 + 1e-6:
        yield "hour"


def find_row_faults(uid: str, row: object, *, later: bool, table: bool) -> Iterator[str]:
    if isinstance(row, str):
        if table or not (row == "keep" or (row == "first" and later)):
            yield "form"
        return
    if not isinstance(row, list) or len(row) not in ((7,) if table else (4, 5, 6, 7)):
        yield "form"
        return
    lists: list[Any] = [[], [], []]
    filled: list[Any] = [*row, *lists[len(row) - 4 :]]
    time, lower, upper, known, _, _, context = filled
    if not is_hours(time):
        yield "time"
    hours = [h for h in (lower, time, upper) if is_number(h)]
    if not (is_hours(lower) and is_hours(upper)) or hours != sorted(hours):
        yield "bounds"
    if not is_count(known) or known not in (0, 1):
        yield "known"
    yield from find_number_faults(filled)
    others = {other for other in UIDS if other != uid}
    if (
        not isinstance(context, list)
        or not all(isinstance(c, str) and c in others for c in context)
        or len(context) != len(set(context))
    ):
        yield "context"


def find_faults(answer: Answer, *, table: bool) -> set[Fault]:
    """Return why an answer is illegal; nothing if it is legal."""
    if not 1 <= len(answer) <= 3:
        return {(0, "", "count")}
    found: set[Fault] = set()
    for number, timeline in enumerate(answer, start=1):
        rows = {key: value for key, value in timeline.items() if key != "why"}
        found |= {(number, uid if table else "", "missing") for uid in UIDS if uid not in rows}
        for uid, row in rows.items():
            if uid not in UIDS:
                found.add((number, "", "unknown"))
            for why in find_row_faults(uid, row, later=number > 1, table=table):
                found.add((number, "" if table and why == "form" else uid, why))
                if table and why == "form":  # a line of another shape is no line of the UID
                    found.add((number, uid, "missing"))
        why = timeline.get("why", [])
        if not isinstance(why, list) or not all(
            isinstance(w, dict)
            and set(w) == {"uid4", "words"}
            and w["uid4"] in UIDS
            and isinstance(w["words"], str)
            for w in why
        ):
            found.add((number, "", "why"))
    return found


def parse_reason(reason: str) -> Fault:
    """Return the validator's words as a fault. Raises ValueError if unknown."""
    timeline = re.match(r"timeline (\d+): ", reason)
    rest = reason[timeline.end() :] if timeline else reason
    uid = re.match(r"(?:UID )?([0-9a-f]{4})(?:: | (?=is missing))", rest)
    rest = rest[uid.end() :] if uid else rest
    (why, *_) = (why for why, words in REASONS.items() if re.match(rf".*?(?:{words})", rest))
    return int(timeline[1]) if timeline else 0, uid[1] if uid else "", why


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
        timeline["ffff"] = [1, None, None, 0, [], [], []]
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


async def ask(text: str, *, schema: bool) -> tuple[tuple[Timeline, ...], tuple[str, ...]]:
    """Return the timelines that one attempt gives, or the reasons.

    All answers are asked for in one event loop, because a loop for each costs more than the rest.
    """
    model = ScriptedModel([text], limits=Limits(context=128_000, schema=schema))
    ledger = MemoryLedger()
    reviser = PromptedReviser(Asker("reviser", model, ledger, attempts=1), PipelineConfig())
    try:
        timelines = await reviser.timelines(MATERIAL, 3)
    except AttemptsExhausted:
        (call,) = ledger.calls
        return (), call.reasons
    return accept_revision(timelines, NOTE.inventory, FOUND, 3, exactly=False), ()


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
    assert sum(REFUSED.values()) >= 2000


@pytest.mark.slow
@pytest.mark.parametrize("table", [False, True], ids=["schema", "table"])
def test_an_answer_is_accepted_if_and_only_if_it_is_legal(table: bool) -> None:
    rng, outcomes = random.Random(20260904 + table), Counter[bool]()
    seen = Counter[str]()

    async def check_all() -> None:
        for number in range(TABLE_ANSWERS if table else SCHEMA_ANSWERS):
            answer = make_answer(rng, table=table)
            assert not find_faults(answer, table=table)
            for _ in range(rng.randint(1, 4)):
                spoil(answer, rng)
            answer = mark_words(answer) if table else answer
            expected = find_faults(answer, table=table)
            text = print_table(answer) if table else print_schema(answer)
            found, reasons = await ask(text, schema=not table)
            assert bool(found) == (not expected), (number, text)
            if found:
                check_result(answer, found)
            else:
                given = {parse_reason(reason) for reason in reasons}
                assert given, (number, text)
                assert given <= expected, (number, text, given - expected)
                seen.update({why for _, _, why in given})
            outcomes[not expected] += 1

    asyncio.run(check_all())
    assert outcomes[False] >= REFUSED[table]
    assert outcomes[True] >= 60
    assert set(seen) == set(REASONS) - ({"why"} if table else set())


@pytest.mark.parametrize("table", [False, True], ids=["schema", "table"])
def test_every_answer_is_accepted_before_it_is_spoiled(table: bool) -> None:
    rng = random.Random(7 + table)
    for _ in range(100):
        answer = make_answer(rng, table=table)
        text = print_table(answer) if table else print_schema(answer)
        model = ScriptedModel([text], limits=Limits(context=128_000, schema=not table))
        askers = {role: Asker(role, model, MemoryLedger(), attempts=1) for role in ROLES}
        reviser = prompted_backbone(askers, PipelineConfig()).reviser
        found = revise(reviser, NOTE, BEFORE, FOUND, WINDOW, alternatives=3, exactly=False)
        check_result(answer, found)
