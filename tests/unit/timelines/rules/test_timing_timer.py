"""The text timer on short notes and on arbitrary text.

Order, stations, references, repeats, discharge.
"""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timelines.backbones.rules.timing.timer import RuleTimer
from timelines.domain import Anchor, Entry, Inventory, Lane, Occurrence, TaggedNote, TimelineKind

#: Midnight that begins hospital day 2 is +2 h, hospital day 3 +26 h.
ANCHOR = Anchor(datetime(2150, 3, 4, 22, 0))


def note(text: str, *mentions: str) -> TaggedNote:
    """A note with one span for each mention, found in order."""
    occurrences, at = [], 0
    for i, mention in enumerate(mentions):
        at = text.index(mention, at)
        occurrences.append(Occurrence(f"{i:04x}", i, mention, at, at + len(mention)))
        at += len(mention)
    return TaggedNote(text, Inventory(tuple(occurrences)))


def time_mentions(
    text: str, *mentions: str, anchor: Anchor = ANCHOR, discharge: float | None = None
) -> dict[str, Entry]:
    tagged = note(text, *mentions)
    timeline = RuleTimer(margins={}).infer(tagged, anchor, discharge)
    assert timeline.kind is TimelineKind.TEXT_ONLY
    return {o.mention: timeline.by_uid[o.uid] for o in tagged.inventory}


def test_the_course_advances_and_shares_times() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nOn HD2 before dawn she was hypotensive and cultures were sent. By noon she was febrile. "
        "That evening the line was placed.\n",
        "hypotensive",
        "cultures",
        "febrile",
        "line",
    )
    assert found["hypotensive"].time == found["cultures"].time == pytest.approx(2 + 5)
    assert found["febrile"].time == pytest.approx(2 + 12)
    assert found["line"].time == pytest.approx(2 + 19.5)


def test_an_undated_clause_follows_the_one_before_and_leans_on_its_neighbours() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nIntubated at 0400 on HD2. Sedation was begun.\n", "Intubated", "Sedation"
    )
    assert found["Sedation"].time == pytest.approx(6.15)
    assert not found["Sedation"].known
    assert found["Sedation"].context == ("0000",)
    assert "Intubated" in found["Sedation"].reason


def test_a_reference_reaches_an_occurrence_told_later() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\n# Access: Arterial line placed two hours before the ERCP.\n# Biliary: ERCP at 1400 on HD3.\n# Renal: fine.\n",
        "Arterial line",
        "ERCP at",
    )
    assert found["Arterial line"].time == pytest.approx(26 + 12)
    assert found["Arterial line"].context[0] == "0001"
    assert not found["Arterial line"].known


def test_arrival_in_the_unit_is_taken_from_the_story() -> None:
    found = time_mentions(
        "HISTORY OF PRESENT ILLNESS:\n60F with asthma presented with dyspnea. She reached the MICU just after midnight.\n"
        "HOSPITAL COURSE:\n# Asthma: Nebulizers on arrival to the MICU.\n# Renal: fine.\n# Psych: fine.\n",
        "dyspnea",
        "MICU",
        "Nebulizers",
    )
    assert found["dyspnea"].time == pytest.approx(-2)
    assert found["MICU"].time == pytest.approx(2.4)
    assert found["Nebulizers"].time == pytest.approx(2.4)


def test_a_glance_back_does_not_move_the_story() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nAt noon on HD3 the weight was 77 kg as compared with 71 kg on admission. Lasix was given.\n",
        "77 kg",
        "71 kg",
        "Lasix",
    )
    assert found["77 kg"].time == pytest.approx(38)
    assert found["71 kg"].time == pytest.approx(0)
    assert found["Lasix"].time == pytest.approx(38.2, abs=0.1)


def test_a_parenthesis_dates_what_stands_before_it() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nAST peak 1500 (HD3), then the next morning a scan.\n",
        "AST peak 1500",
        "scan",
    )
    assert 26 <= (found["AST peak 1500"].time or 0) <= 50
    assert found["scan"].time == pytest.approx(50 + 8)


def test_a_list_takes_the_time_behind_it() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nVanc, cefepime and ampicillin stopped late on HD 4.\n",
        "Vanc",
        "cefepime",
        "ampicillin",
    )
    assert {e.time for e in found.values()} == {50 + 21}


def test_arrows_between_values_pass_time() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nPotassium 6.2 at 0400 on HD2 -> potassium 5.0 -> potassium 4.1.\n",
        "Potassium 6.2",
        "potassium 5.0",
        "potassium 4.1",
    )
    times = [found[m].time or 0.0 for m in ("Potassium 6.2", "potassium 5.0", "potassium 4.1")]
    assert times == pytest.approx([6, 11, 16])


def test_history_stands_at_zero_unless_dated() -> None:
    found = time_mentions(
        "PAST MEDICAL HISTORY:\nHTN, stroke 8 yrs ago, gout.\nSOCIAL HISTORY: lives alone\n",
        "HTN",
        "stroke",
        "gout",
        "lives alone",
    )
    assert [e.time for e in found.values()] == [0, -70080, 0, 0]
    assert found["stroke"].known
    assert not found["gout"].known


def test_complaint_and_procedure_lists_repeat_what_the_story_dates() -> None:
    found = time_mentions(
        "CHIEF COMPLAINT: arm swelling\nPROCEDURES: bronchoscopy\nHISTORY OF PRESENT ILLNESS:\n60F "
        "presents with 3 days of arm swelling today.\n"
        "HOSPITAL COURSE:\nBronchoscopy at noon on HD2.\n",
        "arm swelling",
        "bronchoscopy",
        "arm swelling today",
        "Bronchoscopy",
    )
    assert found["arm swelling"].time == pytest.approx(-72)
    assert found["bronchoscopy"].time == pytest.approx(14)
    assert found["bronchoscopy"].context[0] == "0003"


def test_discharge_from_an_explicit_day_reaches_medications() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nExtubated on HD2. He was discharged home on HD 4.\nDISCHARGE MEDICATIONS: "
        "aspirin 81\nFOLLOW UP: clinic in 2 weeks\n",
        "aspirin 81",
        "clinic",
    )
    assert found["aspirin 81"].time == pytest.approx(50 + 14.5)
    assert found["clinic"].time == pytest.approx(50 + 14.5)


def test_a_story_ends_with_the_hour_of_leaving() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nOn HD3 he walked.\nDISPOSITION:\nHe went home late that afternoon on aspirin.\n",
        "walked",
        "home",
        "aspirin",
    )
    assert found["home"].time == found["aspirin"].time == pytest.approx(26 + 17)


def test_labelled_result_lines() -> None:
    found = time_mentions(
        "LABS:\nADM: WBC-24.0\nHD4 AM     Hgb-9.0\nHOSPITAL COURSE:\nDischarged home on HD 5.\nDISCHARGE LABS: Na 135\n",
        "WBC-24.0",
        "Hgb-9.0",
        "Na 135",
    )
    assert found["WBC-24.0"].time == pytest.approx(-1)
    assert 50 <= (found["Hgb-9.0"].time or 0) <= 62
    assert found["Na 135"].time == pytest.approx(74 + 6)


def test_presentation_as_anchor_has_no_earlier_emergency_stay() -> None:
    found = time_mentions(
        "HISTORY OF PRESENT ILLNESS:\n60F with asthma presented with dyspnea.\n",
        "dyspnea",
        anchor=Anchor(ANCHOR.at, "presentation"),
    )
    assert found["dyspnea"].time == pytest.approx(0, abs=0.01)


EXAMINATION = (
    "HISTORY OF PRESENT ILLNESS:\nHe was brought in by ambulance with crushing chest pain that had"
    " begun two hours before. He took aspirin at home.\n\n"
    "{heading}Temperature 36.8, pulse 120, blood pressure 90/50, saturation 95% on room air."
    " General: pale, clammy. Lungs clear to auscultation bilaterally. Heart regular without murmur."
    " Abdomen soft, nontender. Extremities warm without edema.\n\n"
    "DISCHARGE MEDICATIONS:\n- bisoprolol 2.5 mg once daily\n"
)


@pytest.mark.parametrize(
    ("heading", "rule", "known"),
    [
        ("PHYSICAL EXAM ON ADMISSION:\n", "section", True),
        ("Status praesens:\n", "section", True),
        ("PHYSICAL EXAM:\n", "section", False),
        ("", "content", False),
    ],
)
def test_an_examination_is_stated_if_its_heading_names_the_station(
    heading: str, rule: str, known: bool
) -> None:
    text = EXAMINATION.format(heading=heading)
    found = time_mentions(text, "pale", "bisoprolol", discharge=90.0)
    examined, leaving = found["pale"], found["bisoprolol"]
    assert (examined.time, examined.decided_by, examined.known) == (-1.7, rule, known)
    assert (leaving.time, leaving.decided_by, leaving.known) == (90.0, "section", True)


def test_an_occurrence_without_a_span_is_not_available() -> None:
    tagged = TaggedNote(
        "HOSPITAL COURSE:\nFine.\n", Inventory((Occurrence("00aa", 0, "fever", None, None),))
    )
    (entry,) = RuleTimer(margins={}).infer(tagged, ANCHOR).entries
    assert entry.time is None
    assert not entry.known
    assert entry.reason


def test_the_same_note_gives_the_same_timeline() -> None:
    tagged = note(
        "HOSPITAL COURSE:\nIntubated at 0400 on HD2, extubated two days later.\n",
        "Intubated",
        "extubated",
    )
    assert RuleTimer(margins={}).infer(tagged, ANCHOR) == RuleTimer(margins={}).infer(
        tagged, ANCHOR
    )


_PIECES = st.sampled_from(
    [
        "HOSPITAL COURSE:\n",
        "# Sepsis: ",
        "HPI: ",
        "PMH:\n- ",
        "LABS:\nHD4 AM   ",
        "DISPOSITION: ",
        "Exam (MICU arrival): ",
        "\n",
        ". ",
        "; ",
        ", ",
        " (",
        ") ",
        " -> ",
        "58M w/ HTN p/w ",
        "HD#3 AM",
        "POD 2",
        "the next morning",
        "overnight",
        "two hours after intubation",
        "intubated",
        "3 days PTA",
        "since 0000",
        "in his 90s",
        "on 2/30",
        "9999-12-31",
        "before the operation",
        "laparotomy",
        "K 4.1",
        "within the hour",
        "<b>&amp;</b>",
        "é́",
        "😀",
        "\r\n",
        "\t",
        "مريض",
        "a few years ago",
    ]
)


@st.composite
def notes(draw: st.DrawFn) -> TaggedNote:
    text = draw(st.one_of(st.lists(_PIECES, max_size=25).map("".join), st.text(max_size=120)))
    spans: list[Occurrence] = []
    for i in range(draw(st.integers(0, 8)) if text else 0):
        start = draw(st.integers(0, len(text) - 1))
        end = draw(st.integers(start + 1, len(text)))
        mention = text[start:end].strip() or "x"
        spans.append(
            Occurrence(f"{i:04x}", i, mention, start, end, lane=draw(st.sampled_from(list(Lane))))
        )
    return TaggedNote(text, Inventory(tuple(spans)))


@settings(max_examples=150, deadline=None)
@given(
    notes(),
    st.datetimes(datetime(1900, 1, 2), datetime(2250, 1, 1)),
    st.sampled_from(["admission", "presentation"]),
)
def test_any_note_gives_a_complete_timeline_with_ordered_bounds(
    tagged: TaggedNote, at: datetime, kind: str
) -> None:
    timeline = RuleTimer(margins={}).infer(
        tagged, Anchor(at, "admission" if kind == "admission" else "presentation")
    )
    assert [e.uid for e in timeline] == list(tagged.inventory.uids)
    for entry in timeline:
        if entry.time is not None:
            assert entry.lower is None or entry.lower <= entry.time
            assert entry.upper is None or entry.time <= entry.upper
        assert entry.uid not in entry.context
        assert len(entry.context) <= 5
        assert entry.decided_by
        assert entry.reason


@pytest.mark.parametrize(
    ("sentence", "mention", "time"),
    [
        ("He presented with 3 days of chest pain.", "presented", -2.0),
        ("She was admitted with a two-week history of cough.", "admitted", 0.0),
    ],
)
def test_the_duration_of_a_complaint_does_not_move_the_coming_to_hospital(sentence, mention, time):
    note = f"HISTORY OF PRESENT ILLNESS\n\n{sentence}\n"
    start = note.index(mention)
    inventory = Inventory((Occurrence("0001", 0, mention, start, start + len(mention)),))
    (entry,) = RuleTimer(margins={}).infer(
        TaggedNote(note, inventory), Anchor(datetime(2150, 1, 1, 14, 0))
    )
    assert entry.time == time


def test_what_is_planned_for_a_later_day_is_planned_at_discharge() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nDrain placed 3/6, pulled 3/7.\nFOLLOW-UP:\nClinic visit 3/30.\nDISCHARGE CONDITION:\nAfebrile since 3/6.\n",
        "Drain",
        "Clinic visit",
        "Afebrile",
    )
    assert found["Clinic visit"].time == pytest.approx(62, abs=4)
    assert found["Afebrile"].time == pytest.approx(39, abs=12)


def test_a_date_at_the_head_of_a_line_is_that_of_the_procedure_behind_it() -> None:
    found = time_mentions(
        "PROCEDURES:\n3/5 - central line\n3/6 - head CT\n", "central line", "head CT"
    )
    assert found["central line"].lower == pytest.approx(2)
    assert found["head CT"].lower == pytest.approx(26)


def test_shares_and_doses_are_no_dates() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nSeen 3/5 and 3/6. Strength 3/5, pain 3/6, walking. 2/4 bottles grew.\n",
        "walking",
        "grew",
    )
    assert found["walking"].time == pytest.approx(found["grew"].time or 0, abs=1)


def test_a_day_in_brackets_does_not_date_the_procedure_behind_it() -> None:
    found = time_mentions(
        "PROCEDURES:\nBronchoscopy (HD 5), lobectomy, chest tube\nHOSPITAL COURSE:\nStable on HD 6.\n",
        "lobectomy",
        "chest tube",
        "Stable",
    )
    assert found["lobectomy"].time == found["chest tube"].time == pytest.approx(2, abs=1)


def test_a_given_discharge_is_the_hour_of_leaving() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nExtubated on HD2. He was discharged home on HD 4.\n"
        "DISCHARGE MEDICATIONS: furosemide\n",
        "Extubated",
        "discharged home",
        "furosemide",
        discharge=65.5,
    )
    assert found["furosemide"].time == found["furosemide"].upper == 65.5
    assert found["discharged home"].time == 65.5
    assert found["Extubated"].time == pytest.approx(15)


def test_a_given_discharge_is_not_read_again_from_the_disposition() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nExtubated on HD2.\nDISPOSITION: Morning bloods were fine. Lungs clear.\n",
        "Extubated",
        "Lungs clear",
        discharge=65.5,
    )
    assert found["Lungs clear"].time == 65.5


def test_nothing_of_the_stay_is_after_the_discharge() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nCultures were sent on HD2. Clear films followed on HD9. Afebrile.\n",
        "Cultures",
        "films",
        "Afebrile",
        discharge=48.0,
    )
    for entry in found.values():
        assert (entry.time or 0) <= 48
        assert (entry.upper or 0) <= 48


def test_a_plan_is_made_in_the_stay_and_a_later_visit_is_not() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nAt noon on HD3 chemotherapy in six weeks was discussed. She went home at "
        "noon on HD4. Two weeks later she walked unaided.\n",
        "chemotherapy",
        "went home",
        "walked",
        discharge=62.0,
    )
    assert found["chemotherapy"].time == pytest.approx(38, abs=0.5)
    assert found["went home"].time == pytest.approx(62)
    assert found["walked"].time == pytest.approx(62 + 336)


def test_a_small_step_back_does_not_move_to_the_next_day() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nOn HD2 at 0600 she woke. Lactate 3 was drawn at 10:05, a gas at 09:50, and "
        "cultures at 08:15. Fluids followed at 11:00. On HD3 she walked.\n",
        "woke",
        "Lactate 3",
        "gas",
        "cultures",
        "Fluids",
    )
    times = [entry.time for entry in found.values()]
    assert times == pytest.approx([8, 2 + 10 + 1 / 12, 2 + 9 + 5 / 6, 2 + 8.25, 2 + 11], abs=0.01)


def test_hours_without_half_of_the_day_suit_what_follows() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nOn the morning of HD2 he was calm. At four he had pain, relieved by half "
        "past eight. The film at eleven was clear. He was moved at 1:01 p.m. and walked at two.\n",
        "pain",
        "relieved",
        "film",
        "moved",
        "walked",
    )
    times = [entry.time for entry in found.values()]
    assert times == pytest.approx([2 + 4, 2 + 8.5, 2 + 11, 2 + 13 + 1 / 60, 2 + 14], abs=0.01)


def test_clock_times_stay_within_the_stay() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nHD1-2: febrile at 0810. Scan at 2200, walked at 0900, home at 1400.\n",
        "febrile",
        "Scan",
        "walked",
        "home",
        discharge=40.0,
    )
    times = [entry.time for entry in found.values()]
    assert times == pytest.approx([2 + 8 + 1 / 6, 2 + 22, 26 + 9, 26 + 14], abs=0.01)


def test_yesterday_counts_from_the_day_of_writing() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nTransfer note, written 7 March\nFilm at noon yesterday was clear. Her rate "
        "was 90 this morning. Tube feeds begin tomorrow at 0900.\n",
        "Film",
        "rate",
        "Tube feeds",
    )
    times = [entry.time for entry in found.values()]
    assert times == pytest.approx([26 + 12, 50 + 8, 74 + 9], abs=0.01)


def test_a_time_shortly_after_the_discharge_is_at_the_discharge() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nOn HD3 she improved. She went home at 1600 on HD3. She is to weigh herself "
        "every morning, with a visit within a week.\n",
        "improved",
        "went home",
        "weigh",
        "visit",
        discharge=41.0,
    )
    assert found["went home"].time == 41
    assert found["weigh"].time == pytest.approx(41, abs=0.5)
    assert found["visit"].time == pytest.approx(41, abs=0.5)


def test_postoperative_days_count_from_an_operation_dated_by_its_sentence() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nOn 3/6 he was sent down, then open reduction. On 3/8 he sat out. On POD 1 "
        "at noon he walked.\n",
        "sent down",
        "open reduction",
        "walked",
    )
    assert found["open reduction"].time == pytest.approx(26 + 12, abs=3)
    assert found["walked"].time == pytest.approx(50 + 12)


def test_a_time_at_the_beginning_of_a_line_may_go_back_to_an_earlier_day() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nOn HD2 at 1100 a drain was placed and at 1300 she sat up.\n"
        "Chills at 0300, a scan at 0900, fluids at 1000. On the evening of HD2 she walked.\n",
        "Chills",
        "scan",
        "fluids",
    )
    assert [e.time for e in found.values()] == pytest.approx([2 + 3, 2 + 9, 2 + 10], abs=0.01)


def test_an_hour_that_suits_two_days_is_in_doubt_until_a_day_is_named() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nOn HD2 at 1100 a drain was placed. Chills at 2300, then a scan an hour "
        "later. On HD5 at 0900 she walked.\n",
        "drain",
        "Chills",
        "scan",
        "walked",
    )
    drain, chills, scan, walked = found.values()
    assert (drain.known, walked.known) == (True, True)
    assert (chills.known, scan.known) == (False, False)
    assert "the order of the story allows" in chills.reason
    assert (chills.upper or 0.0) >= (chills.time or 0.0) + 23


def test_an_undated_finding_before_an_earlier_time_may_be_as_early() -> None:
    found = time_mentions(
        "HOSPITAL COURSE:\nOn HD4 at 1500 the drain was removed. Sputum grew yeast. Her fever had "
        "been 39.2 on HD2 at 0900. On HD5 at 0800 she walked. Her gait was steady.\n",
        "drain",
        "Sputum",
        "fever",
        "walked",
        "gait",
    )
    drain, sputum, fever, walked, gait = found.values()
    assert (drain.known, fever.known, walked.known) == (True, True, True)
    assert sputum.time == pytest.approx(50 + 15, abs=0.5)
    assert (sputum.lower or 0.0) <= 2 + 9
    assert "“fever”, mentioned next, is earlier" in sputum.reason
    assert "earlier" not in gait.reason


def test_an_hour_after_a_named_day_is_in_doubt_if_the_story_goes_back() -> None:
    story = (
        "HOSPITAL COURSE:\nLactate was 1.6 on HD3. Heparin began at 0400. On {} he had a scan.\n"
    )
    back = time_mentions(story.format("HD2 at 0600"), "Heparin")["Heparin"]
    on = time_mentions(story.format("HD3 at 0600"), "Heparin")["Heparin"]
    assert (back.time, on.time) == (26 + 4, 26 + 4)
    assert (back.known, on.known) == (False, True)
    assert (back.lower or 0.0) <= 2 + 4


def test_on_arrival_is_the_arrival_after_days_of_complaints() -> None:
    text = "HPI:\nShe presented after two days of black stools. On arrival hemoglobin was 8.4.\n"
    found = time_mentions(text, "black stools", "hemoglobin was 8.4")
    assert found["black stools"].time == -48.0
    # The usual registration in the emergency department, two hours before the admission.
    assert found["hemoglobin was 8.4"].time == pytest.approx(-2.0)


def test_on_arrival_elsewhere_goes_on_with_the_story() -> None:
    text = "HPI:\nTwo days of black stools. On arrival at the outside hospital she was pale.\n"
    assert (time_mentions(text, "pale")["pale"].time or 0.0) < -4.0
