"""The rules tagger on short notes of our own.

Spans, mentions, polarity, lanes, and what it must never do.
"""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from timelines.backbones.rules.tagging.tagger import RuleTagger
from timelines.domain import Lane, Polarity, TaggedSpan

TAGGER = RuleTagger()


def spans(note: str) -> list[str]:
    return [note[s.start : s.end] for s in TAGGER.tag(note)]


def mentions(note: str) -> list[str]:
    return [s.mention for s in TAGGER.tag(note)]


def one(note: str, text: str) -> TaggedSpan:
    """The only occurrence of `note` whose span reads `text`."""
    (found,) = (s for s in TAGGER.tag(note) if note[s.start : s.end] == text)
    return found


def test_a_row_of_lab_values_gives_one_occurrence_a_value() -> None:
    assert spans("LABS:\nWBC-11.0* Hgb-7.9* Na-129* K-5.6*") == [
        "WBC-11.0*",
        "Hgb-7.9*",
        "Na-129*",
        "K-5.6*",
    ]


def test_values_joined_by_an_arrow_are_each_an_occurrence_and_keep_their_name() -> None:
    note = "HOSPITAL COURSE:\nTroponin 0.05 -> 0.41 -> 0.22."
    assert spans(note) == ["Troponin 0.05", "0.41", "0.22"]
    assert mentions(note) == ["troponin 0.05", "troponin 0.41", "troponin 0.22"]


def test_a_row_of_values_carries_the_time_that_heads_it() -> None:
    assert mentions("LABS:\nHD6       Cr-1.9* BUN-40*") == [
        "creatinine 1.9, HD6",
        "blood urea nitrogen 40, HD6",
    ]


def test_nested_spans_of_drugs_that_share_an_act() -> None:
    note = "HOSPITAL COURSE:\nAzithromycin and ceftriaxone were stopped on HD 4."
    first, second = TAGGER.tag(note)
    assert first.start < second.start < first.end
    assert first.mention == "azithromycin stopped"
    assert second.mention.startswith("ceftriaxone were stopped")


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("No cough.", "No cough"),
        ("He denied hematuria.", "denied hematuria"),
        ("The abdomen was soft without guarding.", "without guarding"),
        ("Urine culture negative.", "Urine culture negative"),
        ("He was never intubated.", "never intubated"),
    ],
)
def test_what_is_denied_is_absent(text: str, span: str) -> None:
    note = f"HOSPITAL COURSE:\n{text}"
    (found,) = (s for s in TAGGER.tag(note) if span in note[s.start : s.end])
    assert found.polarity is Polarity.ABSENT


@pytest.mark.parametrize(
    ("note", "span", "polarity"),
    [
        ("PLAN:\nEndoscopy this afternoon.", "Endoscopy", Polarity.PLANNED),
        ("COURSE:\nMelena again. Plan: endoscopy, transfusion.", "endoscopy", Polarity.PLANNED),
        ("COURSE:\nMelena again. Plan: endoscopy, transfusion.", "transfusion", Polarity.PLANNED),
        ("COURSE:\nMelena again. Plan: endoscopy.", "Melena", Polarity.PRESENT),
        ("PLAN:\nEndoscopy was done at noon.", "Endoscopy", Polarity.PRESENT),
        ("PLAN:\nNo further transfusion.", "transfusion", Polarity.ABSENT),
        ("COURSE:\nShe is scheduled for endoscopy.", "endoscopy", Polarity.PLANNED),
        ("COURSE:\nHemodialysis is to be started.", "Hemodialysis", Polarity.PLANNED),
        ("COURSE:\nShe was found to be septic.", "septic", Polarity.PRESENT),
        ("TRANSITIONAL ISSUES:\nRepeat CT chest in May.", "CT chest", Polarity.PLANNED),
        ("ASSESSMENT AND PLAN:\nSeptic shock.", "Septic shock", Polarity.PRESENT),
    ],
)
def test_what_follows_a_plan_or_says_so_is_planned(
    note: str, span: str, polarity: Polarity
) -> None:
    (found,) = (s for s in TAGGER.tag(note) if span in note[s.start : s.end])
    assert found.polarity is polarity


def test_a_negation_reaches_through_its_list_and_no_further() -> None:
    note = "HPI:\nNo nausea, vomiting or diarrhea, and he was started on levofloxacin."
    by_text = {note[s.start : s.end]: s for s in TAGGER.tag(note)}
    assert by_text["vomiting"].polarity is Polarity.ABSENT
    assert by_text["vomiting"].mention == "no vomiting"
    assert by_text["diarrhea"].polarity is Polarity.ABSENT
    (started,) = (s for text, s in by_text.items() if "levofloxacin" in text)
    assert started.polarity is Polarity.PRESENT


def test_gram_negative_denies_nothing() -> None:
    note = "HOSPITAL COURSE:\nGram negative rods in the blood culture."
    assert all(s.polarity is Polarity.PRESENT for s in TAGGER.tag(note))


@pytest.mark.parametrize(
    ("note", "text", "lane"),
    [
        ("LABS:\nK-5.6*", "K-5.6*", Lane.LAB),
        ("PMH:\ncirrhosis", "cirrhosis", Lane.HISTORY),
        (
            "HOSPITAL COURSE:\nFurosemide 40 mg IV given.",
            "Furosemide 40 mg IV given",
            Lane.MEDICATION,
        ),
        ("HOSPITAL COURSE:\nBronchoscopy on HD 3.", "Bronchoscopy on HD 3", Lane.PROCEDURE),
        (
            "HOSPITAL COURSE:\nTransferred to the floor on HD 3.",
            "Transferred to the floor on HD 3",
            Lane.TRANSFER,
        ),
        ("FOLLOW UP:\nNephrology in 2 weeks", "Nephrology in 2 weeks", Lane.PLAN),
        ("HOSPITAL COURSE:\nHypotension overnight.", "Hypotension overnight", Lane.FINDING),
        ("DISCHARGE:\nHis blood pressure was 134/76.", "blood pressure was 134/76", Lane.FINDING),
        ("DISCHARGE:\nDischarged to rehab.", "Discharged to rehab", Lane.TRANSFER),
    ],
)
def test_lanes(note: str, text: str, lane: Lane) -> None:
    assert one(note, text).lane is lane


def test_age_and_sex_are_two_occurrences_unless_written_as_one_word() -> None:
    assert spans("HPI:\nA 66 year old woman with a stroke.")[:2] == ["66 year old", "woman"]
    assert spans("HPI:\n66F with a stroke.")[:1] == ["66F"]


def test_the_sex_of_the_head_counts_only_where_the_text_gives_none() -> None:
    assert "Sex: M" in spans("Name: ___   Sex: M\n\nHPI: Found down at home.")
    assert "Sex: M" not in spans("Name: ___   Sex: M\n\nHPI: 50 year old man found down.")


def test_the_administrative_head_has_no_occurrence() -> None:
    assert spans("Name: ___\nAdmission Date: ___\nService: MEDICINE\n") == []


def test_a_problem_heading_is_an_occurrence_and_a_topic_is_none() -> None:
    note = "BRIEF HOSPITAL COURSE:\n# Pancreatitis: NPO.\n# Access: PICC placed."
    assert one(note, "Pancreatitis").mention == "pancreatitis (problem)"
    assert "Access" not in spans(note)


def test_elliptical_acts_name_their_treatment() -> None:
    note = "HOSPITAL COURSE:\nPropofol off HD 2, restarted at noon."
    assert mentions(note)[1] == "propofol restarted at noon"


def test_advice_on_what_may_happen_is_no_occurrence() -> None:
    assert (
        spans(
            "DISCHARGE INSTRUCTIONS:\nReturn for chest pain or fever. You should call if you bleed."
        )
        == []
    )


def test_offsets_are_code_points_of_the_note_as_stored() -> None:
    note = "HPI:\r\n😀😀 No fe\u0301ver?\r\n\tChest pain <b>today</b>.\r\n"
    for span in TAGGER.tag(note):
        assert 0 <= span.start < span.end <= len(note)
    assert any("Chest pain" in text for text in spans(note))


def test_a_note_gives_the_same_occurrences_every_time() -> None:
    note = "HPI:\n66F with sepsis; lactate 4.4, given 2 L of saline.\n"
    assert TAGGER.tag(note) == RuleTagger().tag(note)


@pytest.mark.parametrize(
    "note",
    ["", " ", "\n\n", "...", "#", "# \n#:", "___", "((((", "\u202e\u0645\u0631\u062d\u0628\u0627"],
)
def test_notes_without_content_have_no_occurrence_or_a_valid_one(note: str) -> None:
    for span in TAGGER.tag(note):
        assert note[span.start : span.end].strip()


PIECES = st.sampled_from(
    [
        "fever",
        "no cough",
        "K-5.1*",
        "WBC 12.0 -> 9.1",
        "s/p CABG",
        "heparin gtt held",
        "HD#2",
        "1. aspirin 81 mg",
        "# Sepsis:",
        "HPI:",
        "DISCHARGE MEDICATIONS:",
        "<b>",
        "</b>",
        "&amp;",
        "😀",
        "e\u0301",
        "\u202eשלום",
        "\t",
        "\r\n",
        "\n",
        ". ",
        ", ",
        " and ",
        "w/ ",
        "(",
        ")",
        "|",
    ]
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.one_of(
        st.text(max_size=300),
        st.lists(PIECES, max_size=40).map(" ".join),
        st.lists(PIECES, max_size=40).map("".join),
    )
)
def test_any_text_is_tagged_inside_its_bounds_and_in_order(note: str) -> None:
    found = TAGGER.tag(note)
    assert all(0 <= s.start < s.end <= len(note) and s.mention.strip() for s in found)
    assert [s.start for s in found] == sorted(s.start for s in found)
    assert len({(s.start, s.end) for s in found}) == len(found)


@settings(max_examples=25, deadline=None)
@given(st.text(alphabet="\n\t 😀<b>&|\u05d0", min_size=1, max_size=20))
def test_text_put_before_a_note_moves_its_occurrences_by_its_length(lead: str) -> None:
    note = "\n\nHOSPITAL COURSE:\nLactate 3.3. Ceftriaxone was started.\n"
    wanted = {(s.start + len(lead), s.end + len(lead)) for s in TAGGER.tag(note)}
    assert wanted <= {(s.start, s.end) for s in TAGGER.tag(lead + note)}


def test_a_long_note_takes_under_two_seconds() -> None:
    line = "On HD 3 the creatinine was 2.1, furosemide 40 mg IV was given, and she denied dyspnea or chest pain.\n"
    note = "HOSPITAL COURSE:\n" + line * 70
    TAGGER.tag("Warm up.")
    begin = time.process_time()
    found = TAGGER.tag(note)
    assert len(found) >= 4 * 70
    assert time.process_time() - begin < 2.0


@pytest.mark.parametrize(
    ("head", "found"),
    [
        ("Patient: ___   Age/Sex: 71 M   Ward: 4B", ["Age/Sex: 71 M"]),
        ("DISCHARGE SUMMARY\nPt ___ (71 y.o. male), Dr. ___", ["71 y.o.", "male"]),
    ],
)
def test_age_and_sex_in_the_head(head: str, found: list[str]) -> None:
    note = f"{head}\n\nHPI:\n71 y.o. male with chest pain.\n"
    spans = [note[s.start : s.end] for s in RuleTagger().tag(note)]
    assert spans == [*found, "chest pain"]


def test_a_clock_time_in_a_problem_line_is_no_part_of_its_heading() -> None:
    note = "HOSPITAL COURSE:\n#2 Lytes. Potassium 2.8 on arrival (KCl 40 at 04:00).\n"
    spans = [note[s.start : s.end] for s in RuleTagger().tag(note)]
    assert spans == ["Potassium 2.8 on arrival", "KCl 40 at 04:00"]


def test_only_the_body_of_a_letter_has_occurrences() -> None:
    note = (
        "Dr. A. Low\n12 Mill Road\nRE: Mr. B. High\n\nDear Dr. Low,\n\nThank you for your referral."
        " Gout since 2170. Please call me with questions.\n\nYours sincerely,\nC. Even, MD\n"
    )
    assert [note[s.start : s.end] for s in RuleTagger().tag(note)] == ["Gout since 2170"]


def test_a_title_in_capitals_has_no_occurrence() -> None:
    note = "COURSE:\nStable.\n\nDRAINS AND WEIGHTS\nDrain out on HD 3.\n"
    assert "DRAINS AND WEIGHTS" not in [note[s.start : s.end] for s in RuleTagger().tag(note)]


def test_arrival_and_departure_in_the_head() -> None:
    note = (
        "SUMMARY OF STAY\nArrived: 3 May 2180 14:05 by ambulance   Discharged: 9 May 2180 11:30\n"
        "Admission date: 3 May 2180\n\nHPI:\nFever.\n"
    )
    assert [note[s.start : s.end] for s in RuleTagger().tag(note)] == [
        "Arrived: 3 May 2180 14:05 by ambulance",
        "Discharged: 9 May 2180 11:30",
        "Fever",
    ]


@pytest.mark.parametrize(
    ("head", "spans_of_head"),
    [
        ("Admission date: 1 March 2150\nDischarge date: 5 March 2150", []),
        ("Admitted: 1 March 2150 14:05", ["Admitted: 1 March 2150 14:05"]),
    ],
)
def test_the_fields_of_a_head_are_none_without_an_hour(head: str, spans_of_head: list[str]) -> None:
    note = (
        f"DISCHARGE SUMMARY\n\nName: ___\n\n{head}\n\n"
        "HISTORY OF PRESENT ILLNESS:\nShe presented after two days of black stools. She was given"
        " pantoprazole. Her hemoglobin was 8.4, and she was admitted to the ward.\n"
    )
    end = note.index("HISTORY")
    assert [note[s.start : s.end] for s in TAGGER.tag(note) if s.start < end] == spans_of_head
