"""Cut a sentence into chunks, each about one occurrence.

A sentence is first cut at every mark or word that may separate occurrences, then neighbours that
are incomplete are joined again. A chunk is complete if it has a clinical term, a word of action, or
a value that continues a series ("lactate 4.1, 2.0 by noon").
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from timelines.backbones.rules.tagging.chunks import (
    Chunk,
    Clause,
    concepts,
    has_value,
    has_verb,
    is_bare_value,
    strength,
)
from timelines.backbones.rules.tagging.lexicon import Concept
from timelines.backbones.rules.tagging.vocabulary import (
    ACTIONS,
    COMPANIONS,
    CONDITIONS,
    COORDINATORS,
    LEADING,
    MOVES,
    NEGATIONS,
    PEOPLE,
    PREPOSITIONS,
    REPORTING,
    SUBORDINATORS,
    TREATMENT_ACTS,
)

_PUNCTUATION = frozenset(",;:()[]!?|•·—–=")
_CLOCK = re.compile(
    r"(?<!\d)\d{1,2}:\d\d|(?<![\d/])[012]\d[0-5]\d(?![\d/])|\d\s?[ap]\.?m\b|\b(?:noon|midnight)\b",
    re.IGNORECASE,
)
#: Words before a further time of the same occurrence.
_LINKS = COORDINATORS | {"again", "at", "@", "~", "the", "on", "last", "first"}
#: With "without" they only say how something went.
_MANNERS = frozenset(
    {
        "incident",
        "difficulty",
        "relief",
        "issue",
        "issues",
        "problem",
        "problems",
        "event",
        "change",
    }
)
#: Tokens: a name of at most so many belongs together with what dates it ("CXR after the drainage").
_BARE_NAME = 2
_MEASURED = frozenset({Concept.LAB, Concept.VITAL})


def split(clause: Clause) -> list[Chunk]:
    """Return the chunks of a clause in order.

    Separators belong to no chunk, except words that carry meaning.
    """
    return _join(clause, _cut(clause))


def _cut(clause: Clause) -> list[Chunk]:
    chunks: list[Chunk] = []
    first, separator = 0, ""
    for i, token in enumerate(clause.tokens):
        kind = _separator_kind(clause, i, first)
        if not kind:
            continue
        if i > first:
            chunks.append(Chunk(first, i, separator))
        separator = kind
        consumed = kind in {"punct", "arrow"} and token.text not in {"#"}
        first = i + 1 if consumed else i
    if first < len(clause.tokens):
        chunks.append(Chunk(first, len(clause.tokens), separator))
    return chunks


def _separator_kind(clause: Clause, i: int, first: int) -> str:
    token = clause.tokens[i]
    word = token.lower
    if token.kind == "arrow":
        return "arrow"
    if token.text in {":", ","} and _is_inside_time(clause, i):
        return ""
    if token.text == ":" and _is_label_colon(clause, i):
        return ""
    if (
        token.text in _PUNCTUATION
        or _is_leader(clause, i)
        or _is_list_number(clause, i)
        or i in clause.demographic
    ):
        return "punct"
    if (
        token.text in {"-", "*"}
        and (i == 0 or _gap(clause, i) > 0)
        and not (i + 1 < len(clause.tokens) and _gap(clause, i + 1) == 0)
    ):
        return "punct"
    term = clause.term_at.get(i)
    if i and _gap(clause, i) >= 2 and i > first and clause.tokens[i - 1].text != ":":
        return "gap"
    if token.text == "/" and not term and 0 < i < len(clause.tokens) - 1:
        return "punct" if _both_sides_words(clause, i) else ""
    if clause.in_time[i] or (term and term.first != i):
        return ""
    if i == first and word in COORDINATORS | COMPANIONS | SUBORDINATORS:
        return ""
    if word in COORDINATORS:
        return "and"
    if word in COMPANIONS and not (word in {"requiring", "needing"} and i == first):
        return "with"
    if word in SUBORDINATORS:
        return "clause"
    if word in PREPOSITIONS and i > first:
        return word
    if word in REPORTING and i > first:
        return "report"
    if i in clause.subjects and i > first and has_verb(clause, Chunk(first, i)):
        return "subject"
    if term and term.concept in _MEASURED and i > first and _value_follows(clause, term.last):
        return "measure"
    return ""


def _is_list_number(clause: Clause, i: int) -> bool:
    """Return whether token `i` counts an item of a list ("1) CBC  2) film")."""
    if not (clause.tokens[i].text.isdigit() and i + 1 < len(clause.tokens)):
        return False
    before = [t.text for t in clause.tokens[:i]]
    closed = clause.tokens[i + 1].text == ")" and _gap(clause, i + 1) == 0
    return closed and before.count("(") <= before.count(")")


def _is_leader(clause: Clause, i: int) -> bool:
    """Return whether token `i` is a dot of a line that leads to a value."""
    near = clause.tokens[max(0, i - 1) : i + 2]
    return clause.tokens[i].text == "." and sum(t.text == "." for t in near) > 1


def _is_inside_time(clause: Clause, i: int) -> bool:
    """Return whether token `i` is inside a time ("at 5:20", "May, 2006")."""
    return 0 < i < len(clause.tokens) - 1 and all(clause.in_time[i - 1 : i + 2])


def _is_label_colon(clause: Clause, i: int) -> bool:
    """Return whether token `i` parts a measure and its value ("HR: 78")."""
    term = clause.term_at.get(i - 1)
    following = clause.tokens[i + 1 : i + 2]
    return term is not None and term.concept in _MEASURED and any(t.is_number for t in following)


def _gap(clause: Clause, i: int) -> int:
    """White space before token `i`; a tab counts as a column."""
    space = clause.text[clause.tokens[i - 1].end : clause.tokens[i].start]
    return len(space) + space.count("\t")


def _both_sides_words(clause: Clause, i: int) -> bool:
    before, after = clause.tokens[i - 1], clause.tokens[i + 1]
    dosed = before.is_number and i + 1 in clause.term_at
    return after.is_word and (
        dosed or (before.is_word and (i - 1 in clause.term_at or i + 1 in clause.term_at))
    )


def _value_follows(clause: Clause, i: int) -> bool:
    for j in range(i, min(i + 3, len(clause.tokens))):
        token = clause.tokens[j]
        if token.is_number or token.kind == "mixed":
            return True
        if token.lower not in {
            "-",
            ":",
            "of",
            "was",
            "is",
            "at",
            "to",
            "level",
            "=",
            ">",
            "<",
            "up",
            "peak",
            "nadir",
            "peaked",
        }:
            return False
    return False


def _join(clause: Clause, pieces: Sequence[Chunk]) -> list[Chunk]:
    joined: list[Chunk] = []
    for piece in pieces:
        if joined and _is_repeat(clause, joined[-1], piece):
            joined.append(Chunk(piece.first, piece.last, piece.separator, repeat=True))
        elif joined and _only_dates(clause, joined[-1], piece):
            if joined[-1].last - joined[-1].first <= _BARE_NAME:
                joined[-1].last = piece.last
            else:
                joined.append(Chunk(piece.first, piece.last, piece.separator, silent=True))
        elif joined and _is_attached(clause, joined[-1], piece):
            joined[-1].last = piece.last
        else:
            joined.append(Chunk(piece.first, piece.last, piece.separator))
    return joined


def _is_repeat(clause: Clause, left: Chunk, right: Chunk) -> bool:
    """Return whether `right` is one more time at which `left` happened.

    Examples: "hydralazine 10 mg at 0200 and 0415", "redosed 6/12 1545, 6/14 1040", "lasix 09:00
    and again minutes later".
    """
    if right.separator not in {"and", "punct"} or (
        right.separator == "punct" and clause.tokens[right.first - 1].text not in {",", "/"}
    ):
        return False
    words = [
        i
        for i in range(right.first, right.last)
        if clause.tokens[i].lower not in _LINKS and clause.tokens[i].kind != "other"
    ]
    if not words or not all(clause.in_time[i] for i in words):
        return False
    opened = left.first > 0 and clause.tokens[left.first - 1].text == "("
    again = any(clause.tokens[i].lower == "again" for i in range(right.first, right.last))
    return (
        (again or _has_clock(clause, right))
        and (left.repeat or opened or strength(clause, left.first, left.last) > 0)
        and (left.repeat or any(clause.in_time[left.first : left.last]))
    )


def _denies_something_else(clause: Clause, left: Chunk, right: Chunk) -> bool:
    """Return whether `right` denies a thing of its own: "soft without bruit"."""
    words = [t.lower for t in clause.tokens[right.first : right.first + 2]]
    opens = {"no", "without", "w/o", "never"}.intersection(words)
    manner = clause.tokens[right.last - 1].lower in _MANNERS
    return (
        bool(opens)
        and not manner
        and right.separator in {"and", "with"}
        and strength(clause, right.first, right.last) > 0
        and strength(clause, left.first, left.last) > 0
    )


def _has_clock(clause: Clause, chunk: Chunk) -> bool:
    start, end = clause.tokens[chunk.first].start, clause.tokens[chunk.last - 1].end
    return _CLOCK.search(clause.text, start, end) is not None


def _is_attached(clause: Clause, left: Chunk, right: Chunk) -> bool:
    """Return whether `right` is part of `left`, not an occurrence itself."""
    kind = right.separator
    here, there = strength(clause, right.first, right.last), strength(clause, left.first, left.last)
    if kind in {"punct", "arrow", "gap", "measure"}:
        if _is_label_of_act(clause, left, right) or _is_result_of_label(clause, left, right):
            return True
        if kind == "punct" and clause.text[clause.tokens[right.first - 1].start] == ",":
            return _needs_head(clause, left, right) and here > 0
        return kind == "measure" and (there == 0 or _is_plain_modifier(clause, left))
    if _continues_series(clause, left, right) or _denies_something_else(clause, left, right):
        return False
    if there == 0:
        return kind != "subject"
    if kind == "subject":
        return here < 2 and not has_value(clause, right.first, right.last)
    if kind == "and":
        if _is_modifier(clause, left) and here == 2 and right.last - right.first <= 4:
            return True
        return here == 0 or (here == 1 and not has_verb(clause, right))
    if kind == "with":
        if _names_people(clause, left):
            return True
        if _is_bare_act(clause, left):
            return True
        return here < 2 and not has_value(clause, right.first, right.last)
    if kind == "clause":
        if clause.tokens[right.first].lower in CONDITIONS:
            return True
        if (
            _names_without_value(clause, left)
            and has_value(clause, right.first, right.last)
            and right.last - right.first <= 6
        ):
            return True
        return here < 2 and not (here == 1 and has_verb(clause, right))
    if kind == "report":
        return (
            not concepts(clause, left.first, left.last)
            & {Concept.IMAGING, Concept.PROCEDURE, Concept.MICRO, Concept.LAB}
            or here < 2
        )
    return not _preposition_cuts(clause, left, right)


def _only_dates(clause: Clause, left: Chunk, right: Chunk) -> bool:
    """Return whether a clause only says when its neighbour happened.

    Examples: "afebrile after the drainage", "pulled before surgery", "restraints while intubated".
    """
    word = clause.tokens[right.first].lower
    named = strength(clause, right.first, right.last) == 2
    if right.separator != "clause" or not named or strength(clause, left.first, left.last) == 0:
        return False
    if word not in {"after", "before", "since", "until", "till", "while", "when", "once"}:
        return False
    if has_value(clause, right.first, right.last) or right.last - right.first > 6:
        return False
    subject = any(i in clause.subjects for i in range(right.first, right.last))
    return not subject and not any(clause.parts[i] == "AUX" for i in range(right.first, right.last))


def _preposition_cuts(clause: Clause, left: Chunk, right: Chunk) -> bool:
    found = concepts(clause, right.first, right.last)
    named = bool(concepts(clause, left.first, left.last))
    if right.separator == "for" and clause.tokens[left.last - 1].lower in REPORTING | NEGATIONS:
        return False
    if right.separator == "for":
        level = has_value(clause, right.first, right.last) and "level" in {
            t.lower for t in clause.tokens[right.first : right.last]
        }
        return level or (
            strength(clause, right.first, right.last) == 2
            and bool(found - {Concept.PLACE, Concept.DEVICE})
        )
    if right.separator in {"on", "to", "onto", "off"}:
        return named and bool(found & {Concept.DEVICE, Concept.DRUG})
    if right.separator in {"by", "from", "under", "into", "during"}:
        return named and bool(found & {Concept.FINDING, Concept.DRUG, Concept.IMAGING})
    return False


def _continues_series(clause: Clause, left: Chunk, right: Chunk) -> bool:
    """Return whether `right` is a value that continues a series of values.

    Examples: "32.8 on arrival and 29.9 overnight", "59, against 72 by lunchtime".
    """
    if (
        right.separator not in {"and", "with"}
        or not is_bare_value(clause, right)
        or not has_value(clause, 0, left.last)
    ):
        return False
    return any(
        clause.tokens[i].is_number
        for i in range(right.first, min(right.first + 4, right.last))
        if not clause.in_time[i]
    )


def _names_people(clause: Clause, chunk: Chunk) -> bool:
    """Return whether the chunk names only a person: "Brother with asthma"."""
    words = [t.lower for t in clause.tokens[chunk.first : chunk.last] if t.is_word]
    return bool(words) and all(w in PEOPLE or w in LEADING for w in words)


def _is_bare_act(clause: Clause, chunk: Chunk) -> bool:
    """Return whether the chunk is an act that needs its object.

    Examples: "calmed", "loaded". A move is complete alone.
    """
    words = {clause.tokens[i].lower for i in range(chunk.first, chunk.last)}
    return (
        not concepts(clause, chunk.first, chunk.last)
        and bool(words & ACTIONS)
        and not words & MOVES
    )


def _names_without_value(clause: Clause, chunk: Chunk) -> bool:
    return bool(concepts(clause, chunk.first, chunk.last) & _MEASURED) and not has_value(
        clause, chunk.first, chunk.last
    )


def _needs_head(clause: Clause, left: Chunk, right: Chunk) -> bool:
    """Adjectives in a row: "watery, non-bloody diarrhea" is one thing."""
    if _is_modifier(clause, left):
        return True
    last, following = left.last - 1, min(right.first, right.last - 1)
    return (
        clause.parts[last] == "ADJ"
        and clause.parts[following] == "ADJ"
        and last not in clause.term_at
        and clause.tokens[last].lower not in ACTIONS
        and not concepts(clause, left.first, left.last)
    )


def _is_modifier(clause: Clause, chunk: Chunk) -> bool:
    """Return whether the chunk is one or two words that wait for their head.

    They are adjectives or nouns: "atrial" in "atrial and ventricular wires".
    """
    body = [
        i
        for i in range(chunk.first, chunk.last)
        if clause.tokens[i].is_word
        and clause.tokens[i].lower not in {"a", "an", "the", "and", "with"}
    ]
    if not body or len(body) > 3:
        return False
    return clause.parts[body[-1]] == "ADJ" and not any(
        i in clause.term_at or clause.tokens[i].lower in ACTIONS | NEGATIONS for i in body
    )


def _is_label_of_act(clause: Clause, left: Chunk, right: Chunk) -> bool:
    """ "STOPPED: warfarin": the act comes before the colon."""
    colon = right.separator == "punct" and clause.tokens[right.first - 1].text == ":"
    return (
        colon and left.last - left.first == 1 and clause.tokens[left.first].lower in TREATMENT_ACTS
    )


def _is_result_of_label(clause: Clause, left: Chunk, right: Chunk) -> bool:
    """Return whether `right` is the result of the label `left`.

    A culture and its first result are one occurrence ("Urine culture 9/21: no growth"), and so is
    what dots lead to ("SODIUM ........ 131").
    """
    mark = clause.tokens[right.first - 1].text
    if mark == ".":
        return True
    cultured = Concept.MICRO in concepts(clause, left.first, left.last)
    return (
        mark == ":"
        and right.separator == "punct"
        and cultured
        and not has_verb(clause, left)
        and Concept.MICRO not in concepts(clause, right.first, right.last)
        and strength(clause, right.first, right.last) > 0
    )


def _is_plain_modifier(clause: Clause, chunk: Chunk) -> bool:
    """Return whether the chunk only modifies the measure after it.

    It has up to three words without term or value: "repeat", "initial", "left radial".
    """
    if chunk.last - chunk.first > 3 or has_value(clause, chunk.first, chunk.last):
        return False
    span = range(chunk.first, chunk.last)
    return not any(
        i in clause.term_at
        or clause.in_time[i]
        or (clause.parts[i] == "VERB" and clause.tokens[i].lower != "repeat")
        for i in span
    )
