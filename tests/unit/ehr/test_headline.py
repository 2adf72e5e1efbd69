"""What a stay is in one line, hand-checked over the demo cases."""

from __future__ import annotations

import csv
import gzip
import json
from datetime import datetime

import pytest

from ehr.presentation.headline import CATEGORIES, StayRow, describe_stay
from tests.paths import ROOT

#: Read from the notes and rows by hand. The titles that are only codes say nothing.
DEMO = {
    "intro/intro-ich": (
        "74 M · Intracerebral haemorrhage on apixaban · 4 d 6 h · to rehab",
        "Neuro SICU",
    ),
    "cohort/20338077": ("59 F · Gastric ulcer with hemorrhage · 5 d 18 h · home", "MICU"),
    "cohort/20626031": ("66 M · NSTEMI, CAD s/p CABG · 8 d 13 h · home with care", "CVICU"),
    "cohort/21133938": ("58 M · Decompensated HF · 8 d 17 h · home", "CCU"),
    "cohort/22130791": ("88 M · UGIB, hemorrhagic shock · 4 d 16 h · died", "MICU/SICU"),
    "cohort/22342963": ("59 M · Three vessel disease · 6 d 15 h · home with care", "CVICU"),
    "cohort/23403708": (
        "82 M · Malignant neoplasm of main bronchus · 8 d 5 h · home with care",
        "SICU",
    ),
    "cohort/24104168": (
        "63 F · Diffuse subarachnoid blood in the basal cisterns · 9 d 13 h · home with care",
        "Neuro SICU",
    ),
    "cohort/24181354": (
        "47 M · E. coli septic shock d/t cholangitis · 8 d 23 h · to a nursing facility",
        "MICU",
    ),
    "cohort/25809882": ("60 F · Status epilepticus · 4 d 16 h · home with care", "SICU"),
    "cohort/27617929": (
        "60 M · Septicemia due to gram-negative organisms · 4 d 19 h · died",
        "MICU",
    ),
    "cohort/27882036": (
        "> 89 F · Occlusive L subclavian-axillary DVT · 7 d 18 h · to a nursing facility",
        "TSICU",
    ),
    "cohort/29281842": (
        "58 F · Thick secretions + hypercarbia · 4 d 23 h · to a nursing facility",
        "SICU",
    ),
}

AT = datetime(2150, 1, 1, 12)
LEFT = datetime(2150, 1, 2, 13)


@pytest.mark.parametrize("case", DEMO)
def test_the_demo_cases_say_what_they_are(case):
    folder = ROOT / "demo" / case
    stay = json.loads((folder / "encounter.json").read_text())
    with gzip.open(folder / "rows.csv.gz", "rt") as lines:
        rows = [
            StayRow(r["event"], r["value"], datetime.fromisoformat(r["t"]) if r["t"] else None)
            for r in csv.DictReader(lines)
            if r["event"].partition(":")[0] in CATEGORIES
        ]
    found = describe_stay(
        title=stay["title"],
        admitted_at=datetime.fromisoformat(stay["admitted_at"]),
        discharged_at=datetime.fromisoformat(stay["discharged_at"]),
        rows=rows,
        note=(folder / "note.txt").read_text(),
    )
    assert (found.headline, found.unit) == DEMO[case]


@pytest.mark.parametrize(
    ("title", "rows", "note", "headline"),
    [
        ("", [], "", "25 h"),
        # A code or a kind of admission is no problem; a code with its words is.
        ("R570 (ICD10) ", [], "", "25 h"),
        ("EW EMER., TRANSFER FROM HOSPITAL", [], "", "25 h"),
        ("Case 12", [], "", "25 h"),
        ("53140 (ICD9) Gastric ulcer", [], "", "Gastric ulcer · 25 h"),
        ("", [("diagnosis:i610:", "I610")], "", "25 h"),
        ("", [("diagnosis:icd10cm i61.0:", "")], "", "25 h"),
        (
            "",
            [("diagnosis:unspecified atrial fibrillation:", "I4891"), ("diagnosis:gout:", "")],
            "",
            "Atrial fibrillation · 25 h",
        ),
        # Rows without a note, in the forms of MIMIC-IV and MEDS.
        (
            "",
            [("gender:f:", ""), ("admission:discharge:skilled nursing facility", "")],
            "",
            "F · 25 h · to a nursing facility",
        ),
        ("", [("admission:hospital discharge:", "HOME HEALTH CARE")], "", "25 h · home with care"),
        ("", [("admission:discharge:home", ""), ("admission:death:", "")], "", "25 h · died"),
        ("", [("admission:discharge:against advice", "")], "", "25 h · left against advice"),
        ("", [("admission:discharge:somewhere", "")], "", "25 h"),
        # A note without rows; ages above 89, months, days and newborns.
        ("", [], "HPI: 92 year old woman p/w falls.", "> 89 F · Falls · 25 h"),
        ("", [], "Pt is a >89 y/o M admitted for CHF.", "> 89 M · CHF · 25 h"),
        ("", [], "3 day old male with jaundice", "3 d M · 25 h"),
        ("", [], "A 6-week-old girl presenting with fever.", "6 wk F · Fever · 25 h"),
        ("", [], "Baby girl born at 34 weeks.", "newborn F · 25 h"),
        ("", [], "Sex: F\nChief Complaint: ___\n", "F · 25 h"),
        ("", [], "Given 5 M solution 3 days ago for 8 years of pain.", "25 h"),
        # The note's diagnosis leads; the complaint is the last to be asked.
        (
            "Falls",
            [],
            "CC: dizziness\nDischarge Diagnosis:\nPRIMARY DIAGNOSIS:\n1. Sick sinus syndrome\n2. HTN",
            "Sick sinus syndrome · 25 h",
        ),
        ("", [], "CC: dizziness, transfer from OSH\nDiagnosis: ", "Dizziness · 25 h"),
        # A complaint that is only a symptom gives way to what an examination showed …
        (
            "",
            [],
            "74 y/o M p/w chest pain. EKG: sinus. Cath the next day revealed an occluded LAD, stented.",
            "74 M · Occluded LAD · 25 h",
        ),
        (
            "",
            [],
            "74 y/o M p/w sudden weakness of the left arm. CT showed no bleed. MRI: R MCA infarct.",
            "74 M · R MCA infarct · 25 h",
        ),
        # … but not to what is normal, or was found later in the stay.
        (
            "",
            [],
            "74 y/o M p/w chest pain. CXR showed no pneumonia.",
            "74 M · Chest pain · 25 h",
        ),
        (
            "",
            [],
            "74 y/o M p/w chest pain.\nHOSPITAL COURSE\nEEG: diffuse slowing.",
            "74 M · Chest pain · 25 h",
        ),
        # A complaint that names a cause stays.
        (
            "",
            [],
            "74 y/o M p/w pneumonia with fever. CT showed a renal cyst.",
            "74 M · Pneumonia with fever · 25 h",
        ),
        ("", [], "Disposition: Home (refused rehab). Stable.", "25 h · home"),
        ("", [], "Discharge Disposition: Extended Care", "25 h · to a nursing facility"),
        ("", [], "He was discharged to a rehabilitation hospital.", "25 h · to rehab"),
        ("", [], "She was extubated. Pronounced dead at 14:15.", "25 h · died"),
    ],
)
def test_only_what_is_found_is_said(title, rows, note, headline):
    stay = describe_stay(
        title=title,
        admitted_at=AT,
        discharged_at=LEFT,
        rows=[StayRow(event, value) for event, value in rows],
        note=note,
    )
    assert stay.headline == headline


def test_a_stay_without_discharge_has_no_length_and_the_unit_is_the_longest_intensive_one():
    rows = [
        StayRow("transfer:emergency department:", "", datetime(2150, 1, 1, 10)),
        StayRow("transfer:medicine:", "", datetime(2150, 1, 1, 12)),
        StayRow("transfer:medical intensive care unit (micu):", "", datetime(2150, 1, 1, 20)),
        StayRow("transfer:admit:", "Coronary Care Unit (CCU)", datetime(2150, 1, 1, 22)),
        StayRow("transfer:medicine:", "", datetime(2150, 1, 3)),
    ]
    stay = describe_stay(title="", admitted_at=AT, discharged_at=None, rows=rows)
    assert (stay.headline, stay.unit) == ("", "CCU")
    assert describe_stay(title="", admitted_at=AT, discharged_at=LEFT, rows=rows[:2]).unit == (
        "Medicine"
    )
