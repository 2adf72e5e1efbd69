"""Tokens of a revision prompt with the default retrieval.

Two tokenizers count them: the embedder's (MiniLM) and that of a language model with a small
vocabulary, in which every digit is a token (SmolLM2). No server is asked.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer

from llm_runtime.model_files import MINILM
from llm_runtime.roles import ModelRoles
from tests.support.revision_prompt import STAY, write_revision_prompt


@pytest.mark.parametrize("stay", [STAY, "25809882", "27882036"])
def test_a_revision_prompt_for_180_occurrences_or_more(small_model: Path, stay: str) -> None:
    prompt = write_revision_prompt(ModelRoles().embedder(), stay)
    assert prompt.occurrences >= 180
    by_minilm = prompt.count(Tokenizer.from_file(str(MINILM.find() / "tokenizer.json")))
    by_smollm2 = prompt.count(Tokenizer.from_file(str(small_model / "tokenizer.json")))
    assert 20_000 < by_minilm < 30_000
    assert 100 < by_smollm2 / prompt.occurrences < 180
