"""A model that answers every stage's prompt validly, from the prompt.

It is for tests of everything around an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from llm_runtime.base import Limits, ModelReply, ModelRequest
from llm_runtime.providers.scripted import ScriptedModel
from timelines.backbones.prompted.rows import split_row
from timelines.backbones.prompted.tables import HEADER

#: Numbers and hours of printed rows.
Found = tuple[tuple[int, float], ...]
_BLOCK = r"<<<BEGIN {name} (?P<tag>[0-9a-f]{{8}})>>>\n(?P<body>.*?)\n<<<END {name} (?P=tag)>>>"
_ROWS_FOUND = "rows found for it"
_MOST_TIMELINES = re.compile(r"at most (\d+) timelines in all|Write (\d+) complete revised")


def block(request: ModelRequest, name: str) -> str:
    """The data of one field of the prompt."""
    text = request.messages[1].content
    found = re.search(_BLOCK.format(name=name), text, re.DOTALL)
    assert found is not None, name
    return found["body"]


def mentions(request: ModelRequest) -> list[tuple[str, str]]:
    """(uid, mention) of the prompt's table."""
    rows = [split_row(line) for line in block(request, "MENTIONS").split("\n")[1:]]
    return [(uid, mention) for uid, mention in rows]


def event(
    quote: str, mention: str, polarity: str = "present", kind: str = "finding"
) -> dict[str, str]:
    """An entry of a tagger's answer."""
    return {"quote": quote, "mention": mention, "polarity": polarity, "kind": kind}


def make_good_answer(request: ModelRequest) -> str:
    """Return a valid answer to any of the stages' prompts.

    Times count up by one hour from 0.
    """
    text = request.messages[1].content
    if "Mark every clinical event" in text:
        sentences = [line.split(": ", 1) for line in block(request, "SENTENCES").split("\n")]
        return json.dumps(
            {
                "reasoning": "r",
                **{n: [event(s.split()[0], f"says {s.split()[0]}")] for n, s in sentences},
            }
        )
    if "Write it out again" in text:
        note = block(request, "NOTE")
        word = note.split()[0]
        opening = f'<tag_1 mention="{word}" polarity="absent" kind="lab">'
        return f"<answer>{note.replace(word, f'{opening}{word}</tag_1>', 1)}</answer>"
    if "one to three search texts" in text:
        return json.dumps({uid: [f"rows of {mention}"] for uid, mention in mentions(request)})
    if "complete revised timeline" in text:
        return _revision(request)
    if request.schema is not None:
        rows = {uid: row(n) for n, (uid, _) in enumerate(mentions(request))}
        return json.dumps({"reasoning": "r", **rows})
    lines = [
        f"{uid} | {mention} | {n} | [{n}, {n}] | 0 | []"
        for n, (uid, mention) in enumerate(mentions(request))
    ]
    return "<think>r</think>\n<answer>\n" + "\n".join([HEADER, *lines]) + "\n</answer>"


def row(hour: float) -> list[object]:
    return [hour, hour - 1, None, 0]


def make_revised_row(
    timeline: int, number: int, context: str | None, found: Found | None = None
) -> list[object] | str:
    """Return every form of a row in turn.

    A word for each fourth row, else four fields, or all fields with at most one context. `found`:
    the answer cites rows, and these were found for the occurrence.
    """
    if number % 4 == 3:
        return "first" if timeline and number % 8 == 3 else "keep"
    fields = row(number + timeline / 4)
    named = [context] if context else []
    if found is None:
        return [*fields, named] if number % 4 == 2 else fields
    if found:
        cited, hour = found[0]
        fields = [hour, hour, None, 1, [cited]]
    if number % 4 == 2:
        near = [n for n, _ in found[1:2]]
        return [*fields[:4], *(fields[4:] or [[]]), near, named]
    return fields


def find_rows(request: ModelRequest) -> dict[str, Found] | None:
    """Return UID (or mention) → numbers and hours of the rows found for it.

    None if the answer cites no rows.
    """
    header, *lines = (split_row(line) for line in block(request, "TIMELINE").split("\n"))
    if header[-1] != _ROWS_FOUND:
        return None
    printed = re.findall(r"^r(\d+) \| (\S+) \|", block(request, "EVIDENCE"), re.MULTILINE)
    hours = {f"r{number}": (int(number), float(hour)) for number, hour in printed}
    return {
        cells[0]: tuple(hours[f"r{number}"] for number in expand_row_numbers(cells[-1]))
        for cells in lines
    }


def expand_row_numbers(cell: str) -> list[int]:
    """Return the numbers in "r17 r4 r8-10"; none of "none found"."""
    numbers: list[int] = []
    for first, last in re.findall(r"\br(\d+)(?:-(\d+))?\b", cell):
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def _revision(request: ModelRequest) -> str:
    header, *rows = (split_row(line) for line in block(request, "TIMELINE").split("\n"))
    found = find_rows(request)
    if request.schema is not None:
        timeline = request.schema["$defs"]["timeline"]["properties"]
        count = request.schema["properties"]["timelines"]["maxItems"]
        uids = [name for name in timeline if name not in ("reasoning", "why")]
        why = {"why": [{"uid4": uids[0], "words": "a row"}]} if "why" in timeline else {}
        timelines = [
            {
                "reasoning": "r",
                **{
                    uid: make_revised_row(
                        k, n, uids[n - 1] if n else None, None if found is None else found[uid]
                    )
                    for n, uid in enumerate(uids)
                },
                **why,
            }
            for k in range(count)
        ]
        return json.dumps({"reasoning_summary": "r", "timelines": timelines})
    text = request.messages[1].content
    most = _MOST_TIMELINES.search(text)
    count = int(most[1] or most[2]) if most else 1
    if part := re.search(r"answer for these identifiers only: ([0-9a-f, ]+)\.", text):
        rows = [row for row in rows if row[0] in part[1].split(", ")]
    names = ["mention"] if header[0] == "mention" else ["uid4", "mention"]
    columns = [*names, "time", "bounds", "known"]
    columns += [] if found is None else ["rows", "near"]
    columns += [] if len(names) == 1 else ["context_uid4s"]
    lines = ["|".join(columns)]
    for n, cells in enumerate(rows):
        hour, cited = f"{n}", "[]"
        if found and found[cells[0]]:
            number, at = found[cells[0]][0]
            hour, cited = f"{at:g}", f"[r{number}]"
        values = {"time": hour, "bounds": f"[{hour},{hour}]", "known": "1", "rows": cited}
        lines.append(
            "|".join([*cells[: len(names)], *(values.get(c, "[]") for c in columns[len(names) :])])
        )
    data = "\n".join(lines)
    timelines = [
        {"timeline_id": f"timeline_{k}", "data": data, "reasoning": "r"}
        for k in range(1, count + 1)
    ]
    return json.dumps({"reasoning_summary": "r", "timelines": timelines})


def make_good_model(
    *,
    schema: bool = True,
    context: int = 128_000,
    change: Callable[[ModelRequest, str], str | ModelReply] | None = None,
) -> ScriptedModel:
    """The model; `change` may alter its answers."""

    def answer(request: ModelRequest) -> str | ModelReply:
        text = make_good_answer(request)
        return change(request, text) if change else text

    return ScriptedModel(answer, name="good", limits=Limits(context=context, schema=schema))
