"""Find what is absent or planned, and how far a negation reaches."""

from __future__ import annotations

import re

from timelines.backbones.rules.sections.headings import Section
from timelines.backbones.rules.tagging.chunks import Chunk, Clause, concepts, has_value
from timelines.backbones.rules.tagging.lexicon import Concept
from timelines.domain import Polarity

_ABSENT = re.compile(
    r"\b(?:no|not|never|without|denie[sd]|denying|negative|neg|none|nor|neither|cannot|absent|absence"
    r" of|free of|ruled out|unable to|"
    r"declined|refused|afebrile|nkda|nka|nontender|anicteric|non-bloody|nonbloody|unremarkable|fails?"
    r" to|failed to)\b|w/o\b|\br/o'?d\b",
    re.IGNORECASE,
)
#: Phrases in which a negative word does not deny the finding.
_NOT_ABSENT = re.compile(
    r"\b(?:not (?:only|improving|improved|resolved|controlled)|no change|gram[- ]negative|rh"
    r" negative)\b",
    re.IGNORECASE,
)
_PLANNED = re.compile(
    r"\b(?:will|shall|(?:is|are) to (?:be|have|undergo|start|continue|receive|follow|see|return))\b|"
    r"\bplan(?:s|ned|ning)?(?: is)? (?:for|to)\b|\b(?:scheduled|booked) (?:for|to)\b",
    re.IGNORECASE,
)
#: Headings and labels of a line below or behind which plans follow.
_PLAN_TITLE = re.compile(r"(?:\w+ )?plans?(?: of care| for today)?", re.IGNORECASE)
_PLAN_LABEL = re.compile(r"(?:^|[.;,]\s+|\s{2})[ \t#*-]*plans?\s*:", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[.;,:(]|\b(?:and|but|who|which|that)\b")
#: What was done is no plan, wherever it is written.
_DONE = re.compile(r"\b(?:was|were|had|did|has been|have been)\b", re.IGNORECASE)
_REACHING = frozenset({"no", "denies", "denied", "denying", "without", "w/o", "nor", "neither"})
#: What may be between two items of a denied list: "no melena or further hematemesis".
_CONJUNCTIONS = frozenset({"or", "nor", "and"})
_JOINING = _CONJUNCTIONS | {",", "/", "any", "the", "a"}
_FURTHER = frozenset(
    {"further", "other", "additional", "more", "another", "new", "recurrent", "subsequent"}
)
#: Sections of plans alone.
_PLAN_SECTIONS = frozenset({"transitional"})
_NEGATED_NOUNS = {Concept.FINDING}


def find_polarity(text: str) -> Polarity:
    """Return absent if the span itself denies what it names."""
    plain = _NOT_ABSENT.sub(" ", text)
    return Polarity.ABSENT if _ABSENT.search(plain) else Polarity.PRESENT


def is_planned(text: str, start: int, end: int, section: Section) -> bool:
    """Return whether `[start, end)` says so, or is behind the word "Plan".

    Examples: "will be seen by surgery", "Melena again. Plan: endoscopy this afternoon".
    """
    line = text.rfind("\n", 0, start) + 1
    titled = section.kind in _PLAN_SECTIONS or _PLAN_TITLE.fullmatch(section.title.strip(" :"))
    labelled = titled or _PLAN_LABEL.search(text[line:start])
    if labelled and _DONE.search(text, start, end) is None:
        return True
    clause = _CLAUSE_END.split(text[line:start])[-1]
    return _PLANNED.search(clause + text[start:end]) is not None


def reaching_negation(clause: Clause, chunk: Chunk) -> bool:
    """Return whether `chunk` opens a negation that a list may continue.

    Example: "no fever, chills or cough".
    """
    words = [t.lower for t in clause.tokens[chunk.first : min(chunk.first + 3, chunk.last)]]
    return bool(_REACHING.intersection(words)) or words[:2] == ["negative", "for"]


def continues_negation(clause: Clause, before: Chunk, chunk: Chunk) -> bool:
    """Return whether `chunk` is one more short item of a negated list.

    `before` belongs to the list.
    """
    between = {clause.tokens[i].lower for i in range(before.last, chunk.first)}
    if (
        not between - _FURTHER <= _JOINING
        or (between & _FURTHER and not between & _CONJUNCTIONS)
        or chunk.last - chunk.first > 4
    ):
        return False
    if has_value(clause, chunk.first, chunk.last) or any(
        clause.parts[i] in {"VERB", "AUX"} for i in range(chunk.first, chunk.last)
    ):
        return False
    found = concepts(clause, chunk.first, chunk.last)
    return found <= _NEGATED_NOUNS and (bool(found) or bool(between & {"or", "nor"}))
