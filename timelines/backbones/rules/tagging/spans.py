"""Turn a chunk into the span that is highlighted.

Function words and distant times at its ends are removed.
"""

from __future__ import annotations

from dataclasses import replace

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
    COORDINATORS,
    LEADING,
    NEGATIONS,
    TRAILING,
    TREATMENT_ACTS,
    UNITS,
)

#: Characters: a span up to this length may be extended by function words. Any span may be extended
#: by the time before it, at most to this multiple of its length.
_SHORT = 16
_WIDEN = 2.5
_FILLERS = frozenset(
    {
        "was",
        "were",
        "is",
        "are",
        "had",
        "has",
        "been",
        "it",
        "he",
        "she",
        "they",
        "his",
        "her",
        "its",
        "the",
        "to",
        "down",
        "up",
        "a",
        "an",
        "then",
        "already",
        "also",
        "there",
    }
)
#: Names that may have a dose.
_DOSED = frozenset({Concept.DRUG, Concept.FLUID})
_ARTICLES = frozenset({"the", "a", "an"})
#: Prepositions of a place, the most words of its name, and words that begin the subject after it.
_SETTING = frozenset({"in", "on", "at"})
_SETTING_WORDS = 5
_SUBJECT_BEGINS = _ARTICLES | {"his", "her", "he", "she", "they", "there"}


def trim(clause: Clause, chunk: Chunk) -> Chunk | None:
    """Return the chunk without empty words at its ends.

    None if nothing remains.
    """
    if chunk.repeat:
        first = chunk.first + (clause.tokens[chunk.first].lower in COORDINATORS)
        last = chunk.last - (clause.tokens[chunk.last - 1].text == ".")
        return replace(chunk, first=first, last=last)
    first, last = _skip_ordinal(clause, chunk), chunk.last
    while first < last and _droppable(clause, first, LEADING):
        first += 1
    while last > first and _droppable(clause, last - 1, TRAILING, at_end=True):
        last -= 1
    first = _skip_time(clause, first, last)
    while first < last and _droppable(clause, first, LEADING):
        first += 1
    first = _keep_setting(clause, chunk.first, first, last)
    first = _widen(clause, chunk.first, first, last)
    return replace(chunk, first=first, last=last) if first < last else None


def _skip_ordinal(clause: Clause, chunk: Chunk) -> int:
    """Past the number of a list item: "3. Colchicine"."""
    head = clause.tokens[chunk.first : chunk.first + 2]
    return (
        chunk.first + 2
        if len(head) == 2 and head[0].is_number and head[1].text in {".", ")"} and chunk.first == 0
        else chunk.first
    )


def _droppable(clause: Clause, i: int, words: frozenset[str], at_end: bool = False) -> bool:
    token = clause.tokens[i]
    if token.lower == "at" and clause.tokens[min(i + 1, len(clause.tokens) - 1)].lower in {
        "least",
        "most",
    }:
        return False
    if token.lower in NEGATIONS or i in clause.term_at or (clause.in_time[i] and at_end):
        return False
    return token.lower in words or token.kind in {"other", "blank", "arrow"}


def _skip_time(clause: Clause, first: int, last: int) -> int:
    i = first
    while i < last and clause.in_time[i]:
        i += 1
    return i if i < last else first


def _keep_setting(clause: Clause, floor: int, first: int, last: int) -> int:
    """Keep the preposition of a place before the subject.

    "In the emergency department his pressure was 90/60": without it, the place reads as the
    subject.
    """
    at = first - 1
    if at > floor and clause.tokens[at].lower in _ARTICLES:
        at -= 1
    if at < floor or clause.tokens[at].lower not in _SETTING:
        return first
    following = clause.tokens[first + 1 : min(last, first + _SETTING_WORDS)]
    return at if any(token.lower in _SUBJECT_BEGINS for token in following) else first


def _widen(clause: Clause, floor: int, first: int, last: int) -> int:
    """Extend a span by the time before it, as far as the words fit.

    Examples: "At midnight he was unresponsive", "early on POD 2 it was 24.3". A few letters
    ("24.3", "stopped") are extended by any function words.
    """
    if first >= last:
        return first
    body = clause.tokens[last - 1].end - clause.tokens[first].start
    limit = clause.tokens[last - 1].end - _WIDEN * body
    elliptical = body <= _SHORT and any(
        clause.tokens[i].is_number or clause.parts[i] in {"VERB", "AUX"} for i in range(first, last)
    )
    wanted = elliptical
    best = first
    for i in range(first - 1, floor - 1, -1):
        token = clause.tokens[i]
        if token.start < limit or not (clause.in_time[i] or token.lower in _FILLERS):
            break
        if clause.in_time[i] or token.lower in _ARTICLES:
            wanted = True
        if wanted and (not clause.in_time[i] or i == floor or not clause.in_time[i - 1]):
            best = i
    return best


def absorb_parentheses(clause: Clause, chunks: list[Chunk], always: bool = False) -> list[Chunk]:
    """Join a parenthesis that only qualifies its left neighbour to it.

    It dates, doses or places the neighbour: "CXR (HD2)", "dobutamine (2.5)". With `always` every
    parenthesis joins, as for the reaction of an allergy.
    """
    out: list[Chunk] = []
    for i, chunk in enumerate(chunks):
        closes = chunk.last < len(clause.tokens) and clause.tokens[chunk.last].text == ")"
        opens = chunk.first > 0 and clause.tokens[chunk.first - 1].text == "("
        goes_on = i + 1 < len(chunks) and chunks[i + 1].repeat
        if (
            out
            and opens
            and (closes or goes_on)
            and out[-1].last == chunk.first - 1
            and (always or _is_qualifier(clause, out[-1], chunk))
        ):
            out[-1] = Chunk(out[-1].first, chunk.last + closes, out[-1].separator)
        else:
            out.append(chunk)
    return out


def _is_qualifier(clause: Clause, named: Chunk, chunk: Chunk) -> bool:
    if all(clause.in_time[chunk.first : chunk.last]):
        return True
    if is_bare_value(clause, chunk):
        return not has_value(clause, named.first, named.last)
    words = chunk.last - chunk.first
    if has_value(clause, chunk.first, chunk.last):
        return words <= 3 and strength(clause, chunk.first, chunk.last) < 2
    separate = concepts(clause, chunk.first, chunk.last) & (_DOSED | {Concept.DEVICE})
    return words <= 4 and not separate and not has_verb(clause, chunk)


def share_predicates(clause: Clause, chunks: list[Chunk]) -> list[Chunk]:
    """Extend coordinated names to the act they share.

    "vancomycin and cefepime stopped" gives two overlapping spans.
    """
    out = list(chunks)
    for i in range(len(chunks) - 2, -1, -1):
        name, following = chunks[i], out[i + 1]
        if (
            following.separator not in {"and", "punct"}
            or not _is_name(clause, name)
            or not _between_is_coordination(clause, name, chunks[i + 1])
        ):
            continue
        comma = clause.tokens[chunks[i + 1].first - 1].text == ","
        if comma and out[i + 1].last == chunks[i + 1].last and not out[i + 1].shared:
            continue
        slash = clause.tokens[chunks[i + 1].first - 1].text == "/"
        act = (0 if slash else following.shared) or _act_after_name(
            clause, chunks[i + 1], concepts(clause, name.first, name.last)
        )
        act = act or _shared_time(clause, name, chunks[i + 1])
        if act:
            out[i] = Chunk(name.first, act, name.separator, shared=act, named=name.last)
    return out


def _shared_time(clause: Clause, name: Chunk, following: Chunk) -> int:
    """Return the end of two coordinated names whose one time dates both.

    Example: "senna and docusate on day 7". 0 if there is none.
    """
    pair = following.separator == "and" and not any(clause.in_time[name.first : name.last])
    found = concepts(clause, name.first, name.last)
    alike = bool(found) and found == concepts(clause, following.first, following.last)
    dated = clause.in_time[following.last - 1] and not has_verb(clause, following)
    short = following.last - following.first <= 10
    return following.last if pair and alike and dated and short else 0


def _is_name(clause: Clause, chunk: Chunk) -> bool:
    """A short noun phrase of one term without a verb, perhaps with a dose."""
    found = concepts(clause, chunk.first, chunk.last)
    dosed = found <= _DOSED
    if chunk.last - chunk.first > (7 if dosed else 4) or len(found) != 1:
        return False
    return not any(
        clause.parts[i] in {"VERB", "AUX"} or clause.tokens[i].lower in ACTIONS | NEGATIONS
        for i in range(chunk.first, chunk.last)
        if not (dosed and clause.tokens[i].lower in UNITS)
    )


def _between_is_coordination(clause: Clause, left: Chunk, right: Chunk) -> bool:
    between = {clause.tokens[i].lower for i in range(left.last, right.first)}
    return bool(between) and between <= {
        *(",", "and", "or", "&", "+", "/", "plus"),
        *("the", "a", "his", "her"),
    }


def _act_after_name(clause: Clause, chunk: Chunk, family: set[Concept]) -> int:
    """Return the index after the verb that follows name and dose in `chunk`.

    0 if there is no such verb or the name is not of the same family. After a drug, the name may be
    one that no word list contains.
    """
    terms = [t for t in clause.terms if chunk.first <= t.first < chunk.last]
    treats = family <= _DOSED
    if Concept.FINDING in family or not (
        terms[0].concept in family or (treats and terms[0].concept in _DOSED) if terms else treats
    ):
        return 0
    start = terms[0].last if terms else chunk.first
    for i in range(start, min(start + 8, chunk.last)):
        token = clause.tokens[i]
        if token.lower in (ACTIONS if terms else TREATMENT_ACTS) or (
            terms and clause.parts[i] == "VERB"
        ):
            return i + 1
        quiet = {"AUX", "ADV", "PRON", "DET"} if terms else {"AUX", "ADV", "NOUN", "PROPN", "ADJ"}
        amount = token.is_number or token.lower in UNITS or token.kind == "mixed"
        if not amount and token.text != "/" and clause.parts[i] not in quiet:
            return 0
    return 0


def leading_time(clause: Clause, chunk: Chunk) -> str:
    """Return the time that opens the clause of the chunk, else empty.

    Function words are removed. Example: "On POD 4 she was walking".
    """
    i = chunk.first
    while i > 0 and clause.tokens[i - 1].lower in _FILLERS:
        i -= 1
    comma = i > 0 and clause.tokens[i - 1].text == ","
    end = i - 1 if comma else i
    first = end
    while first > 0 and clause.in_time[first - 1]:
        first -= 1
    opens = first == 0 or (
        not comma and clause.tokens[first - 1].lower in {",", ";", ":", "and", "but"}
    )
    return _plain_time(clause, first, end) if opens else ""


def opens_line(clause: Clause, chunks: list[Chunk]) -> str:
    """Return the time or place that heads a row of values, else empty.

    Example: "HD4 AM Hgb-9.0 INR-2.2".
    """
    if (
        len(chunks) < 2
        or chunks[1].separator != "gap"
        or strength(clause, chunks[0].first, chunks[0].last)
    ):
        return ""
    return _text(clause, chunks[0].first, chunks[0].last)


def _plain_time(clause: Clause, first: int, last: int) -> str:
    while first < last and clause.tokens[first].lower in {
        "on",
        "in",
        "at",
        "by",
        "the",
        "and",
        "which",
    }:
        first += 1
    return _text(clause, first, last) if first < last else ""


def _text(clause: Clause, first: int, last: int) -> str:
    return " ".join(clause.text[clause.tokens[first].start : clause.tokens[last - 1].end].split())
