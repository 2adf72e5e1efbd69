"""Choose the lane of the plot that an occurrence belongs to.

Its section and its first clinical term decide.
"""

from __future__ import annotations

from timelines.backbones.rules.tagging.chunks import Chunk, Clause, names_something
from timelines.backbones.rules.tagging.lexicon import Concept
from timelines.backbones.rules.tagging.vocabulary import MOVES
from timelines.domain import Lane

_BY_SECTION = {
    "pmh": Lane.HISTORY,
    "social": Lane.HISTORY,
    "family": Lane.HISTORY,
    "social_family": Lane.HISTORY,
    "allergies": Lane.HISTORY,
    "medications_admission": Lane.MEDICATION,
    "medications_discharge": Lane.MEDICATION,
    "medications": Lane.MEDICATION,
    "procedures": Lane.PROCEDURE,
    "followup": Lane.PLAN,
    "instructions": Lane.PLAN,
    "transitional": Lane.PLAN,
    "disposition": Lane.TRANSFER,
}
_BY_CONCEPT = {
    Concept.LAB: Lane.LAB,
    Concept.MICRO: Lane.LAB,
    Concept.VITAL: Lane.FINDING,
    Concept.FINDING: Lane.FINDING,
    Concept.DRUG: Lane.MEDICATION,
    Concept.FLUID: Lane.MEDICATION,
    Concept.PROCEDURE: Lane.PROCEDURE,
    Concept.IMAGING: Lane.PROCEDURE,
    Concept.DEVICE: Lane.PROCEDURE,
}
_PLANS = frozenset({"scheduled", "planned", "follow-up", "followup", "f/u", "appointment"})


def find_lane(clause: Clause, chunk: Chunk, section_kind: str, inherited: Lane | None) -> Lane:
    """Return the lane of a chunk.

    `inherited` is the lane of the name that an elliptical chunk continues; it decides if the chunk
    names nothing.
    """
    words = {clause.tokens[i].lower for i in range(chunk.first, chunk.last)}
    terms = [t for t in clause.terms if chunk.first <= t.first < chunk.last]
    clinical = any(t.concept in _BY_CONCEPT for t in terms)
    # "On discharge his strength was 4/5" is a finding in the part that says where he went.
    if section_kind in _BY_SECTION and not (
        section_kind == "disposition" and clinical and not words & MOVES
    ):
        return _BY_SECTION[section_kind]
    if words & _PLANS:
        return Lane.PLAN
    if (words & MOVES or terms) and all(t.concept is Concept.PLACE for t in terms):
        return Lane.TRANSFER
    for term in terms:
        if term.concept in _BY_CONCEPT:
            return _BY_CONCEPT[term.concept]
    return inherited if inherited and not names_something(clause, chunk) else Lane.FINDING
