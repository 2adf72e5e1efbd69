"""Split a clinical note into sentences and list items.

A parser trained on newspapers splits abbreviated notes badly ("Cr 1.2. pulm HTN. s/p ICD"), so the
boundaries come from punctuation, line breaks and list marks, and the parser must use them.
"""

from __future__ import annotations

import itertools
import re

#: Never the end of a sentence. Dotted ones (p.o., b.i.d., a.m.) end one only before a capital.
_ABBREVIATIONS = frozenset(
    {
        "dr",
        "mr",
        "mrs",
        "ms",
        "prof",
        "st",
        "vs",
        "approx",
        "e.g",
        "i.e",
        "eg",
        "ie",
        "etc",
        "al",
        "fig",
        "jr",
        "sr",
    }
)
_DOTTED = re.compile(r"(?:[a-z]\.)+[a-z]")
#: Characters. A longer piece of a note is not a sentence but text without punctuation.
_MAX_SENTENCE = 1200
_TERMINAL = re.compile(r"[.!?]+[\"')\]]*(?=\s|,\s*(?:\d{1,2}\.|[A-Z]))")
#: Characters by which lines of a wrapped note may differ from the widest one.
_RAGGED = 8
_BULLET = re.compile(r"[ \t]*(?:[-*•·>+–]+\s|\d{1,2}[.)]\s|\(?[a-z][.)]\s|#)")
_ITEM_AFTER_COMMA = re.compile(r"(?<=[.,:;)\w]),\s*(?=\d{1,2}\.\s*[A-Z])")
#: The number of an item inside a line; after a colon the list begins with 1.
_ITEM_NUMBER = re.compile(r"[.,]\s*,?\s*\d{1,2}$|:\s*,?\s*1$")
#: Day and month, each with a point, perhaps with a year.
DOTTED_DATE = re.compile(
    r"(?<![\w.,/:+-])(?P<d>3[01]|[12]\d|0?[1-9])\.\s?(?P<m>1[0-2]|0?[1-9])\."
    r"(?:\s?(?P<y>[12]\d{3})\b|(?![\d.]))"
)
#: "On 22.9. she …": the sentence goes on.
_RUNNING_DATE = re.compile(r"(?<![\d.])\d{1,2}\.\s?\d{1,2}\.(?=\s+[a-z(])")
#: From this many dates with points and a year on, a note writes its dates so.
_HABIT = 2
_LIST_NUMBER = re.compile(r"(?:^|[\s,])\d{1,2}$")


def writes_dotted_dates(text: str) -> bool:
    """Return whether a note writes dates as "26.8.2113"."""
    return sum(m["y"] is not None for m in DOTTED_DATE.finditer(text)) >= _HABIT


def unwrap_lines(text: str) -> str:
    """Return the text with a space for each break that only keeps lines short.

    Offsets do not change. A note is taken as wrapped if no line is long, and many lines of about
    the same width end inside a sentence. A break is kept if the next word would have had room.
    """
    lines = list(re.finditer(r"[^\r\n]+", text))
    width = max((len(m.group().rstrip()) for m in lines), default=0)
    if not _is_wrapped([m.group().rstrip() for m in lines], width):
        return text
    parts, done = [], 0
    for before, after in itertools.pairwise(lines):
        gap = text[before.end() : after.start()]
        if gap in ("\n", "\r", "\r\n") and _continues(before.group(), after.group(), width):
            parts += [text[done : before.end()], " " * len(gap)]
            done = after.start()
    return "".join([*parts, text[done:]])


def _is_wrapped(lines: list[str], width: int) -> bool:
    long_lines = [line for line in lines if len(line) >= 55]
    open_ended = sum(1 for line in long_lines if line[-1] not in ".:;!?")
    return len(long_lines) >= 4 and width <= 110 and open_ended >= 0.4 * len(long_lines)


def _continues(line: str, following: str, width: int) -> bool:
    word = following.lstrip().partition(" ")[0]
    full = len(line.rstrip()) + 1 + len(word) > width - _RAGGED
    return full and not _BULLET.match(following) and line.rstrip()[-1:] not in (":", "!", "?")


def sentence_spans(
    text: str, section_starts: list[int], body_starts: list[int]
) -> list[tuple[int, int]]:
    """Return `[start, end)` of every sentence or list item, in order.

    Surrounding white space is excluded. `section_starts` and `body_starts` are offsets that always
    begin a sentence.
    """
    cuts = {0, len(text), *section_starts, *body_starts}
    cuts.update(_line_cuts(text))
    inside = {m.end() for m in _RUNNING_DATE.finditer(text)} if writes_dotted_dates(text) else set()
    cuts.update(
        m.end()
        for m in _TERMINAL.finditer(text)
        if m.end() not in inside and _ends_sentence(text, m)
    )
    cuts.update(m.end() for m in _ITEM_AFTER_COMMA.finditer(text))
    ordered = sorted(cuts | set(_cuts_of_long_pieces(text, sorted(cuts))))
    spans = []
    for start, end in itertools.pairwise(ordered):
        piece = text[start:end]
        body = piece.strip()
        if body.strip(",.;:-*#"):
            first = start + len(piece) - len(piece.lstrip())
            spans.append((first, first + len(body)))
    return spans


def _cuts_of_long_pieces(text: str, cuts: list[int]) -> list[int]:
    """Return offsets that cut every piece to `_MAX_SENTENCE` at most.

    Cuts are at white space if there is any. Text without punctuation stays cheap to parse.
    """
    extra = []
    for start, end in itertools.pairwise(cuts):
        while end - start > _MAX_SENTENCE:
            space = max(
                text.rfind(" ", start + 1, start + _MAX_SENTENCE),
                text.rfind("\t", start + 1, start + _MAX_SENTENCE),
            )
            start = space if space > start else start + _MAX_SENTENCE
            extra.append(start)
    return extra


def _line_cuts(text: str) -> list[int]:
    return [m.start() for m in re.finditer(r"[^\r\n]+", text)]


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    if match.group().startswith("...."):
        return False  # dots that lead to a value: "SODIUM ........ 131"
    word = re.search(r"\S*$", text[max(0, match.start() - 20) : match.start()])
    before = word.group().lower().strip("(\"'[,") if word else ""
    if match.group()[0] == "." and (
        before in _ABBREVIATIONS
        or (
            re.fullmatch(r"[a-z]", word.group() if word else "")
            and not _ends_with_amount(text, match.start(), match.end())
        )
    ):
        return False
    # An abbreviated genus, "E. coli": a letter, then a lower-case one.
    if (
        match.group() == "."
        and re.fullmatch(r"[a-z]", before)
        and text[match.end() : match.end() + 2].lstrip()[:1].islower()
    ):
        return False
    if _DOTTED.fullmatch(before) and not text[match.end() : match.end() + 4].lstrip()[:1].isupper():
        return False
    if match.group() == "." and _LIST_NUMBER.search(
        text[max(0, match.start() - 4) : match.start()]
    ):
        line_start = max(text.rfind("\n", 0, match.start()), text.rfind("\r", 0, match.start())) + 1
        lead = text[line_start : match.start()]
        if re.fullmatch(r"[\s\-*•(]*\d{1,2}", lead) or _ITEM_NUMBER.search(lead):
            return False
    return True


def _ends_with_amount(text: str, stop: int, after: int) -> bool:
    """Return whether a unit of one letter ends a sentence.

    Example: "for 48 h. Stop vancomycin".
    """
    amount = re.search(r"\d ?[a-z]$", text[max(0, stop - 6) : stop])
    return amount is not None and text[after : after + 4].lstrip()[:1].isupper()
