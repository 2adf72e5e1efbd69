"""Offsets in the browser against Python's own: code points, whatever the characters, and words that
selections move by.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings
from hypothesis import HealthCheck, given
from hypothesis import settings as trying
from hypothesis import strategies as st

pytestmark = pytest.mark.browser

AWKWARD = st.sampled_from("ab 1.5\r\n\t🫀é\u0301שלום👩\u200d⚕\ufe0f")
TEXTS = st.text(st.one_of(AWKWARD, st.characters(exclude_categories=["Cs"])), max_size=40)
SLICES = """(text) => {
  const note = AuthorText.indexed(text);
  return [note.length, [...Array(note.length).keys()].map((i) => note.slice(i, i + 1)), note.words];
}"""
TIDIED = "([text, start, end]) => AuthorText.tidied(AuthorText.indexed(text), start, end)"
MOVED = "([text, span, edge, outward]) => AuthorText.moved(AuthorText.indexed(text), span, edge, outward)"
PIECES = """([spans, end]) => [AuthorText.pieces(0, end, spans).map((p) => [p.start, p.end, p.spans.map((s) => s.uid).join('')]),
  [...AuthorText.levels(spans)]]"""


@pytest.fixture
def scripted(page):
    page.add_script_tag(path=Path(settings.BASE_DIR) / "static" / "js" / "authoring" / "text.js")
    return page


@trying(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS)
def test_offsets_are_code_points_as_they_are_stored(scripted, text):
    length, characters, words = scripted.evaluate(SLICES, text)
    assert (length, characters) == (len(text), list(text))
    assert all(text[word["start"] : word["end"]].strip() for word in words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("INR 1.5, on 10/12", ["INR", "1.5", "on", "10/12"]),
        ("patient's follow-up (day 3)", ["patient's", "follow-up", "day", "3"]),
        ("🫀 e\u0301tat שלום.", ["🫀", "e\u0301tat", "שלום"]),
        ("SpO2 92%\r\n\r\nRA", ["SpO2", "92%", "RA"]),
    ],
)
def test_words_are_what_a_reader_takes_for_one(scripted, text, words):
    found = scripted.evaluate(SLICES, text)[2]
    assert [text[word["start"] : word["end"]] for word in found] == words


@pytest.mark.parametrize(
    ("text", "start", "end", "kept"),
    [
        (" fell \r\n", 0, 8, "fell"),
        ("e\u0301tat", 0, 1, "e\u0301"),
        ("👩\u200d⚕", 0, 1, "👩\u200d⚕"),
        ("ae\u0301", 2, 3, "e\u0301"),
        ("\t \r\n", 0, 4, None),
    ],
)
def test_a_selection_keeps_no_white_space_and_tears_no_character(scripted, text, start, end, kept):
    found = scripted.evaluate(TIDIED, [text, start, end])
    assert (found and text[found["start"] : found["end"]]) == kept


def test_edges_move_by_words_and_stop_at_the_last_one(scripted):
    text = "🫀 Fell at home."
    span = {"start": 2, "end": 6}
    move = lambda edge, outward: scripted.evaluate(MOVED, [text, span, edge, outward])  # noqa: E731
    assert move("end", True) == {"start": 2, "end": 9}
    assert move("start", True) == {"start": 0, "end": 6}
    assert move("end", False) is None
    assert move("start", False) is None


def test_pieces_name_every_span_over_them_and_overlapping_spans_share_no_line(scripted):
    spans = [
        {"uid": "a", "start": 0, "end": 6},
        {"uid": "b", "start": 2, "end": 4},
        {"uid": "c", "start": 5, "end": 9},
    ]
    pieces, levels = scripted.evaluate(PIECES, [spans, 10])
    assert pieces == [
        [0, 2, "a"],
        [2, 4, "ba"],
        [4, 5, "a"],
        [5, 6, "ca"],
        [6, 9, "c"],
        [9, 10, ""],
    ]
    assert dict(levels) == {"b": 0, "c": 0, "a": 1}
