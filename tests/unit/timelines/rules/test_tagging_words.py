"""Tokens, vocabulary and temporal marks of the rules tagger."""

from __future__ import annotations

import pytest

from timelines.backbones.rules.tagging.lexicon import Concept, find_terms
from timelines.backbones.rules.tagging.tagger import RuleTagger
from timelines.backbones.rules.tagging.temporal import time_spans
from timelines.backbones.rules.tagging.tokens import tokenize
from timelines.domain import Lane


def texts(text: str) -> list[str]:
    return [t.text for t in tokenize(text)]


def terms(text: str) -> list[tuple[str, Concept]]:
    tokens = tokenize(text)
    return [
        (text[tokens[t.first].start : tokens[t.last - 1].end], t.concept)
        for t in find_terms(tokens)
    ]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("WBC-14.2*", ["WBC", "-", "14.2*"]),
        ("7.31/55/80 w/o O2", ["7.31/55/80", "w/o", "O2"]),
        ("s/p fall, A&Ox3", ["s/p", "fall", ",", "A&Ox3"]),
        ("non-bloody 50cc x2", ["non-bloody", "50cc", "x2"]),
        ("4.1->2.0", ["4.1", "->", "2.0"]),
        ("RASS -2 on [**2150-3-4**]", ["RASS", "-2", "on", "[**2150-3-4**]"]),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert texts(text) == tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("K 5.1", [("K", Concept.LAB)]),
        ("vitamin K deficiency", [("vitamin K", Concept.DRUG)]),
        ("she or he", []),
        ("taken to the OR", [("OR", Concept.PLACE)]),
        ("white blood cell count", [("white blood cell count", Concept.LAB)]),
        ("laparotomy", [("laparotomy", Concept.PROCEDURE)]),
        ("a thyroiditis", [("thyroiditis", Concept.FINDING)]),
        ("perindopril", [("perindopril", Concept.DRUG)]),
        ("IV piperacillin-tazobactam", [("piperacillin-tazobactam", Concept.DRUG)]),
    ],
)
def test_terms(text: str, expected: list[tuple[str, Concept]]) -> None:
    assert terms(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "three days before presentation",
        "for the last two weeks",
        "on hospital day 3",
        "POD 2",
        "the following morning",
        "on the evening of POD 1",
        "at 6 am",
        "~0300",
        "2150-03-04",
        "a few hours later",
    ],
)
def test_temporal_expressions_are_marked_whole(text: str) -> None:
    note = f"Fever {text}, cough."
    start = note.index(text)
    assert (start, start + len(text)) in time_spans(note, 0, len(note))


def test_doses_and_values_are_not_times() -> None:
    note = "Furosemide 40 mg, potassium 4.1, 2 L of saline"
    assert time_spans(note, 0, len(note)) == []


def test_a_title_before_a_removed_name_is_no_imaging_study():
    note = "Mr. ___ is a 74 year old man who fell."
    assert all(note[s.start : s.end] != "Mr" and s.mention != "mr" for s in RuleTagger().tag(note))


def test_a_class_of_drugs_is_a_medication():
    (span,) = [
        s
        for s in RuleTagger().tag("HOSPITAL COURSE\n\nThe reversal agent was given at noon.\n")
        if "reversal" in s.mention
    ]
    assert span.lane is Lane.MEDICATION
