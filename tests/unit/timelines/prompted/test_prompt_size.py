"""The size of a revision prompt, counted by a real tokenizer.

It is MiniLM's WordPiece, which comes with the application. Retrieval is by hashed words, which takes
seconds and finds fewer rows. `tests/verification/test_prompt_tokens.py` counts with the default
retrieval, and with the tokenizer of a language model too.
"""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer

from llm_runtime.model_files import MINILM
from llm_runtime.providers.scripted import HashingEmbedder
from tests.support.revision_prompt import write_revision_prompt


@pytest.mark.slow
def test_a_revision_prompt_for_180_occurrences_is_far_under_30_000_tokens() -> None:
    prompt = write_revision_prompt(HashingEmbedder(dimension=256))
    assert prompt.occurrences >= 180
    tokens = prompt.count(Tokenizer.from_file(str(MINILM.find() / "tokenizer.json")))
    assert prompt.text.count("\nr") > 100, "rows are printed"
    assert tokens < 24_000
