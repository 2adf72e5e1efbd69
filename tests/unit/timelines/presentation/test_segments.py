"""Cutting notes into segments, with any characters and overlaps.

Nothing is lost, nothing added, every span covered exactly.
"""

from __future__ import annotations

from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from timelines.presentation.note_html import note_html
from timelines.presentation.segments import (
    SHORTEST_TITLED,
    Span,
    find_levels,
    split_sections,
    split_segments,
)

PIECES = [
    "a",
    "HISTORY OF PRESENT ILLNESS:",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "<b>",
    "</div>",
    "&amp;",
    '"',
    "'",
    "é",
    "e\u0301",
    "🫀",
    "שלום",
    "\u202e",
    " ",
]
NOTES = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=60).map("".join),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=120),
)


@st.composite
def notes_with_spans(draw):
    note = draw(NOTES)
    spans = []
    if note:
        for number in range(draw(st.integers(0, 8))):
            start = draw(st.integers(0, len(note) - 1))
            spans.append(Span(f"{number:04x}", start, draw(st.integers(start + 1, len(note)))))
    return note, spans


@given(notes_with_spans())
def test_segments_concatenate_to_the_note_and_cover_every_span_exactly(case):
    note, spans = case
    segments = split_segments(len(note), spans)
    assert "".join(note[s.start : s.end] for s in segments) == note
    assert all(a.end == b.start for a, b in pairwise(segments))
    for span in spans:
        own = [s for s in segments if span.key in s.keys]
        assert (own[0].start, own[-1].end) == (span.start, span.end)
        assert sum(s.end - s.start for s in own) == span.end - span.start


@given(notes_with_spans())
def test_the_shortest_covering_span_comes_first(case):
    note, spans = case
    length = {span.key: span.end - span.start for span in spans}
    for segment in split_segments(len(note), spans):
        assert [length[key] for key in segment.keys] == sorted(length[key] for key in segment.keys)


@given(notes_with_spans())
def test_overlapping_spans_take_different_underlines(case):
    _, spans = case
    levels = find_levels(spans)
    for first in spans:
        for second in spans:
            if first is not second and first.start < second.end and second.start < first.end:
                assert levels[first.key] != levels[second.key]


def test_nested_spans_keep_both_and_the_inner_one_lies_nearer_the_text():
    spans = [Span("0001", 0, 20), Span("0002", 5, 9)]
    assert [(s.start, s.end, s.keys) for s in split_segments(25, spans)] == [
        (0, 5, ("0001",)),
        (5, 9, ("0002", "0001")),
        (9, 20, ("0001",)),
        (20, 25, ()),
    ]
    assert find_levels(spans) == {"0002": 0, "0001": 1}


def test_identical_spans_are_both_there():
    assert split_segments(4, [Span("000b", 1, 3), Span("000a", 1, 3)])[1].keys == ("000a", "000b")


@pytest.mark.parametrize("span", [Span("0001", 0, 5), Span("0001", 2, 2), Span("0001", -1, 2)])
def test_a_span_outside_the_note_is_refused(span):
    with pytest.raises(ValueError, match="0001 is outside the note"):
        split_segments(4, [span])


@given(NOTES)
@example("HISTORY OF PRESENT ILLNESS\r\n\r\nFell.\r\n\r\nSOCIAL HISTORY\r\n")
def test_sections_partition_the_note_at_line_starts(note):
    sections = split_sections(note)
    assert "".join(note[s.start : s.end] for s in sections) == note
    assert all(s.start == 0 or note[s.start - 1] == "\n" for s in sections)


def test_sections_carry_the_titles_of_their_headings():
    note = (
        "Name: ___\n\nHISTORY OF PRESENT ILLNESS\n"
        + "She fell. " * 20
        + "\n\nBrief Hospital Course:\n"
        + "She recovered. " * 20
    )
    assert [s.title for s in split_sections(note) if s.end - s.start >= SHORTEST_TITLED] == [
        "HISTORY OF PRESENT ILLNESS",
        "Brief Hospital Course",
    ]


class _NoteText(HTMLParser):
    """Collects the text of the note, its segments and the heads of notes.

    A segment has keys and text.
    """

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.segments: list[tuple[str, int, str]] = []
        self.tags: set[str] = set()
        self.heads: list[str] = []
        self._inside = False

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.tags.add(tag)
        if values.get("class") == "note-head":
            self.heads.append(values["id"])
        if tag == "div":
            self._inside = values.get("class") in ("note-text", "note-head")
        if values.get("class") == "seg":
            self.segments.append((values["data-o"], int(values["data-s"]), ""))
            self._open = len(self.text)

    def handle_data(self, data):
        if self._inside:
            self.text += data


@given(
    st.lists(notes_with_spans().filter(lambda case: case[0] != ""), min_size=1, max_size=3),
    st.sampled_from(["=\r\n", "<b>"]),
)
def test_a_chart_shows_exactly_its_characters_and_a_head_for_each_note(cases, head):
    chart, parts, spans = "", [], []
    for note, own in cases:
        chart += head
        spans += [
            Span(f"{len(spans) + n:04x}", s.start + len(chart), s.end + len(chart))
            for n, s in enumerate(own)
        ]
        parts.append((len(chart), len(chart) + len(note)))
        chart += note
    parser = _NoteText()
    parser.feed(note_html(chart, spans, {span.key: "explicit" for span in spans}, parts))
    parser.close()
    assert parser.text == chart
    assert parser.heads == [f"note-at-{start}" for start, _ in parts]


@given(notes_with_spans())
def test_the_page_shows_exactly_the_stored_characters_and_no_markup_of_theirs(case):
    note, spans = case
    parser = _NoteText()
    parser.feed(note_html(note, spans, {span.key: "explicit" for span in spans}))
    parser.close()
    assert parser.text == note
    assert parser.tags <= {"div", "span"}
    assert {key for keys, _, _ in parser.segments for key in keys.split()} == {
        span.key for span in spans
    }


def test_a_carriage_return_reaches_the_page_as_a_reference():
    assert "a&#13;\n" in note_html("a\r\nb", [], {})


def test_stacked_underlines_nest_with_the_inner_status_innermost():
    html = note_html(
        "abc", [Span("0001", 0, 3), Span("0002", 1, 2)], {"0001": "inferred", "0002": "moved"}
    )
    assert '<span class="u u-inferred l1"><span class="u u-moved l0">b</span></span>' in html
