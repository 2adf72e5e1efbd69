"""The default time of a sentence without one, by kind of section."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum

from timelines.backbones.rules.sections.content import PAST_VERB
from timelines.backbones.rules.sections.headings import Section
from timelines.backbones.rules.sections.literature import LITERATURE
from timelines.backbones.rules.timing.entries import ENTRY


class Frame(Enum):
    """How undated statements of a section are placed."""

    STATIC = "static"  # states without a date: they are at 0
    HISTORY = "history"  # past history: dated items count back, undated ones are at 0
    PRESENTING = "presenting"  # the story up to admission, in order
    RECAP = "recap"  # names things described elsewhere: complaint, procedures, diagnoses
    EXAM = "exam"  # one examination on arrival
    RESULTS = "results"  # tables of results, dated by labels of their lines
    COURSE = "course"  # the stay, in order or by problem
    OPINIONS = "opinions"  # consultants' advice, usually undated
    LEAVING = "leaving"  # the state and plans at discharge
    ENTRY = "entry"  # written during the stay, at a stated time


_FRAMES: dict[str, Frame] = {
    ENTRY: Frame.ENTRY,
    "header": Frame.STATIC,
    "allergies": Frame.STATIC,
    "social": Frame.STATIC,
    "family": Frame.STATIC,
    "social_family": Frame.STATIC,
    "medications_admission": Frame.STATIC,
    "pmh": Frame.HISTORY,
    "hpi": Frame.PRESENTING,
    "ros": Frame.EXAM,
    "chief_complaint": Frame.RECAP,
    "admission_diagnosis": Frame.RECAP,
    "discharge_diagnosis": Frame.RECAP,
    "procedures": Frame.RECAP,
    "complications": Frame.RECAP,
    LITERATURE: Frame.RECAP,
    "exam_admission": Frame.EXAM,
    "exam": Frame.EXAM,
    "results": Frame.RESULTS,
    "results_admission": Frame.RESULTS,
    "results_discharge": Frame.RESULTS,
    "hospital_course": Frame.COURSE,
    "consults": Frame.OPINIONS,
    "exam_discharge": Frame.LEAVING,
    "medications_discharge": Frame.LEAVING,
    "medications": Frame.LEAVING,
    "disposition": Frame.LEAVING,
    "discharge_condition": Frame.LEAVING,
    "instructions": Frame.LEAVING,
    "followup": Frame.LEAVING,
    "transitional": Frame.LEAVING,
}

#: Words that begin a presentation after the patient's background in the first sentence.
_ONSET = re.compile(
    r"\b(?:p/w|presents?\b|presented|presenting|transfer\w*|brought|came|arriv\w+|admitted|"
    r"c/o|complain\w*|in\s+usoh|ran\s+out|collapsed|referred|"
    r"(?:who|she|he|pt|patient)\s+(?:\w+\s+){0,6}?(?:develop\w+|notic\w+|noted|began|found|"
    r"experienc\w+|report\w+|woke|awoke|fell|sustained|seen|sent))\b",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(
    r"\W*(?:(?:he|she|pt|patient|the\s+patient|they)\s+)?(?:also\s+)?(?:no|denies|denied|denying|"
    r"negative\s+for|without|(?:had|has|reports|reported|endorses)\s+no|there\s+(?:was|were)\s+no|"
    r"never)\b",
    re.IGNORECASE,
)


def find_frame(section: Section) -> Frame:
    """Return the frame of a section.

    Prose without a known heading reads like a hospital course.
    """
    return _FRAMES.get(section.kind, Frame.COURSE)


#: Fewest sentences of a story under a heading of complaints or past illnesses.
_STORY = 3


def reads_as_story(section: Section, sentences: Sequence[str]) -> bool:
    """Return whether text under another heading is the presenting story.

    Some notes have it under "Reason for admission", others under "Background".
    """
    if section.kind not in {"chief_complaint", "admission_diagnosis", "pmh"}:
        return False
    in_past = sum(_PAST.search(s) is not None for s in sentences)
    if len(sentences) < _STORY or in_past < 2:
        return False
    return section.kind != "pmh" or any(map(begins_presentation, sentences))


_PAST = re.compile(rf"\b(?:{PAST_VERB})\b", re.IGNORECASE)
_PATIENT = re.compile(
    r"\b(?:years?[\s-]*old|yr|y/?o|y\.o|\d{1,3}\s?[mf]|male|female|(?:wo)?man|gentleman|lady|boy|girl|history|h/o|pmhx?|hx|known|mrs?|ms)\b",
    re.IGNORECASE,
)


def describes_patient(sentence: str) -> bool:
    """Return whether a sentence introduces patient and background.

    Example: "58M w/ HTN".
    """
    return _PATIENT.search(sentence) is not None


def begins_presentation(clause: str) -> bool:
    """Return whether a clause begins the story after the background.

    The background is "58M w/ HTN", the story begins with "p/w dyspnea".
    """
    return _ONSET.search(clause) is not None


def is_negative(sentence: str) -> bool:
    """Return whether a sentence lists absent findings.

    Example: "She denied melena".
    """
    return _NEGATIVE.match(sentence) is not None
