"""Sections of notes whose headings are missing or not known."""

from __future__ import annotations

import csv
import gzip
import time

import pytest

from tests.marks import deep
from tests.paths import DATA
from timelines.backbones.rules.sections.learn import learn
from timelines.backbones.rules.sections.structure import read_sections
from timelines.backbones.rules.tagging.tagger import RuleTagger
from timelines.backbones.rules.text import language

#: Characters, for which the rules have a second.
PAGE = 3000

STORY = (
    "A 61-year-old woman with hypertension presented to the emergency department with two days of"
    " fever, chills and flank pain. She had vomited twice and was brought in by her daughter."
)
HISTORY = (
    "- Hypertension\n- Type 2 diabetes on insulin\n- COPD\n- Coronary artery disease s/p stent 3"
    " years ago\n- Hysterectomy 12 years ago"
)
HOME = "Lisinopril 10 mg daily, metformin 500 mg twice daily, aspirin 81 mg daily at home."
EXAM = (
    "T 38.9, HR 112, BP 96/54, RR 22, SpO2 95% on room air. Alert, in mild distress. Lungs clear."
    " Abdomen soft, left flank tender. No edema."
)
COURSE = (
    "She was admitted to the medical floor and started on ceftriaxone. Blood cultures grew E. coli"
    " on hospital day 2 and antibiotics were narrowed. Her creatinine peaked at 1.9 and improved"
    " with fluids. She remained afebrile after hospital day 3 and was weaned off fluids."
)
LEAVING = (
    "Discharge to home. Follow up with your primary care physician in one week. Please call if you"
    " have fever. Take all medications as directed."
)


def kinds(note: str) -> list[str]:
    return [s.kind for s in read_sections(note)]


def test_paragraphs_without_headings() -> None:
    note = "\n\n".join([STORY, HISTORY, EXAM, COURSE, LEAVING])
    assert kinds(note) == ["hpi", "pmh", "exam", "hospital_course", "instructions"]


def test_an_examination_after_the_course_is_that_at_discharge() -> None:
    note = "\n\n".join([STORY, EXAM, COURSE, EXAM.replace("38.9", "36.8"), LEAVING])
    assert kinds(note) == ["hpi", "exam", "hospital_course", "exam_discharge", "instructions"]


@pytest.mark.parametrize(
    ("heading", "body", "kind"),
    [
        ("WHAT BROUGHT HER IN", STORY, "hpi"),
        ("OTHER ILLNESSES:", HISTORY, "pmh"),
        ("What we found:", EXAM, "exam"),
        ("PROGRESS ON THE WARD:", COURSE, "hospital_course"),
    ],
)
def test_a_heading_that_is_not_known_opens_a_section(heading: str, body: str, kind: str) -> None:
    note = f"Allergies: penicillin\n\n{heading}\n{body}\n\nDischarge Instructions: {LEAVING}\n"
    sections = read_sections(note)
    assert [s.kind for s in sections] == ["allergies", kind, "instructions"]
    assert sections[1].title.rstrip(":") == heading.rstrip(":")
    assert note[sections[1].body_start :].lstrip().startswith(body[:20])


def test_a_known_heading_decides_against_the_words() -> None:
    note = f"Hospital Course:\n{STORY}\n\nDischarge Instructions:\n{EXAM}\n{COURSE}\n"
    assert kinds(note) == ["hospital_course", "instructions"]


def test_systems_below_a_course_without_heading_are_its_parts() -> None:
    note = (
        "\n\n".join([STORY, COURSE])
        + "\n\nNEURO: sedated overnight, woke on HD2.\nCV: off pressors"
        " on HD2, heart rate controlled.\nRESP: extubated to nasal cannula on HD3.\n"
    )
    assert kinds(note) == ["hpi", "hospital_course"] + ["hospital_course"] * 3


def test_learning_separates_kinds_by_their_words() -> None:
    notes = [
        f"Allergies: sulfa drug {n}\nHospital Course: she was treated for {n} days and improved\n"
        for n in range(30)
    ]
    model = learn(notes)
    weights = model["weights"]
    assert isinstance(weights, dict)
    assert model["kinds"] == ["allergies", "hospital_course"]
    assert weights["sulfa"][0] > 0 > weights["sulfa"][1]
    follows = model["follows"]
    assert isinstance(follows, list)
    # A note begins with allergies, and the course follows them.
    assert follows[-1][0] > follows[-1][1]
    assert follows[0][1] > follows[0][0]


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, *deep(*range(1, 12))])
def test_transcribed_summaries_are_tagged_within_a_second_a_page(part: int) -> None:
    path = DATA / "transcriptions" / "discharge_summaries.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        notes = [row["transcription"] for row in csv.DictReader(file)][part::12]
    assert len(notes) == 9
    language()
    began = time.process_time()
    for note in notes:
        sections = read_sections(note)
        assert [s.start for s in sections] == [0, *(s.end for s in sections[:-1])]
        assert sections[-1].end == len(note)
        assert all(0 <= s.start < s.end <= len(note) for s in RuleTagger().tag(note))
    assert time.process_time() - began < sum(max(1.0, len(note) / PAGE) for note in notes)


@pytest.mark.parametrize(
    ("line", "kind", "body"),
    [
        ("COURSE. On arrival she was short of breath.", "hospital_course", "On arrival"),
        ("Assessment - what we did here", "hospital_course", ""),
        ("HPI {copied forward from the admission note}", "hpi", ""),
        ("REASON FOR ADMISSION << from triage >>", "chief_complaint", ""),
        ("TO DO @ the nursing home:", "transitional", ""),
        ("WARD ADDENDUM, 5 May", "hospital_course", ""),
    ],
)
def test_forms_of_a_known_heading(line: str, kind: str, body: str) -> None:
    note = f"Allergies: none\n\n{line}\nHer sodium was 131 and she was given salt."
    sections = read_sections(note)
    assert [s.kind for s in sections] == ["allergies", kind]
    assert note[sections[1].body_start :].lstrip().startswith(body or "Her sodium")


@pytest.mark.parametrize(
    "line",
    ["Assessment - sodium was 131.", "Events. None.", "Course - 3 units given, 2 more planned"],
)
def test_a_sentence_that_begins_with_a_title_word_is_no_heading(line: str) -> None:
    assert len(read_sections(f"Allergies: none\n\n{line}\n")) == 1


def test_systems_in_capitals_with_a_full_stop() -> None:
    note = "Hospital Course:\n\nCIRCULATION / RHYTHM. Off pressors on HD2.\n\nINFECTIONS. Cultures grew nothing.\n"
    assert [s.title for s in read_sections(note)][1:] == ["CIRCULATION / RHYTHM", "INFECTIONS"]
