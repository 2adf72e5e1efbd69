"""The same answers in both output protocols, counted by a real tokenizer.

The timelines are those of the rules backbone on the demo's cases. Which rows a revision keeps,
moves or repeats in two alternatives is measured, not assumed. Each is written in the format that
the prompt of its protocol asks for, and read back by the validator of that prompt's stage. Words of
reasoning, the same in both, are one letter.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from benchmarks.support.demo_cases import reconstruct_cases
from timelines.backbones.prompted.reviser import read_timelines
from timelines.backbones.prompted.rows import FIRST, KEEP, Row, Standing
from timelines.backbones.prompted.tables import hours_text, read_table
from timelines.backbones.prompted.timer import read_answer_table, read_entries, read_rows
from timelines.domain import Entry, Inventory, Reconstruction, Timeline

ROOT = Path(__file__).resolve().parents[2]
Count = Callable[[str], int]


@dataclass(frozen=True)
class Answers:
    """A stage's answer for one case in both protocols."""

    schema: str
    table: str


def compare_protocols(folders: Sequence[Path]) -> float:
    """Return the ratio of answer tokens, "schema" over "table".

    The answers are those of stages 3 and 6 over some cases. The tokenizer's name is printed too.
    """
    name, count = counter()
    cases = reconstruct_cases(folders[:6])
    inferred, revised = [inference(c) for c in cases], [revision(c) for c in cases]
    written = [w for c in cases for timeline in format_rows(c) for w in timeline.values()]
    repeated = ", ".join(
        f"{sum(w == json.dumps(word) for w in written) / len(written):.0%} “{word}”"
        for word in (KEEP, FIRST)
    )
    print(f"output tokens by {name}, {len(cases)} demo cases; of the revised rows {repeated}")
    _ratio("  text-only times", inferred, count)
    _ratio("  revision", revised, count)
    _ratio(
        "  revision, if no word stood for a row", [revision(c, words=False) for c in cases], count
    )
    return _ratio("  both (goal 55%)", inferred + revised, count)


def _ratio(what: str, answers: Sequence[Answers], count: Count) -> float:
    schema, table = sum(count(a.schema) for a in answers), sum(count(a.table) for a in answers)
    print(f"{what}: schema {schema}, table {table}, {schema / table:.1%}")
    return schema / table


def counter() -> tuple[str, Count]:
    """Return (name, count) of a tokenizer.

    It is SmolLM2's if the verification environment is installed, else MiniLM's as a proxy.
    """
    process = subprocess.run(
        [sys.executable, str(ROOT / "requirements" / "verification.py"), "--path"],
        capture_output=True,
        text=True,
    )
    file = Path(process.stdout.strip()) / "models" / "SmolLM2-135M-Instruct" / "tokenizer.json"
    name = "SmolLM2's tokenizer"
    if not file.exists():
        from llm_runtime.model_files import MINILM

        file, name = MINILM.find() / "tokenizer.json", "MiniLM's tokenizer (a proxy)"
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return name, lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def inference(case: Reconstruction) -> Answers:
    """Stage 3, as `infer.md` and `infer_table.md` ask."""
    inventory, known = case.note.inventory, frozenset(case.note.inventory.uids)
    rows = {e.uid: format_list(e, with_context=bool(e.context)) for e in case.text_only}
    answers = Answers(
        format_object({"reasoning": '"r"', **rows}),
        f"<answer>\n{format_table(inventory, case.text_only, ' | ', ', ')}\n</answer>",
    )
    assert _values(read_entries(answers.schema, inventory.occurrences, known, "x")) == _values(
        case.text_only
    )
    assert _values(read_answer_table(answers.table, inventory.occurrences, known, "x")) == _values(
        case.text_only
    )
    return answers


def revision(case: Reconstruction, *, words: bool = True) -> Answers:
    """Stage 6, as `revise.md` and `revise_table.md` ask."""
    timelines = [
        format_object({"reasoning": '"r"', **rows}) for rows in format_rows(case, words=words)
    ]
    schema = f'{{"reasoning_summary":"r","timelines":[{",".join(timelines)}]}}'
    tables = [format_table(case.note.inventory, timeline, "|", ",") for timeline in case.revised]
    listed = [
        {"timeline_id": f"timeline_{n}", "data": data, "reasoning": "r"}
        for n, data in enumerate(tables, start=1)
    ]
    answers = Answers(schema, json.dumps({"reasoning_summary": "r", "timelines": listed}))
    _check_answers(case, answers)
    return answers


def format_rows(case: Reconstruction, *, words: bool = True) -> list[dict[str, str]]:
    """Return UID → its JSON in each revised timeline.

    With `words`, a row that did not change is a word; contexts are given only if they changed.
    """
    before, first = case.text_only.by_uid, case.revised[0].by_uid
    timelines = []
    for number, timeline in enumerate(case.revised):
        rows = {}
        for e in timeline:
            rows[e.uid] = format_list(e, with_context=e.context != before[e.uid].context)
            if words and _row_values(e) == _row_values(before[e.uid]):
                rows[e.uid] = json.dumps(KEEP)
            elif words and number and _row_values(e) == _row_values(first[e.uid]):
                rows[e.uid] = json.dumps(FIRST)
        timelines.append(rows)
    return timelines


def format_object(properties: dict[str, str]) -> str:
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in properties.items()) + "}"


def format_list(e: Entry, *, with_context: bool) -> str:
    """Compact JSON of a row; hours as a table has them."""
    fields = [
        "null" if hours is None else hours_text(hours) for hours in (e.time, e.lower, e.upper)
    ]
    context = [json.dumps(list(e.context), separators=(",", ":"))] if with_context else []
    return f"[{','.join([*fields, str(int(bool(e.known))), *context])}]"


def format_table(inventory: Inventory, timeline: Timeline, bar: str, comma: str) -> str:
    """Return the table that the paper's format asks for, with mentions copied.

    Stage 3 writes it with spaces, stage 6 without.
    """
    lines = [bar.join(("uid4", "mention", "time", "bounds", "known", "context_uid4s"))]
    for o in inventory:
        e = timeline.by_uid[o.uid]
        bounds = f"[{hours_text(e.lower)}{comma}{hours_text(e.upper)}]"
        lines.append(
            bar.join(
                (
                    o.uid,
                    o.mention,
                    hours_text(e.time),
                    bounds,
                    str(int(bool(e.known))),
                    f"[{comma.join(e.context)}]",
                )
            )
        )
    return "\n".join(lines)


def _check_answers(case: Reconstruction, answers: Answers) -> None:
    """Both answers are valid and say what the timelines say."""
    inventory, known = case.note.inventory, frozenset(case.note.inventory.uids)
    first: Standing = {}
    for number, answer in enumerate(
        read_timelines(json.loads(answers.schema), len(case.revised))[1]
    ):
        answer.pop("reasoning")
        rows = read_rows(
            answer,
            inventory.occurrences,
            known,
            "x",
            "timeline",
            {KEEP: case.text_only.by_uid, **first},
        )
        first = first or {FIRST: {row.uid: row for row in rows}}
        assert _values(rows) == _values(case.revised[number])
    for number, answer in enumerate(
        read_timelines(json.loads(answers.table), len(case.revised))[1]
    ):
        assert _values(
            read_table(answer["data"], inventory.occurrences, known, "x", "timeline")
        ) == _values(case.revised[number])


def _row_values(e: Row) -> tuple[object, ...]:
    """Return the values of a row of the answer.

    Hours have two decimals, as in the prompt.
    """
    return hours_text(e.time), hours_text(e.lower), hours_text(e.upper), e.known, e.context


def _values(rows: Iterable[Row]) -> list[tuple[object, ...]]:
    return [(e.uid, *_row_values(e)) for e in rows]
