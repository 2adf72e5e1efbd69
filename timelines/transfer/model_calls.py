"""Model calls of a run as lines.

With the whole request and reply, or their figures alone.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any, TextIO

from llm_runtime.models import ModelCall
from timelines.models import Run, StageRun
from timelines.runs.calls import find_calls

FIGURES = (
    "public_id",
    "role",
    "model",
    "endpoint",
    "prompt",
    "prompt_sha256",
    "request_id",
    "part",
    "seed",
    "attempt",
    "reused",
    "outcome",
    "finish_reason",
    "tokens_in",
    "tokens_cached",
    "tokens_out",
    "seconds",
)
COLUMNS = ("run", "case_id", "stage", *FIGURES, "created_at", "reasons")
CHUNK = 100


def call_lines(run: Run, *, whole: bool) -> Iterator[dict[str, Any]]:
    """Yield one line a call, in the order in which they were made.

    `whole` adds parameters, request and reply, which contain the note's text.
    """
    stages = StageRun.objects.filter(case_run__run=run)
    owners = {
        str(pk): (case, stage)
        for pk, case, stage in stages.values_list("pk", "case_run__encounter__case_id", "stage")
    }
    calls = find_calls(stages).order_by("pk")
    calls = calls.select_related("request") if whole else calls.defer("response")
    for call in calls.iterator(chunk_size=CHUNK):
        case_id, stage = owners[call.owner_id]
        line = {
            "run": run.public_id,
            "case_id": case_id,
            "stage": stage,
            **{name: getattr(call, name) for name in FIGURES},
        }
        line |= {"created_at": call.created_at.isoformat(), "reasons": call.reasons}
        yield {**line, **_load_texts(call)} if whole else line


def _load_texts(call: ModelCall) -> dict[str, Any]:
    reply = None if call.response is None else json.loads(call.response)
    return {
        "covers": call.covers,
        "parameters": call.parameters,
        "request": json.loads(call.request.body),
        "reply": reply,
    }


def write_call_lines(run: Run, file: TextIO) -> int:
    """JSON Lines in ASCII; returns how many."""
    count = 0
    for line in call_lines(run, whole=True):
        file.write(json.dumps(line) + "\n")
        count += 1
    return count


def write_call_table(run: Run, file: TextIO) -> int:
    """CSV of the figures; reasons are joined by "; ". Returns how many."""
    table = csv.DictWriter(file, COLUMNS)
    table.writeheader()
    count = 0
    for line in call_lines(run, whole=False):
        table.writerow({**line, "reasons": "; ".join(line["reasons"])})
        count += 1
    return count
