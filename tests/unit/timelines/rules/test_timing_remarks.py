"""Sentences of a story that do not belong to its order."""

from __future__ import annotations

import pytest

from tests.unit.timelines.rules.test_timing_timer import time_mentions
from timelines.backbones.rules.timing.remarks import is_family, spans_stay

STORY = "HOSPITAL COURSE:\nShe was extubated at noon on HD3. {remark} That evening she walked.\n"


@pytest.mark.parametrize(
    ("remark", "mention", "hours"),
    [
        ("She has had gout for about twelve years and takes allopurinol.", "gout", -105120),
        ("There is no asthma. She never smoked.", "asthma", 0),
        ("Her only operation was a hernia repair in 2140.", "hernia repair", -84774),
        ("Sulfa gave her a rash as a child.", "rash", None),
        ("Her mother died of a stroke at 70.", "stroke", 0),
        ("She lives with her niece and drinks two beers a week.", "drinks two beers", 0),
    ],
)
def test_history_and_family_do_not_move_the_story(
    remark: str, mention: str, hours: float | None
) -> None:
    found = time_mentions(STORY.format(remark=remark), "extubated", mention, "walked")
    if hours is not None:
        assert found[mention].time == pytest.approx(hours, rel=0.05)
    assert (found[mention].time or 0.0) <= 0
    assert found["walked"].time == pytest.approx(45.5)


def test_what_is_said_of_the_discharge_is_at_discharge() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nHeparin was begun at noon on HD2. Discharged home on HD4 at noon. "
        "The metformin is stopped, and he should lift nothing for six weeks. He sees me in two weeks.\n",
        "Discharged",
        "metformin",
        "lift nothing",
        "sees me",
    )
    assert {e.time for e in found.values()} == {found["Discharged"].time}


@pytest.mark.parametrize(
    "clause",
    [
        "He never had a fever",
        "She was never intubated",
        "no arrhythmia during the hospital stay",
        "in sinus rhythm throughout",
        "at no time was he confused",
    ],
)
def test_the_whole_stay_is_at_admission(clause: str) -> None:
    assert spans_stay(clause, goes_on=False)
    found = time_mentions(
        f"HOSPITAL COURSE:\nExtubated at noon on HD3. {clause}. Discharged home at noon on HD5.\n",
        clause,
    )
    assert found[clause].time == found[clause].lower == 0
    assert (found[clause].upper or 0) >= 86


@pytest.mark.parametrize(
    "clause", ["never given", "a midline was never placed", "never febrile after that", "no fever"]
)
def test_part_of_the_stay_or_a_decision_is_not_the_whole_stay(clause: str) -> None:
    assert not spans_stay(clause, goes_on=False)


@pytest.mark.parametrize(
    ("sentence", "family"),
    [
        ("Her father died of lung cancer.", True),
        ("A brother has epilepsy.", True),
        ("There is no bleeding disorder in the family.", True),
        ("Her daughter found her on the floor.", False),
        ("A meeting with the family was had.", False),
        ("His brother was updated.", False),
    ],
)
def test_relatives_are_ill_or_take_part(sentence: str, family: bool) -> None:
    assert is_family(sentence) is family


def test_a_plan_stands_at_the_hour_it_was_made() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nHeparin was begun at noon on HD2. A scan was to be repeated in two months. "
        "In two days he was walking.\n",
        "Heparin",
        "scan",
        "walking",
    )
    assert found["scan"].time == pytest.approx(14, abs=0.5)
    assert (found["scan"].upper or 0) > 1400
    assert found["walking"].time == pytest.approx(62, abs=1)


def test_follow_up_counts_from_discharge() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nDischarged home on HD4 at noon. At 6-month follow-up she was walking.\n",
        "Discharged",
        "walking",
    )
    assert found["walking"].time == pytest.approx((found["Discharged"].time or 0) + 4320, abs=24)


def test_how_long_a_complaint_lasted_is_not_when_the_patient_came() -> None:
    found = time_mentions(
        "HISTORY OF PRESENT ILLNESS:\nA 50 year old man was brought to the emergency department with three days "
        "of cough. No chest pain.\n",
        "cough",
        "No chest pain",
    )
    assert found["cough"].time == pytest.approx(-72)
    assert -6 <= (found["No chest pain"].time or 0) <= 0


@pytest.mark.parametrize("heading", ["REASON FOR ADMISSION", "BACKGROUND"])
def test_a_story_under_another_heading_is_read_as_one(heading: str) -> None:
    found = time_mentions(
        f"{heading}:\nHe had been well. Three days before admission he developed a cough. He became confused. "
        "He was brought in by ambulance. Gout for ten years.\n",
        "cough",
        "confused",
        "Gout",
    )
    assert found["cough"].time == found["confused"].lower or found["confused"].time == (
        pytest.approx(-72, abs=3)
    )
    assert found["Gout"].time == pytest.approx(-87600)


def test_the_end_of_a_course_of_treatment_does_not_move_the_story() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nOn 3/6/2150 cefazolin was given thru 3/12/2150. She walked.\n",
        "cefazolin",
        "walked",
    )
    assert (found["walked"].time or 0) < 60


def test_lists_after_the_words_of_leaving_are_at_discharge() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nHeparin was begun at noon on HD2. Discharged home at noon on HD4 with her niece. "
        "Medicines: cefalexin 500 mg four times daily to 3/20/2150; lisinopril 5 mg. Chest film in six weeks.\n",
        "Discharged",
        "cefalexin",
        "lisinopril",
        "Chest film",
    )
    assert {e.time for e in found.values()} == {found["Discharged"].time}


def test_a_list_before_the_story_goes_on_is_part_of_it() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nDischarged home at noon on HD2. Aspirin 81 mg. She returned on HD4 at noon with fever.\n",
        "Aspirin",
        "fever",
    )
    assert found["Aspirin"].time == pytest.approx(14.2, abs=0.5)
    assert found["fever"].time == pytest.approx(62)


def test_a_present_discharge_with_an_earlier_day_in_it() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nShe was extubated at noon on HD3. She left at noon on HD5. She goes out on aspirin, and "
        "metoprolol, which was begun on the evening of HD2.\n",
        "left",
        "aspirin",
        "begun",
    )
    assert found["aspirin"].time == pytest.approx(found["left"].time or 0, abs=6)
    assert found["begun"].time == pytest.approx(21.5)


def test_bounds_are_wider_if_another_sentence_names_the_time() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nAt noon on HD3 she was extubated, then coughing. She ate. She sang.\n",
        "coughing",
        "sang",
    )
    near, far = found["coughing"], found["sang"]
    assert (near.upper or 0) - (near.lower or 0) + 15 < (far.upper or 0) - (far.lower or 0)
