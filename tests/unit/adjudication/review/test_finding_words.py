"""Words of pages about findings, under any labels.

The right side is named, and nobody is charged without a decisive verdict.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from adjudication.domain import (
    Finding,
    FindingPolarity,
    FindingType,
    Relation,
    Verdict,
    find_illegalities,
)
from adjudication.judging.finding_words import (
    CATEGORY_WORDS,
    TYPE_WORDS,
    charge_sentence,
    flag_sentence,
    size_words,
    verdict_sentence,
    verdict_words,
    weight_words,
)
from adjudication.judging.input import swap_labels
from adjudication.scoring.errors import Category, charge

TIMING = Finding(
    type=FindingType.TIMING,
    verdict=Verdict.A,
    a_event="fever",
    a_time=-72,
    b_event="fever",
    b_time=72,
    a_row=1,
    b_row=2,
)
ONLY_A = Finding(
    type=FindingType.A_ONLY,
    verdict=Verdict.A,
    a_event="fever",
    a_row=1,
    relation=Relation.NOVEL_EVENT,
)
TWICE_IN_B = Finding(type=FindingType.DUPLICATE, verdict=Verdict.A, b_event="fever", b_row=2)


def legal_findings() -> list[Finding]:
    """One of every legal kind, verdict and polarity."""
    bodies = [TIMING, replace(TIMING, type=FindingType.VALUE), ONLY_A, TWICE_IN_B]
    bodies.append(replace(TIMING, type=FindingType.SHARED_UNSUPPORTED, verdict=Verdict.NEITHER))
    found = []
    for body in bodies:
        for verdict in Verdict:
            for polarity in FindingPolarity:
                fields = {name: getattr(body, name) for name in body.__dataclass_fields__}
                fields |= {"verdict": verdict, "polarity": polarity}
                if not find_illegalities(_make_unchecked(fields)):
                    found.append(Finding(**fields))
    return found


def _make_unchecked(fields: dict) -> Finding:
    """Built without its checks, to ask whether it would be legal."""
    made = object.__new__(Finding)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


@pytest.mark.parametrize(
    ("finding", "words", "sentence"),
    [
        (TIMING, "A right", "The time in A is right, the one in B is not."),
        (replace(TIMING, verdict=Verdict.BOTH), "both possible", "Both times are possible."),
        (
            replace(TIMING, type=FindingType.VALUE, verdict=Verdict.UNCLEAR),
            "unclear",
            "Note and record do not show which value is right.",
        ),
        (ONLY_A, "supported", "The row in A is supported."),
        (replace(ONLY_A, verdict=Verdict.B), "not supported", "The row in A is not supported."),
        (TWICE_IN_B, "extra copy", "The second row is an extra copy of one event."),
        (
            replace(TWICE_IN_B, verdict=Verdict.B),
            "real recurrence",
            "The second row is a real recurrence.",
        ),
    ],
)
def test_verdicts_are_said_as_what_they_mean_for_the_kind(finding, words, sentence):
    assert verdict_words(finding) == words
    assert verdict_sentence(finding) == sentence


@pytest.mark.parametrize(
    ("finding", "sentence"),
    [
        (
            TIMING,
            "two is charged with a wrong time, 2 points, because the judge found its time wrong.",
        ),
        (
            replace(ONLY_A, verdict=Verdict.B),
            "one is charged with an over-annotation, 3 points, because it has an event",
        ),
        (
            ONLY_A,
            "two is charged with a missed event, 1 point, because it lacks an event that is supported.",
        ),
        (
            replace(ONLY_A, polarity=FindingPolarity.ABSENT),
            "two is charged with a missed absence, 0.5 points,",
        ),
        (
            TWICE_IN_B,
            "two is charged with a false duplicate, 2 points, because it has one event twice.",
        ),
        (
            replace(TWICE_IN_B, verdict=Verdict.B),
            "one is charged with a missed recurrence, 0.5 points,",
        ),
        (replace(TIMING, verdict=Verdict.NEITHER), "No source is charged"),
    ],
)
def test_a_charge_names_source_error_weight_and_why(finding, sentence):
    assert charge_sentence(finding, "one", "two").startswith(sentence)


@pytest.mark.parametrize(
    "finding", legal_findings(), ids=lambda f: f"{f.type}-{f.verdict}-{f.polarity}"
)
def test_every_legal_finding_has_words_and_swapping_the_labels_charges_the_same_source(finding):
    swapped = swap_labels(finding)
    assert charge_sentence(finding, "one", "two") == charge_sentence(swapped, "two", "one")
    assert verdict_sentence(finding)
    assert TYPE_WORDS[finding.type]
    decisive = charge(finding) is not None
    assert charge_sentence(finding, "one", "two").startswith("No source") != decisive


def test_flags_sizes_and_weights():
    assert flag_sentence(TIMING) == ""
    assert "count as equal" in flag_sentence(replace(TIMING, flagged=True))
    assert [size_words(*t) for t in ((None, 3), (3, 3), (1, 7), (-72, 72))] == [
        "",
        "same hour",
        "6 h",
        "6 d",
    ]
    assert [weight_words(c) for c in (Category.OVER_ANNOTATION, Category.MISSED_POSITIVE)] == [
        "3 points",
        "1 point",
    ]
    assert set(CATEGORY_WORDS) == set(Category)
