"""The practice round: consistent cases, and the use of each answer."""

from __future__ import annotations

import pytest

from adjudication.blinding import practice
from adjudication.blinding.page import ANSWER_WORDS
from adjudication.blinding.practice import practice_cases
from adjudication.blinding.visibility import Question


def test_the_round_is_short_and_in_order():
    cases = practice_cases()
    assert [c.number for c in cases] == list(range(1, len(cases) + 1))
    assert 6 <= len(cases) <= 8


def test_it_shows_every_question_and_most_answers():
    assert {c.item.question for c in practice_cases()} == set(Question)
    assert {c.answer for c in practice_cases()} >= {"A", "B", "UNCLEAR", "NOT_A_FINDING"}
    assert {c.answer for c in practice_cases()} <= set(ANSWER_WORDS)


@pytest.mark.parametrize("case", practice_cases(), ids=lambda c: c.title)
def test_the_place_and_the_rows_are_there(case):
    item = case.item
    assert item.spans
    assert all(item.note[start:end].strip() for start, end in item.spans)
    assert [s.label for s in (item.left, item.right)] == ["A", "B"]
    sides = [side for side in (item.left, item.right) if side.row is not None]
    assert len(sides) == (2 if item.question is Question.TWO_ROWS else 1)
    for side in sides:
        assert side.row.event
        assert side.row.when
    assert all(series.rows for series in item.series)
    assert len(case.explanation) > 40


def test_sides_stand_as_the_file_has_them():
    first = practice_cases()[0].item
    assert (first.left.row.when, first.right.row.when) == ("≈ 3 d before", "≈ 3 h before"), (
        "the explanation speaks of A and B"
    )


def test_a_place_that_is_not_in_the_note_is_refused(tmp_path, monkeypatch):
    (tmp_path / "01.json").write_text(
        '{"note": "well", "span": "ill", "sides": [], "kind": "both", "title": "", "answer": "A"}'
    )
    monkeypatch.setattr(practice, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match="0 times"):
        practice_cases.__wrapped__()
