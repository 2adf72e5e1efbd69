"""Pair occurrences of two inventories by span; the sentence of a span."""

from __future__ import annotations

from timelines.presentation.pairing import overlap, pair_spans
from timelines.presentation.segments import Span
from timelines.presentation.sentence import LONGEST, find_sentence


def test_overlap_is_intersection_over_union():
    assert overlap(Span("a", 0, 10), Span("b", 5, 15)) == 5 / 15
    assert overlap(Span("a", 0, 10), Span("b", 10, 15)) == 0.0


def test_the_largest_overlap_wins_and_each_side_is_used_once():
    ours = [Span("wide", 0, 20), Span("exact", 5, 15)]
    theirs = [Span("ref", 5, 15), Span("other", 0, 18)]
    assert pair_spans(ours, theirs) == {"exact": "ref", "wide": "other"}


def test_less_than_two_fifths_is_no_pair():
    assert pair_spans([Span("a", 0, 10)], [Span("b", 0, 4)]) == {"a": "b"}
    assert pair_spans([Span("a", 0, 100)], [Span("b", 0, 39)]) == {}


def test_ties_go_to_the_earlier_span():
    assert pair_spans([Span("a", 0, 10)], [Span("late", 5, 15), Span("early", 0, 5)]) == {
        "a": "early"
    }
    assert pair_spans([Span("second", 10, 20), Span("first", 0, 10)], [Span("ref", 5, 15)]) == {}


def test_pairs_are_found_behind_a_long_earlier_span():
    theirs = [Span("whole", 0, 1000), Span("near", 900, 910)]
    assert pair_spans([Span("a", 901, 910)], theirs) == {"a": "near"}


NOTE = "She fell at home. Her lactate was 4.1 mmol/L on arrival. It cleared.\n\nMEDICATIONS:\n- warfarin 5 mg\n- aspirin"


def test_the_sentence_holds_the_span_and_stops_at_its_ends():
    start = NOTE.index("lactate")
    found = find_sentence(NOTE, start, start + 7)
    assert (found.before, found.span, found.after) == (
        "Her ",
        "lactate",
        " was 4.1 mmol/L on arrival.",
    )


def test_a_decimal_point_ends_no_sentence_and_a_blank_line_does():
    start = NOTE.index("cleared")
    found = find_sentence(NOTE, start, start + 7)
    assert (found.before, found.after, found.cut_after) == ("It ", ".", False)


def test_a_sentence_without_end_is_cut_and_says_so():
    note = "x" * 1000
    found = find_sentence(note, 500, 510)
    assert (len(found.before), found.cut_before, len(found.after), found.cut_after) == (
        LONGEST,
        True,
        LONGEST,
        True,
    )


def test_the_first_words_of_a_sentence_are_in_their_own_sentence():
    note = "On apixaban. No chest pain today. Later pain."
    found = find_sentence(note, 13, 26)
    assert (found.before, found.span, found.after) == ("", "No chest pain", " today.")
