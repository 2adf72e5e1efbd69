"""Sections, sentences and lines of the shared text analysis."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timelines.backbones.rules.sections.headings import find_sections, kind_of_title
from timelines.backbones.rules.sentences import unwrap_lines
from timelines.backbones.rules.text import analyse


def kinds(note: str) -> list[tuple[str, str]]:
    return [(s.kind, s.title) for s in find_sections(note)]


def sentences(note: str) -> list[str]:
    return [note[s.start : s.end] for s in analyse(note).sentences]


@pytest.mark.parametrize(
    ("title", "kind"),
    [
        ("History of Present Illness", "hpi"),
        ("PMH", "pmh"),
        ("Past Medical/Surgical History", "pmh"),
        ("Social/Family History", "social_family"),
        ("Medications on Admission", "medications_admission"),
        ("DISCHARGE MEDICATIONS", "medications_discharge"),
        ("Physical Exam", "exam"),
        ("Pertinent Results", "results"),
        ("Brief Hospital Course", "hospital_course"),
        ("Discharge Disposition", "disposition"),
        ("Discharge Condition", "discharge_condition"),
        ("Followup Instructions", "followup"),
        ("Transitional Issues", "transitional"),
        ("DX", "discharge_diagnosis"),
        ("Final Dx", "discharge_diagnosis"),
        ("Admit Dx", "admission_diagnosis"),
        ("RECS", "instructions"),
        ("Hosp Crs", "hospital_course"),
        ("D/C'd to", "disposition"),
        ("PTA meds", "medications_admission"),
        ("Gardening", None),
    ],
)
def test_titles(title: str, kind: str | None) -> None:
    assert kind_of_title(title) == kind


def test_sections_of_a_templated_note() -> None:
    note = (
        "Name: ___   Sex: F\nService: SURGERY\n\nAllergies: none\nHPI:\nFell.\n\nPhysical Exam:\nADMISSION: pale\nDISCHARGE: well\n"
        "Pertinent Results:\nADM: K-3.1\nDISCH: K-4.0\nCT head: normal\n\nHospital Course:\n# Fall / syncope: seen by PT.\nNEURO: intact\n"
    )
    assert kinds(note) == [
        ("header", ""),
        ("allergies", "Allergies"),
        ("hpi", "HPI"),
        ("exam", "Physical Exam"),
        ("exam_admission", "ADMISSION"),
        ("exam_discharge", "DISCHARGE"),
        ("results", "Pertinent Results"),
        ("results_admission", "ADM"),
        ("results_discharge", "DISCH"),
        ("results", ""),
        ("hospital_course", "Hospital Course"),
        ("hospital_course", "Fall / syncope"),
        ("hospital_course", "NEURO"),
    ]


def test_sections_of_a_flattened_note() -> None:
    note = "HISTORY:, A fall at home.,DISCHARGE MEDICATIONS:,1.  Aspirin.,CONDITION ON DISCHARGE: , Stable."
    assert [kind for kind, _ in kinds(note)] == [
        "hpi",
        "medications_discharge",
        "discharge_condition",
    ]


def test_a_narrative_without_headings_is_one_section() -> None:
    assert kinds("A 50 year old man fell. He was admitted.") == [("other", "")]


def test_prose_that_resembles_a_title_opens_no_section() -> None:
    assert kinds("HPI:\nHer diet was poor and the plan: unclear to her.\n") == [("hpi", "HPI")]


def test_section_at_finds_the_section_of_an_offset() -> None:
    note = "HPI:\nFell.\nPMH:\nGout."
    analysis = analyse(note)
    assert analysis.section_at(note.index("Fell")).kind == "hpi"
    assert analysis.section_at(note.index("Gout")).kind == "pmh"
    assert analyse("").section_at(0).kind == "other"


def test_sentences_respect_abbreviations_decimals_and_organisms() -> None:
    note = "Seen by Dr. Ho at 4 p.m. by phone. K 3.1 then 4.0. Grew E. coli. pulm HTN. Home."
    assert sentences(note) == [
        "Seen by Dr. Ho at 4 p.m. by phone.",
        "K 3.1 then 4.0.",
        "Grew E. coli.",
        "pulm HTN.",
        "Home.",
    ]


def test_list_items_are_sentences_and_keep_their_numbers() -> None:
    assert sentences("MEDS:\n1. Aspirin 81 mg\n2. Senna\n- Colace\n") == [
        "MEDS:",
        "1. Aspirin 81 mg",
        "2. Senna",
        "- Colace",
    ]


def test_a_hard_wrapped_paragraph_is_not_cut_at_its_line_breaks() -> None:
    words = "the patient was seen in the clinic by a nurse who found her pale and"
    note = "\n".join([words] * 6) + " tired."
    assert len(sentences(note)) == 1


def test_a_line_break_is_kept_if_the_next_word_had_room() -> None:
    words = "the patient was seen in the clinic by a nurse who found her pale and"
    wrapped = f"{words}\n" * 5
    note = f"{wrapped}weak.\nHome\n- {words}\n- {words}\n\n{words}"
    plain = unwrap_lines(note)
    assert len(plain) == len(note)
    assert plain == f"{words} " * 5 + f"weak.\nHome\n- {words}\n- {words}\n\n{words}"
    assert unwrap_lines(f"{note}\n{'long ' * 30}") == f"{note}\n{'long ' * 30}"


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=400))
def test_sections_partition_any_text_and_the_parse_keeps_it(note: str) -> None:
    analysis = analyse(note)
    assert analysis.doc.text == analysis.text
    assert len(analysis.text) == len(note)
    edges = [(s.start, s.end) for s in analysis.sections]
    assert "".join(note[a:b] for a, b in edges) == note
    assert all(s.start <= s.body_start <= s.end for s in analysis.sections)
    assert all(
        a.end <= b.start for a, b in zip(analysis.sentences, analysis.sentences[1:], strict=False)
    )
    assert all("\n" not in note[line.start : line.end] for line in analysis.lines)
