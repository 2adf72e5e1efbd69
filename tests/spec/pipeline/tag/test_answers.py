"""The table of answers.md, row by row: what the prompted tagger accepts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llm_runtime.errors import AnswerRejected
from tests.spec.table import read_table
from timelines.backbones.prompted.notes import Sentence
from timelines.backbones.prompted.tagger import read_quotes

ROWS = read_table(Path(__file__).with_name("answers.md"))
FIELDS = ("quote", "mention", "polarity", "kind")


@pytest.mark.parametrize("row", ROWS, ids=[row["answer"][:40] for row in ROWS])
def test_answer(row: dict[str, str]) -> None:
    sentence = row["sentence"]
    entries = [
        dict(zip(FIELDS, (cell.strip() for cell in entry.split(">")), strict=False))
        for entry in row["answer"].split(" ; ")
    ]
    answer = json.dumps({"reasoning": "r", "1": entries})
    try:
        (spans,) = read_quotes(answer, sentence, [Sentence(0, len(sentence))]).values()
        result = " ; ".join(f"{s.start}-{s.end} {s.polarity} {s.lane}" for s in spans)
    except AnswerRejected as rejection:
        result = " ; ".join(rejection.reasons)
    assert result == row["result"]
