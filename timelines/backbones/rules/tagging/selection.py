"""Decide which chunks are occurrences.

Other chunks only name, date or place an occurrence.
"""

from __future__ import annotations

import re

from timelines.backbones.rules.sections.literature import LITERATURE, speaks_of_case
from timelines.backbones.rules.tagging.chunks import (
    Chunk,
    Clause,
    concepts,
    has_value,
    is_bare_value,
    strength,
)
from timelines.backbones.rules.tagging.lexicon import Concept
from timelines.backbones.rules.tagging.vocabulary import (
    CONDITIONAL,
    CONDITIONS,
    LEADING,
    PEOPLE,
    SPEECH,
    TITLES,
    TOPICS,
)
from timelines.backbones.rules.text import Section

#: How sentences about the note itself begin.
_OFFICE = re.compile(
    r"[\W_]*(?:dictated|transcribed|typed|e-?signed|electronically (?:signed|verified)|signed(?: by|:)|dictating|"
    r"cc\s?:|d\s?:\s?\d|t\s?:\s?\d|job(?: number| no\.?)?\s?[:#]|document status|doc status|mrn\b|"
    r"(?:attending|referring|primary care|consulting)(?: physician| md| provider)?\s?:|"
    r"(?:thank you|thanks)\b|(?:sincerely|kind regards|yours|best regards)\b|"
    r"i (?:appreciate|enjoyed)\b|it (?:was|is) (?:a |my |our )?(?:great )?pleasure\b|"
    r"please (?:do not|don't|feel free|contact|call me|let me know)\b|"
    r"i (?:also )?(?:thank|await|hope|trust|understand|look forward|am sure|had the pleasure|have had the pleasure)\b|"
    r"(?:again,? )?(?:thank you|thanks)\b|we (?:appreciate|thank|look forward)\b|"
    r"(?:if you have|should you have) (?:any )?(?:further )?questions)",
    re.IGNORECASE,
)
#: A line of capitals without figures; a remark in brackets may follow.
_CAPITALS = re.compile(r"[A-Z][A-Z &/,'-]+(?: ?[({][^(){}]{1,40}[)}])?:?")
#: The title of a note, perhaps with a date and an hour: "Progress note, 2 March 2150 07:45".
_NOTE_TITLE = re.compile(
    r"[\W_]*(?:[a-z&/-]+\s+){0,4}(?:note|summary|report|letter|consult(?:ation)?|h ?& ?p)"
    r"(?:[\W\d_]|\b(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]*\b|"
    r"\b(?:on|at|of|written|dated?|hospital|day|hd|hours?|[ap]m|h)\b)*",
    re.IGNORECASE,
)
#: Characters at the beginning of a letter that have its salutation.
_HEAD = 1500
_SALUTATION = re.compile(r"\bDear\s(?:[A-Z][\w.-]*\s?){1,6}[:,]")
_CLOSING = re.compile(
    r"(?:(?:Yours\s)?(?:Sincerely|Truly|Faithfully)|(?:Kind(?:est)?|Best|Warm)\s[Rr]egards|With\s(?:kind|best|warm)\sregards|"
    r"Respectfully(?:\ssubmitted)?)(?:\syours)?\s?,(?![^\n]{300})"
)
#: Marks between a title and what it is of.
_TITLE_ENDS = frozenset({".", ":", "-", "–", "/", ",", "("})


def is_advice(clause: Clause, section: Section) -> bool:
    """Return whether a sentence of the instructions reports no event.

    Example: "Return for fever".
    """
    if section.kind not in {"instructions", "followup"}:
        return False
    opening = (
        t.lower
        for t in clause.tokens
        if t.is_word and t.lower not in LEADING and t.lower not in {"you", "will", "should", "must"}
    )
    return next(opening, "") in CONDITIONAL


def letter_body(text: str) -> tuple[int, int]:
    """Return where the body of a letter begins and ends.

    Other notes are all body. Addresses are before it, names after it.
    """
    opens = _SALUTATION.search(text, 0, _HEAD)
    if opens is None:
        return 0, len(text)
    closes = _CLOSING.search(text, opens.end())
    return opens.end(), closes.start() if closes else len(text)


def is_administrative(text: str, start: int, end: int) -> bool:
    """Return whether a sentence is about the note or is a title.

    Examples: "Dictated 3/4 by Dr. Low", "cc: ICU", "WEIGHTS AND DRAINS" above a paragraph.
    """
    return (
        _OFFICE.match(text, start, end) is not None
        or _is_capital_title(text, start, end)
        or _is_title_of_note(text, start, end)
    )


def _is_title_of_note(text: str, start: int, end: int) -> bool:
    """Return whether the first line only says what note this is, and when."""
    return not text[:start].strip() and _NOTE_TITLE.fullmatch(text, start, end) is not None


def _is_capital_title(text: str, start: int, end: int) -> bool:
    """Return whether a line of capitals is above a paragraph."""
    line, rest = text[start:end], text[end : end + 200]
    alone = text[:start].endswith(("\n\n", "\r\n\r\n")) and rest.startswith(("\n", "\r"))
    below = rest.lstrip()
    return (
        alone
        and len(line.split()) > 1
        and _CAPITALS.fullmatch(line) is not None
        and any(c.islower() for c in below)
        and not rest.startswith(("\n\n", "\r\n\r\n"))
    )


def is_of_others(sentence: str, section: Section) -> bool:
    """Return whether a sentence of a report has no event of its patient.

    Example: "In one series, 14 of 31 patients bled [3]".
    """
    return section.kind == LITERATURE and not speaks_of_case(sentence, section.title)


def is_occurrence(clause: Clause, chunk: Chunk, section_kind: str, heading: bool) -> bool:
    """Return whether the chunk has content of its own.

    Headings that name only a topic have none.
    """
    words = {clause.tokens[i].lower for i in range(chunk.first, chunk.last)}
    if heading and words <= TOPICS:
        return False
    if words <= PEOPLE | LEADING and not section_kind.startswith("medications"):
        return False
    if _is_name_of_person(clause, chunk) or _only_says(clause, chunk):
        return False
    if not heading and _is_capital_label(clause, chunk):
        return False
    if (
        chunk.silent
        or _is_condition(clause, chunk)
        or _is_title(clause, chunk)
        or _is_bare_measure(clause, chunk)
    ):
        return False
    if section_kind == "disposition" and concepts(clause, chunk.first, chunk.last):
        return True
    return (
        chunk.repeat
        or strength(clause, chunk.first, chunk.last) > 0
        or is_bare_value(clause, chunk)
        or _is_arrival(clause, chunk)
    )


def _is_condition(clause: Clause, chunk: Chunk) -> bool:
    """Return whether the chunk opens its sentence with a condition.

    Example: "If the pain returns".
    """
    return chunk.first <= 1 and any(
        clause.tokens[i].lower in CONDITIONS for i in range(chunk.first + 1)
    )


def _is_title(clause: Clause, chunk: Chunk) -> bool:
    """Return whether the chunk only titles what follows ("Drips: none")."""
    words = [clause.tokens[i] for i in range(chunk.first, chunk.last)]
    opens = not any(t.is_word for t in clause.tokens[: chunk.first] if t.lower not in TITLES)
    mark = clause.tokens[chunk.last].text if chunk.last < len(clause.tokens) else "."
    return opens and mark in _TITLE_ENDS and all(t.lower in TITLES or t.text == "/" for t in words)


def _is_bare_measure(clause: Clause, chunk: Chunk) -> bool:
    """Return whether the sentence only names a measure ("2) BP.")."""
    named = {i for i, t in clause.term_at.items() if t.concept in {Concept.LAB, Concept.VITAL}}
    others = (i for i, t in enumerate(clause.tokens) if t.is_word or t.is_number)
    return chunk.first in named and all(i in named for i in others if i >= chunk.first)


def _is_name_of_person(clause: Clause, chunk: Chunk) -> bool:
    """Return whether the chunk is only the name after "Mr." or "Dr."."""
    before = [t.lower for t in clause.tokens[max(0, chunk.first - 2) : chunk.first]]
    titled = bool({"mr", "mrs", "ms", "miss", "dr"}.intersection(before))
    return (
        titled
        and not concepts(clause, chunk.first, chunk.last)
        and all(clause.parts[i] in {"PROPN", "PUNCT", ""} for i in range(chunk.first, chunk.last))
    )


def _only_says(clause: Clause, chunk: Chunk) -> bool:
    """Return whether the chunk only introduces speech ("he states that")."""
    after = clause.tokens[chunk.last].lower if chunk.last < len(clause.tokens) else ""
    words = [
        i
        for i in range(chunk.first, chunk.last)
        if clause.tokens[i].is_word and clause.tokens[i].lower not in LEADING
    ]
    return (
        after in {"that", ",", ":", ".", ""}
        and all(
            clause.lemmas[i] in SPEECH
            or clause.tokens[i].lower in PEOPLE | {"also", "further"}
            or (clause.parts[i] in {"PROPN", "PRON", "ADV", "AUX"} and i not in clause.term_at)
            for i in words
        )
        and any(clause.lemmas[i] in SPEECH for i in words)
    )


def _is_capital_label(clause: Clause, chunk: Chunk) -> bool:
    """Return whether the chunk is a label in capitals ("LEFT ARM: warm")."""
    words = [t.text for t in clause.tokens[chunk.first : chunk.last] if t.is_word]
    after = clause.tokens[chunk.last].text if chunk.last < len(clause.tokens) else ""
    rest = clause.text[clause.tokens[0].start : clause.tokens[-1].end]
    return (
        after == ":"
        and all(w.isupper() and len(w) > 1 for w in words)
        and len("".join(words)) > 5
        and not concepts(clause, chunk.first, chunk.last)
        and any(c.islower() for c in rest)
    )


def _is_arrival(clause: Clause, chunk: Chunk) -> bool:
    """Return whether the chunk is a place with a time and nothing else.

    Short notes write a move like this: "MICU 21:53", "to floor 6/18 1400".
    """
    before = clause.tokens[chunk.first - 1].lower if chunk.first else ""
    return (
        concepts(clause, chunk.first, chunk.last) == {Concept.PLACE}
        and any(clause.in_time[chunk.first : chunk.last])
        and before not in {"in", "at", "from", "on", "while"}
    )


def is_lead_in(clause: Clause, chunk: Chunk, following: Chunk | None) -> bool:
    """Return whether the chunk is a name whose value or act follows.

    A comma or colon separates them: "Her temperature, 99.7 on arrival", "Metoprolol, which was
    ordered".
    """
    if following is None or has_value(clause, chunk.first, chunk.last):
        return False
    mark = clause.tokens[chunk.last].text if chunk.last < len(clause.tokens) else ""
    if any(clause.parts[i] == "VERB" for i in range(chunk.first, chunk.last)):
        return False
    found = concepts(clause, chunk.first, chunk.last)
    if mark == ":" and (
        not found or found <= {Concept.DRUG, Concept.LAB, Concept.MICRO, Concept.VITAL}
    ):
        return (
            is_bare_value(clause, following)
            or not found
            or bool(concepts(clause, following.first, following.last) & {Concept.LAB})
        )
    after = clause.tokens[chunk.last + 1].lower if chunk.last + 1 < len(clause.tokens) else ""
    relative = after == "which" or (after == "who" and not found)
    if mark == ",":
        return relative or (
            bool(found & {Concept.LAB, Concept.VITAL}) and is_bare_value(clause, following)
        )
    return False
