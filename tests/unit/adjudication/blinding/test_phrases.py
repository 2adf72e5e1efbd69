"""Words of the note at a place, by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudication.blinding.phrases import LONGEST, NoteWords, extract_words

NOTE = (
    "HOSPITAL COURSE:\n- On bypass the potassium reached 6.6, treated at once.\n"
    "# pH 7.23/93; she got one unit of red cells and then two more before noon that day."
)
WORDS = NoteWords(NOTE)


def place(text: str) -> tuple[int, int]:
    return NOTE.index(text), NOTE.index(text) + len(text)


def read(*texts: str) -> str:
    found = WORDS.phrase(*map(place, texts))
    assert found is not None
    return WORDS.read(found)


@pytest.mark.parametrize(
    ("span", "phrase"),
    [
        ("HOSP", "HOSPITAL COURSE"),
        ("bypass the potassium reached 6.6", "On bypass the potassium reached 6.6"),
        ("otassium", "On bypass the potassium reached 6.6"),
        ("treated", "treated at once"),
        ("7.23/93", "pH 7.23/93"),
        # at most eight words around the middle
        ("she got one unit", "she got one unit of red cells and"),
        ("noon", "and then two more before noon that day"),
    ],
)
def test_a_clipped_and_a_whole_span_have_the_same_phrase(span: str, phrase: str) -> None:
    assert read(span) == phrase


def test_overlapping_spans_are_one_place() -> None:
    """Around what they have in common, so that neither length shows."""
    assert read("unit of red cells", "red cells and then two more") == read("red cells")


def test_marks_and_bullets_are_no_words() -> None:
    assert [WORDS.read((c[0][0], c[-1][1])) for c in WORDS.clauses][:3] == [
        "HOSPITAL COURSE",
        "On bypass the potassium reached 6.6",
        "treated at once",
    ]
    assert NoteWords("--\n\n ;").clauses == []
    assert NoteWords("--\n").phrase((0, 2)) is None
    assert WORDS.phrase((5, 9999)) is None


def test_an_event_without_a_span_has_the_clause_that_shares_most_words() -> None:
    found = WORDS.find("high potassium on bypass")
    assert found == place("bypass the potassium")
    assert WORDS.find("zebra") is None
    assert NoteWords("fever. A fever again").find("fever") == (0, 5)


def test_words_without_case_plurals_and_small_words() -> None:
    assert extract_words("The Units of red cells was") == {"unit", "red", "cell"}


@given(st.text(alphabet="ab .,;\n-7", max_size=80), st.data())
def test_every_phrase_is_of_the_note_and_short(note: str, data: st.DataObject) -> None:
    if not note:
        return
    start = data.draw(st.integers(0, len(note) - 1))
    end = data.draw(st.integers(start + 1, len(note)))
    found = NoteWords(note).phrase((start, end))
    if found is None:
        assert NoteWords(note).clauses == []
        return
    assert 0 <= found[0] < found[1] <= len(note)
    assert 1 <= len(note[slice(*found)].split()) <= LONGEST
