"""The transparent score, derived by hand."""

import pytest

from llm_runtime.calls.blocking import run_blocking
from llm_runtime.providers.lexical import (
    LEXICAL_THRESHOLD,
    OTHER_ACT,
    W_COSINE,
    W_OVERLAP,
    W_VALUE,
    LexicalReranker,
)

DICE = 2.5 / 2.75
DOCUMENT = "lab:lactate:blood\ntwo observations: 0.9 at 5.8, 1.5 at 31.2"


def score(query: str, cosine: float | None = None, document: str = DOCUMENT) -> float:
    return run_blocking(
        LexicalReranker().rerank(query, [document], cosines=None if cosine is None else [cosine])
    )[0]


def test_all_terms() -> None:
    # lactate 1, blood ¼ against lab ¼, lactate 1, blood ¼: Dice 2 · 1¼ / (1¼ + 1½); 1.5 is in
    # the document
    expected = (W_COSINE * 0.5 + W_OVERLAP * DICE + W_VALUE * 1) / (W_COSINE + W_OVERLAP + W_VALUE)
    assert score("lactate blood 1.50", 0.5) == pytest.approx(expected)


def test_terms_that_do_not_apply_are_left_out_of_the_weights() -> None:
    assert score("lactate blood") == pytest.approx(DICE)
    assert score("lactate blood 2.5") == pytest.approx(W_OVERLAP * DICE / (W_OVERLAP + W_VALUE))
    assert score("lactate blood", 0.5) == pytest.approx(
        (W_COSINE * 0.5 + W_OVERLAP * DICE) / (W_COSINE + W_OVERLAP)
    )


def test_range_and_degenerate_texts() -> None:
    assert score("", -0.4, "") == 0.0
    assert score("lab lactate blood 0.9", 1.0) == pytest.approx(1.0)


def test_a_number_must_stand_by_itself_and_plurals_are_one_word() -> None:
    assert score("lactate 5.8") > score("lactate 15.8")
    assert score("lactates") == score("lactate")


def test_a_row_of_another_act_is_another_moment() -> None:
    start, end = (
        score("med norepinephrine start", document=f"med:norepinephrine:{act}")
        for act in ("start", "end")
    )
    # norepinephrine 1 and med ¼ shared of 1½ each, and the acts differ
    assert start == pytest.approx(1.0)
    assert end == pytest.approx(OTHER_ACT * 2.5 / 3.0)
    assert score("order norepinephrine stop", document="med:norepinephrine:end") > end


def test_one_score_a_document_in_order_and_an_own_threshold() -> None:
    scores = run_blocking(LexicalReranker().rerank("lactate", ["lab:sodium:blood", DOCUMENT]))
    assert scores[0] == 0.0 < scores[1]
    assert LexicalReranker().threshold == LEXICAL_THRESHOLD != 0.05
    assert LexicalReranker(threshold=0.4).threshold == 0.4
