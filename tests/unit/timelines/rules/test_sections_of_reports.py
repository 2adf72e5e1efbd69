"""Published reports: what is about their patient, and what is not."""

from __future__ import annotations

import pytest

from timelines.backbones.rules.sections.literature import (
    LITERATURE,
    is_literature,
    read_report,
    speaks_of_case,
)
from timelines.backbones.rules.sections.structure import read_sections
from timelines.backbones.rules.tagging.tagger import RuleTagger

CASE = (
    "A 44-year-old man came to the emergency department with two days of fever and a swollen knee. "
    "Blood cultures were drawn and vancomycin was started. The knee was washed out on day 2. "
    "He was discharged home on day 9 and was well at 3-month follow-up."
)
REPORT = f"""Septic arthritis after acupuncture
A. Author, B. Author

Abstract
Septic arthritis is rare [1]. A man had fever and a swollen knee after acupuncture.

{{n}}Introduction
Joint infection carries a mortality of 10% [1,2]. Many patients have diabetes.

{{n}}{{case}}
{CASE}

{{n}}Discussion
In a series by Smith et al., 12 of 40 patients needed amputation [3]. A woman died of sepsis [4].
In our patient, vancomycin was continued for six weeks.

References
1. Smith. J Bone 2101. 2. Jones. Lancet 2103.
"""


@pytest.mark.parametrize(
    "case", ["Case report", "CASE PRESENTATION", "The case", "Case description"]
)
@pytest.mark.parametrize("number", ["", "2. "])
def test_only_the_case_is_read(case: str, number: str) -> None:
    note = REPORT.format(case=case, n=number)
    sections = read_sections(note)
    own = [s for s in sections if s.kind != LITERATURE]
    assert note[own[0].start : own[-1].end].startswith(number + case)
    assert note[own[0].body_start : own[-1].end].strip() == CASE
    quoted = [note[s.start : s.end] for s in RuleTagger().tag(note)]
    assert any("swollen knee" in q for q in quoted)
    assert sum("fever" in q for q in quoted) == 1
    assert not any("amputation" in q or "sepsis" in q or "mortality" in q for q in quoted)
    assert any("vancomycin was continued" in q or "continued" in q for q in quoted)


def test_a_discharge_summary_is_no_report() -> None:
    note = f"Background: diabetes.\n\nHospital Course:\n{CASE}\n\nDiscussion: stable.\n"
    assert read_report(note) is None
    assert all(s.kind != LITERATURE for s in read_sections(note))


def test_a_general_passage_without_heading() -> None:
    assert is_literature("Such infections have been reported after acupuncture [5]. They are rare.")
    assert not is_literature("She had a fever. Her cultures grew S. aureus [panel 2].")
    assert not is_literature(CASE)


def test_a_sentence_of_the_discussion_about_the_case() -> None:
    assert speaks_of_case("In our patient the drug was stopped on day 3.", "Discussion")
    assert not speaks_of_case("In our patient the drug was stopped on day 3.", "Abstract")
    assert not speaks_of_case("Two of nine patients died.", "Discussion")
