"""Changes of a note that must not matter for the times of its events.

A changed note remembers where each piece of the old text is, so that the occurrences of both can
be compared.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

#: A heading alone on its line.
_HEADING = re.compile(
    r"^[ \t]*(?:#+[ \t]*)?[A-Z][A-Za-z /&,()#-]{1,60}:[ \t]*$|^[A-Z][A-Z /&,()-]{2,60}$", re.M
)
#: Other names of the sections of a discharge summary.
_SYNONYMS = {
    "history of present illness": "presenting history",
    "history of presenting illness": "presenting history",
    "hpi": "presenting history",
    "past medical history": "previous illnesses",
    "pmh": "previous illnesses",
    "brief hospital course": "course of the stay",
    "hospital course": "course of the stay",
    "course by system": "course of the stay by system",
    "physical exam": "examination",
    "exam": "physical examination",
    "pertinent results": "results",
    "labs": "laboratory results",
    "discharge medications": "medications at discharge",
    "discharge meds": "medications at discharge",
    "medications on admission": "medications before admission",
    "home meds": "medications before admission",
    "discharge diagnosis": "diagnoses at discharge",
    "discharge instructions": "advice to the patient",
    "chief complaint": "reason for coming",
    "allergies": "drug reactions",
}
_NAMED = re.compile(
    rf"^(?P<name>{'|'.join(sorted(map(re.escape, _SYNONYMS), key=len, reverse=True))})(?=[ \t]*:|[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_PARAGRAPH = re.compile(r"(?:^[^\n]*\S[^\n]*\n?)+", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[a-z)%]{2}[.])[ \n](?=[A-Z])")
_PROSE_LENGTH = 200
_BULLET = re.compile(r"\n[-*•][ \t]+")
_PROBLEM = re.compile(r"^#[^\n]*\n(?:(?!#|\n)[^\n]*\n?)*", re.MULTILINE)


@dataclass(frozen=True)
class Edit:
    """Text to put in the place of [start, end) of the old note."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Piece:
    """Old text [start, end) that is unchanged from `to` on in the new note."""

    start: int
    end: int
    to: int


@dataclass(frozen=True)
class Changed:
    """A changed note, and where the old text is in it.

    t = 0 is later by `minutes`.
    """

    text: str
    pieces: tuple[Piece, ...]
    minutes: int = 0

    def find_span(self, start: int, end: int) -> tuple[int, int] | None:
        """Return where the old span is now; None if one of its ends was replaced."""
        first, last = self._find(start), self._find(end - 1)
        return None if first is None or last is None or last < first else (first, last + 1)

    def _find(self, place: int) -> int | None:
        return next((p.to + place - p.start for p in self.pieces if p.start <= place < p.end), None)


def apply(note: str, edits: Iterable[Edit], *, minutes: int = 0) -> Changed:
    """Apply edits that do not overlap."""
    parts: list[str] = []
    pieces: list[Piece] = []
    done = length = 0
    for edit in [*sorted(edits, key=lambda e: e.start), Edit(len(note), len(note), "")]:
        if edit.start > done:
            pieces.append(Piece(done, edit.start, length))
            parts.append(note[done : edit.start])
            length += edit.start - done
        parts.append(edit.text)
        length += len(edit.text)
        done = edit.end
    return Changed("".join(parts), tuple(pieces), minutes)


def drop_headings(note: str) -> Changed:
    """Remove headings that have a line of their own."""
    return apply(note, (Edit(m.start(), m.end(), "") for m in _HEADING.finditer(note)))


def rename_headings(note: str) -> Changed:
    """Give known sections another usual name, in the same case."""

    def other(name: str) -> str:
        words = _SYNONYMS[name.lower()]
        return words.upper() if name.isupper() else words.capitalize()

    return apply(note, (Edit(m.start(), m.end(), other(m["name"])) for m in _NAMED.finditer(note)))


def number_paragraphs(note: str) -> Changed:
    """Put "1. ", "2. ", … before paragraphs of prose."""
    return apply(note, (Edit(s, s, f"{n}. ") for n, (s, _) in enumerate(_find_prose(note), 1)))


def bullet_sentences(note: str) -> Changed:
    """Write each sentence of a paragraph of prose on a line with a bullet."""
    edits = []
    for start, end in _find_prose(note):
        edits.append(Edit(start, start, "- "))
        edits += [
            Edit(m.start(), m.end(), "\n- ") for m in _SENTENCE_END.finditer(note, start, end)
        ]
    return apply(note, edits)


def join_bullets(note: str) -> Changed:
    """Write bullets as sentences of one paragraph."""

    def joint(match: re.Match[str]) -> str:
        before = note[: match.start()].rstrip()[-1:]
        if before in ("", ":"):
            return "\n"
        return " " if before in ".!?;" else ". "

    return apply(note, (Edit(m.start(), m.end(), joint(m)) for m in _BULLET.finditer(note)))


def upper_case(note: str) -> Changed:
    """Write everything in capitals."""
    return Changed(
        "".join(c.upper() if len(c.upper()) == 1 else c for c in note), (Piece(0, len(note), 0),)
    )


def narrow_lines(note: str) -> Changed:
    """Break every line at 72 characters, as an editor of fixed width does."""
    edits = []
    start = 0
    for m in re.finditer(r"[ \n]", note):
        if m.group() == "\n":
            start = m.end()
            continue
        word_end = re.compile(r"[ \n]|$").search(note, m.end())
        if word_end is not None and word_end.start() - start > 72 and m.start() > start:
            edits.append(Edit(m.start(), m.end(), "\n"))
            start = m.end()
    return apply(note, edits)


def other_redaction(note: str) -> Changed:
    """Mark removed names in another way."""
    return apply(note, (Edit(m.start(), m.end(), "[**Name**]") for m in re.finditer("_{3,}", note)))


def other_days(note: str) -> Changed:
    """Exchange long and short names of days.

    "hospital day 2" and "HD2", "postoperative day 1" and "POD1".
    """
    edits = []
    for long, short in (("hospital day", "HD"), ("postoperative day", "POD")):
        edits += [
            Edit(m.start(), m.end(), f"{short}{m[1]}")
            for m in re.finditer(rf"\b{long} (\d+)", note, re.IGNORECASE)
        ]
        edits += [
            Edit(m.start(), m.end(), f"{long} {m[1]}")
            for m in re.finditer(rf"\b{short}[ #]*(\d+)(?![\d/-])", note)
        ]
    return apply(note, edits)


def later_by_half_an_hour(note: str) -> Changed:
    """Move the admission and all clock times by 30 minutes."""
    edits = []
    for m in re.finditer(r"\b([01]?\d|2[0-3]):([0-5]\d)\b", note):
        later = datetime(2000, 1, 1, int(m[1]), int(m[2])) + timedelta(minutes=30)
        if later.day == 1:
            edits.append(Edit(m.start(), m.end(), f"{later:%H:%M}"))
    return apply(note, edits, minutes=30)


def reverse_problems(note: str) -> Changed:
    """Write the problems of a course by problem ("# …") in the opposite order."""
    blocks = [(m.start(), m.end()) for m in _PROBLEM.finditer(note)]
    if len(blocks) < 2 or any(a[1] != b[0] for a, b in itertools.pairwise(blocks)):
        return apply(note, ())
    first, last = blocks[0][0], blocks[-1][1]
    order = [(0, first), *reversed(blocks), (last, len(note))]
    text, pieces = "", []
    for start, end in order:
        pieces.append(Piece(start, end, len(text)))
        text += note[start:end]
    return Changed(text, tuple(pieces))


CHANGES: Sequence[Callable[[str], Changed]] = (
    drop_headings,
    rename_headings,
    number_paragraphs,
    bullet_sentences,
    join_bullets,
    upper_case,
    narrow_lines,
    other_redaction,
    other_days,
    later_by_half_an_hour,
    reverse_problems,
)


def _find_prose(note: str) -> list[tuple[int, int]]:
    """Return the paragraphs of prose.

    They are long, have several sentences and no list, and begin after their heading.
    """
    found = []
    for m in _PARAGRAPH.finditer(note):
        start = m.start()
        head = _HEADING.match(note, start)
        if head:
            start = min(head.end() + 1, m.end())
        body = note[start : m.end()]
        if (
            len(body) >= _PROSE_LENGTH
            and len(_SENTENCE_END.findall(body)) >= 2
            and not re.search(r"^[ \t]*(?:[-*•#]|\d+[.)])", body, re.MULTILINE)
        ):
            found.append((start, m.end()))
    return found
