"""Stage 1: the markup parser, exact offsets in the clean note, chunks.

By hand and as properties of any note.
"""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from timelines.domain import Inventory, Lane, NotePart, Polarity, TaggedSpan
from timelines.pipeline.config import PipelineConfig
from timelines.pipeline.tagging import (
    TaggingRejected,
    chunk_note,
    parse_tagged,
    render_tagged,
    sort_spans,
    tag,
    trim_span,
)
from timelines.pipeline.uids import assign_uids

NOTE = "An 18-year-old male with fever and rash."
WORD = re.compile(r"[a-z]+")


def spans(tagged: str, note: str = NOTE) -> list[tuple[str, str]]:
    """(text of the span, mention) of every span."""
    return [(note[s.start : s.end], s.mention) for s in parse_tagged(tagged, note)]


class FixedTagger:
    """Returns the spans it was given."""

    def __init__(self, *given_spans: TaggedSpan) -> None:
        self._spans = given_spans

    def tag(self, note: str, kind: str = "") -> tuple[TaggedSpan, ...]:
        return self._spans


def test_the_protocols_tolerances_at_once():
    tagged = (
        'An <tag_1 mention="18 year old"> 18-year-old </tag_1> <tag2 mention="male">male </tag_2>with '
        '<tag_3  mention = "fever" >fever</tag3 >\nand <tag_16 mention="rash"> rash</tag16>.'
    )
    assert spans(tagged) == [
        ("18-year-old", "18 year old"),
        ("male", "male"),
        ("fever", "fever"),
        ("rash", "rash"),
    ]


def test_a_tag_may_say_polarity_and_kind_before_or_after_its_mention():
    tagged = (
        'An <tag_1 mention="a" kind="history">18-year-old</tag_1> '
        '<tag_2 polarity="planned" kind = "plan" mention="b">male</tag_2> '
        'with <tag_3 mention="c">fever</tag_3> and <tag_4 mention="d" polarity="absent">rash</tag_4>.'
    )
    assert [(s.polarity, s.lane) for s in parse_tagged(tagged, NOTE)] == [
        (Polarity.PRESENT, Lane.HISTORY),
        (Polarity.PLANNED, Lane.PLAN),
        (Polarity.PRESENT, Lane.FINDING),
        (Polarity.ABSENT, Lane.FINDING),
    ]


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ('polarity="no" mention="rash"', "tag 1: polarity is none of present, absent, planned"),
        ('mention="rash" kind="sign"', "tag 1: kind is none of history, finding, lab"),
        ('kind="lab" mention="rash" kind="plan"', "tag 1: an attribute occurs twice"),
        ('kind="lab"', "the tagged text differs from the note at offset"),
    ],
)
def test_a_tag_with_a_wrong_attribute_is_rejected(attributes, reason):
    with pytest.raises(TaggingRejected, match=reason):
        parse_tagged(NOTE.replace("rash", f"<tag_1 {attributes}>rash</tag_1>"), NOTE)


def test_spans_may_nest_and_overlap():
    tagged = 'An 18-year-old male <tag_1 mention="a">with <tag_2 mention="b">fever</tag_2> <tag_3 mention="c">and</tag_1> rash</tag_3>.'
    assert spans(tagged) == [("with fever and", "a"), ("fever", "b"), ("and rash", "c")]


def test_a_mention_may_hold_quotes_bars_and_brackets():
    tagged = NOTE.replace("rash", '<tag_1 mention="5" rash | a \\"b\\" > c">rash</tag_1>')
    assert spans(tagged) == [("rash", '5" rash | a "b" > c')]


@pytest.mark.parametrize(
    ("tagged", "reason"),
    [
        (NOTE.replace("rash", "rashes"), "differs from the note at offset 39"),
        (NOTE.replace("fever and ", ""), "differs from the note at offset 25"),
        (NOTE[:-1], "goes on at offset 39"),
        (NOTE + " Done.", "differs from the note at offset 40"),
        (NOTE.replace("rash", '<tag_1 mention="r">rash'), "tag 1 is not closed"),
        (NOTE.replace("rash", "rash</tag_7>"), "tag 7 is closed before offset 39, but not open"),
        (
            NOTE.replace("rash", 'rash<tag_1 mention="r"> </tag_1>'),
            "tag 1 before offset 39 encloses nothing",
        ),
        (NOTE.replace("rash", '<tag_1 mention=" ">rash</tag_1>'), "empty mention"),
        (NOTE.replace("rash", "<tag_1>rash</tag_1>"), "differs from the note at offset 35"),
    ],
)
def test_what_is_not_the_note_is_rejected_without_quoting_it(tagged, reason):
    with pytest.raises(TaggingRejected) as rejected:
        parse_tagged(tagged, NOTE)
    assert reason in str(rejected.value)
    assert not any(word in str(rejected.value) for word in ("fever", "rash", "male"))


def test_markup_that_stands_in_the_note_is_text():
    note = 'He typed <tag_1 mention="x">y</tag_1> & <b>bold</b> &amp; left.'
    inventory = assign_uids(
        [TaggedSpan(9, 37, "typed markup"), TaggedSpan(28, 29, "y")], rng=Random(0)
    )
    rendered = render_tagged(note, inventory)
    assert "<tag_2 mention=" in rendered
    assert [(s.start, s.end) for s in parse_tagged(rendered, note)] == [(9, 37), (28, 29)]


def test_an_unfinished_tag_of_the_note_does_not_swallow_ours():
    note = 'see <tag_9 mention="abc fever'
    inventory = assign_uids([TaggedSpan(24, 29, "fever")], rng=Random(0))
    assert [(s.start, s.end) for s in parse_tagged(render_tagged(note, inventory), note)] == [
        (24, 29)
    ]


def test_tag_trims_and_orders():
    tagger = FixedTagger(
        TaggedSpan(24, 31, "fever"),
        TaggedSpan(3, 14, "18 year old"),
        TaggedSpan(3, 19, "male of 18"),
    )
    assert [(s.start, s.end) for s in tag(tagger, NOTE)] == [(3, 19), (3, 14), (25, 30)]


def test_the_notes_of_a_chart_are_tagged_one_by_one():
    class Words:
        def tag(self, note: str, kind: str = "") -> list[TaggedSpan]:
            return [
                TaggedSpan(m.start(), m.end(), f"{m[0]} of {note}") for m in WORD.finditer(note)
            ]

    chart = "=== first ===\n\nfever, cough\n\n=== second ===\n\nfever"
    parts = (NotePart(15, 27, "first"), NotePart(45, 50, "second"))
    found = tag(Words(), chart, parts)
    assert [(chart[s.start : s.end], s.mention) for s in found] == [
        ("fever", "fever of fever, cough"),
        ("cough", "cough of fever, cough"),
        ("fever", "fever of fever"),
    ]
    assert tag(Words(), "fever, cough") == tuple(
        replace(s, start=s.start - 15, end=s.end - 15) for s in found[:2]
    )


def test_tag_rejects_spans_that_are_not_of_the_note():
    tagger = FixedTagger(
        TaggedSpan(0, 41, "all"),
        TaggedSpan(2, 3, "blank"),
        TaggedSpan(25, 30, "fever"),
        TaggedSpan(25, 31, "fever"),
    )
    with pytest.raises(TaggingRejected) as rejected:
        tag(tagger, NOTE)
    assert rejected.value.reasons == (
        "span [0, 41) ends after the note, which has 40 characters",
        "span [2, 3) has no text",
        "span [25, 30) is tagged 2 times with one mention",
    )


def test_a_short_note_is_one_pass_and_a_long_one_450_line_chunks():
    config = PipelineConfig()
    assert [(c.start, c.end) for c in chunk_note("a\n" * 500, config)] == [(0, 1000)]
    assert [(c.start, c.end) for c in chunk_note("a\n" * 1000, config)] == [
        (0, 900),
        (900, 1800),
        (1800, 2000),
    ]
    assert chunk_note("", config) == ()


def test_an_endless_line_is_cut_after_white_space_and_never_before_a_combining_mark():
    config = PipelineConfig(tag_chunk_characters=10)
    assert [(c.start, c.end) for c in chunk_note("aaaa bbbb cccc dddd", config)] == [
        (0, 10),
        (10, 19),
    ]
    assert [(c.start, c.end) for c in chunk_note("aaaaaaaaae\u0301bbb", config)] == [
        (0, 9),
        (9, 14),
    ]


PIECES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=6),
    st.sampled_from(
        [
            "fever ",
            "😀",
            "👩‍⚕️",
            "e\u0301",
            "\r\n",
            "\t",
            "<b>",
            "</b>",
            "&amp;",
            "עברית",
            "\u202bعربي\u202c",
            "|",
            '"',
            "\\",
            "\u00a0",
        ]
        + [
            '<tag_1 mention="x">',
            "</tag_1>",
            "<tag_2 mention=",
            "<tag3>",
            "</tag_",
            "_7>",
            "<",
            ">",
            "12",
        ]
    ),
)
NOTES = (
    st.lists(PIECES, min_size=1, max_size=25).map("".join).filter(lambda note: bool(note.strip()))
)
MENTIONS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12).filter(
    lambda m: bool(m.strip())
)


@st.composite
def make_tagged_notes(draw: st.DrawFn) -> tuple[str, Inventory]:
    """Any note with any spans: nested, overlapping, touching, equal."""
    note = draw(NOTES)
    found = []
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(note) - 1))
        end = draw(st.integers(start + 1, len(note)))
        if note[start:end].strip():
            found.append(trim_span(TaggedSpan(start, end, draw(MENTIONS)), note))
    return note, assign_uids(sort_spans(found), rng=Random(1))


def find_spans(inventory: Inventory) -> list[tuple[int | None, int | None]]:
    return [(o.start, o.end) for o in inventory]


@settings(max_examples=400, deadline=None)
@given(make_tagged_notes())
@example(("<tag_1", assign_uids([TaggedSpan(0, 6, "x")], rng=Random(1))))
@example(
    ("<tag_91 fever", assign_uids([TaggedSpan(0, 13, "x"), TaggedSpan(8, 13, "y")], rng=Random(1)))
)
def test_any_note_with_any_markup_comes_back_with_its_exact_offsets(case):
    note, inventory = case
    found = parse_tagged(render_tagged(note, inventory), note)
    assert sorted((s.start, s.end) for s in found) == sorted(find_spans(inventory))
    again = assign_uids(found, rng=Random(1))
    assert sorted(o.mention for o in again) == sorted(o.mention for o in inventory)


@settings(max_examples=200, deadline=None)
@given(make_tagged_notes(), st.sampled_from([" ", "  ", "\n", "\t", "\r\n", "\u00a0"]))
def test_padding_inside_and_around_tags_changes_nothing(case, space):
    note, inventory = case
    rendered = render_tagged(note, inventory)
    for o in inventory:
        rendered = rendered.replace(f'mention="{o.mention}">', f'mention="{o.mention}">{space}')
    assert sorted((s.start, s.end) for s in parse_tagged(rendered, note)) == sorted(
        find_spans(inventory)
    )


@settings(max_examples=200, deadline=None)
@given(NOTES, st.integers(1, 6), st.integers(1, 5), st.integers(2, 30))
def test_chunks_partition_any_note_within_their_caps(note, single, lines, characters):
    config = PipelineConfig(
        tag_single_pass_lines=single, tag_chunk_lines=lines, tag_chunk_characters=characters
    )
    chunks = chunk_note(note, config)
    assert "".join(note[c.start : c.end] for c in chunks) == note
    assert all(0 < c.end - c.start <= characters for c in chunks)
    if len(chunks) > 1:
        assert all(note[c.start : c.end].count("\n") <= lines for c in chunks)
