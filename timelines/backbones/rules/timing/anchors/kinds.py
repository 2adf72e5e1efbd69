"""The usual hours of occurrences, for notes that name only the day."""

from __future__ import annotations

import re

from timelines.backbones.rules.timing.phrases.daypart import Part
from timelines.domain import Lane, Occurrence

_ANALYTE = re.compile(
    r"\b(?:white (?:blood )?(?:cell )?count|white blood cells?|hemoglobin|hematocrit|platelets?(?: "
    r"count)?|sodium|potassium|chloride|bicarb(?:onate)?|creat(?:inine)?|urea|glucose|calcium|"
    r"magnesium|"
    r"phosphate|bilirubin|lipase|fibrinogen|troponin|albumin|lactate|ferritin|trough|level|"
    r"osmolality|uric acid|nt-?probnp|tbili|wbc|hgb|hct|plt|bun|inr|ptt|ast|alt|tsh|crp|esr|"
    r"ldh|bnp|a1c|hco3)\b",
    re.IGNORECASE,
)
_SHORT = re.compile(r"\b(?:Na|K|Cl|Cr|Ca|Mg|Phos|CK|PT|Hb|TnT|TropT|Alb|Bili)\b")
_DOSE = re.compile(r"\d\s*(?:mg|mcg|g|meq|units?|amps?|ml|cc|l)\b(?!/)", re.IGNORECASE)
_WEIGHT = re.compile(r"\b(?:weight|wt)\b", re.IGNORECASE)
_MOVE = re.compile(
    r"\b(?:transfer\w*|moved|discharged|called out|floor|call-?out|left the)\b", re.IGNORECASE
)
_PROCEDURE = re.compile(
    r"\b(?:ct|mri|us|ultrasound|echo\w*|tte|tee|egd|ercp|endoscopy|colonoscopy|bronchoscopy|"
    r"lumbar"
    r" puncture|lp|picc|cath\w*|surgery|placed|placement|removed|extubat\w+|biopsy|\w{3,}otomy|"
    r"\w{3,}ectomy|\w{3,}plasty|\w{3,}oscopy|drain\w*|"
    r"tap|thoracentesis|paracentesis|eeg)\b",
    re.IGNORECASE,
)

#: Clock hour of bloods when the note says "AM".
_LAB_MORNING = 6.0
#: Usual clock hour when only the day is known.
_LAB_HOUR, _WEIGHT_HOUR, _MOVE_HOUR, _PROCEDURE_HOUR, _MEDICATION_HOUR, _OTHER_HOUR = (
    5.5,
    6.0,
    15.5,
    13.0,
    12.0,
    11.0,
)


def is_lab(occurrence: Occurrence) -> bool:
    """Return whether it is a laboratory value.

    Its lane says so, or it is an analyte with a figure.
    """
    mention = occurrence.mention
    if occurrence.lane is Lane.LAB:
        return True
    named = _ANALYTE.search(mention) is not None or _SHORT.search(mention) is not None
    return named and re.search(r"\d", mention) is not None and _DOSE.search(mention) is None


def usual_hour(occurrence: Occurrence) -> float:
    """Return the usual clock hour of such an occurrence.

    It is used if the note names only the day.
    """
    mention = occurrence.mention
    if _WEIGHT.search(mention):
        return _WEIGHT_HOUR
    if is_lab(occurrence):
        return _LAB_HOUR
    if occurrence.lane is Lane.TRANSFER or _MOVE.search(mention):
        return _MOVE_HOUR
    if occurrence.lane is Lane.PROCEDURE or _PROCEDURE.search(mention):
        return _PROCEDURE_HOUR
    return _MEDICATION_HOUR if occurrence.lane is Lane.MEDICATION else _OTHER_HOUR


def usual_morning(occurrence: Occurrence, part: Part) -> float:
    """Return the hours to add to a part of the day.

    Morning bloods are drawn before rounds, so a plain "AM" means about six for them.
    """
    return _LAB_MORNING - part.point if part.label == "morning" and is_lab(occurrence) else 0.0
