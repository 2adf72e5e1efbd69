"""Match procedures and devices.

It matters whether they were done or not done, placed or removed.
"""

from __future__ import annotations

import re

from timelines.backbones.rules.querying.courses import LASTING
from timelines.backbones.rules.querying.reading import Act, Reading
from timelines.backbones.rules.querying.vocabulary import Concept, EventName
from timelines.backbones.rules.revision.match import REACH_ACT, Match
from timelines.domain import Polarity

_STUDIES = re.compile(
    r"x-ray|^ct$|mri|ultrasound|echo|tee|ecg|eeg|angio|culture|puncture|screen|doppler|endoscopy|colonoscopy|bronchoscopy|swallow"
)

_BACK_FROM = re.compile(
    r"\b(?:return\w*|back|arriv\w*|came|out) (?:from|of|to)|\bfrom the (?:OR|operating)",
    re.IGNORECASE,
)


_DIET_CHANGE = re.compile(
    r"\b(?:advanc\w*|start\w*|beg[au]n|resum\w*|restart\w*|order\w*|plac\w*|chang\w*|liberali[sz]\w*|progress\w*|"
    r"made|allowed|NPO)\b",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"\bNPO\b|nothing by mouth", re.IGNORECASE)
#: Parts of the body that notes and rows of an examination name.
_REGIONS = tuple(
    re.compile(rf"\b(?:{words})\b", re.IGNORECASE)
    for words in (
        r"head|brain|(?:intra)?cranial|nchct|skull|sinus\w*|orbit\w*|fac(?:e|ial)|maxillofacial",
        r"neck|c-?spine|cervical|carotid\w*",
        r"chest|thora\w+|lungs?|pulmonary|ctpa|pe protocol|torso",
        r"abd\w*|pelvi\w+|a/p|liver|ruq|renal|kidneys?|bowel|torso",
        r"(?:[tl]-?)?spine|spinal|lumbar|thoracic spine",
        r"legs?|arms?|hips?|knees?|foot|ankle|wrist|shoulder|extremit\w+|femur",
    )
)


def _is_elsewhere(text: str, event: str) -> bool:
    """Return whether the text and the row name different parts of the body."""
    said, recorded = (
        {i for i, region in enumerate(_REGIONS) if region.search(words)} for words in (text, event)
    )
    return bool(said and recorded) and not said & recorded


def match_procedure(concept: Concept, reading: Reading, name: EventName) -> Match | None:
    ends = name.act in ("end", "stop") or bool(
        {"removed", "discontinued", "extubation"} & set(name.words)
    )
    removal = concept.name == "extubation" or reading.act is Act.END
    lasting = concept.name in LASTING
    if lasting and removal != ends:
        return None
    if reading.act is Act.ORDER or (
        concept is not reading.carrier and _is_negated(concept, reading)
    ):
        return None
    if _STUDIES.search(concept.name) and _is_elsewhere(reading.text, name.text):
        return None
    if concept.name == "surgery":
        wanted = "received" if _BACK_FROM.search(reading.text) else "sent"
        return (
            Match(0.3, REACH_ACT, "the operating room row of the same operation")
            if wanted in name.words
            else None
        )
    if lasting:
        return Match(
            0.1 if concept.name != "extubation" or "extubation" in name.words else 0.2,
            REACH_ACT,
            f"{'removal' if removal else 'placement'} of the same device, as performed",
        )
    # The laboratory's row of a specimen is the culture; the unit's charting of it comes second.
    later = 0.25 if "culture" in concept.name else 0.0
    return Match(0.3 if ends else 0.1 + later, REACH_ACT, "the same procedure, as performed")


def match_order(reading: Reading, name: EventName) -> Match | None:
    """Match an order that is the change itself: a diet, or nothing by mouth.

    Text that only says what the patient eats ("tolerating a diet") is no change.
    """
    if reading.occurrence.polarity is Polarity.ABSENT or not _DIET_CHANGE.search(reading.text):
        return None
    if bool(_NOTHING.search(reading.text)) != ("npo" in name.words):
        return None
    return Match(0.2, REACH_ACT, "the order that changed the diet")


def _is_negated(concept: Concept, reading: Reading) -> bool:
    """Return whether a procedure was negated; then it has no row.

    A study with a negative finding ("chest film without infiltrate") was done and has a row.
    """
    if reading.occurrence.polarity is not Polarity.ABSENT:
        return False
    mention = reading.occurrence.mention
    negated_itself = re.match(r"\s*(?:no|not|never|without)\b", mention, re.IGNORECASE) is not None
    return negated_itself or not _STUDIES.search(concept.name)
