"""The note, and the names of the record's series, as prompts show them.

The note is shown with identifiers, cut by the protocol's limits in a fixed order, or in numbered
sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from timelines.domain import Inventory, Occurrence, TaggedNote
from timelines.pipeline.tagging import Chunk

_SENTENCE_END = re.compile(r"(?<=[.!?])[ \t]+(?=[A-Z0-9(\"'])")


@dataclass(frozen=True, slots=True)
class Shown:
    """A note, or a list of names, as a prompt shows it.

    `cut` describes what was left out; it is empty if nothing was.
    """

    text: str
    cut: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A piece of the note between two line breaks or sentence ends.

    `[start, end)` in code points.
    """

    start: int
    end: int


def mark_uids(note: str, inventory: Inventory, start: int = 0, end: int | None = None) -> str:
    """Return `[start, end)` of the note with occurrences marked.

    Each occurrence inside the range is written between `<uid>` and `</uid>`, also if spans nest or
    cross.
    """
    end = len(note) if end is None else end
    opening: dict[int, list[tuple[int, str]]] = {}
    closing: dict[int, list[tuple[int, str]]] = {}
    for o in inventory:
        if o.start is not None and o.end is not None and start <= o.start and o.end <= end:
            opening.setdefault(o.start, []).append((-o.end, f"<{o.uid}>"))
            closing.setdefault(o.end, []).append((-o.start, f"</{o.uid}>"))
    marks = sorted({start, end, *opening, *closing})
    pieces = []
    for at, following in zip(marks, [*marks[1:], end], strict=True):
        pieces += [markup for _, markup in sorted(closing.get(at, ()), key=lambda m: m[0])]
        pieces += [markup for _, markup in sorted(opening.get(at, ()), key=lambda m: m[0])]
        pieces.append(note[at:following])
    return "".join(pieces)


def show_note(
    note: TaggedNote, occurrences: Sequence[Occurrence], *, whole: int, local: int
) -> Shown:
    """Return the whole note with identifiers, or excerpts if too long.

    A note of more than `whole` characters is cut to what surrounds the occurrences: `local`
    characters on each side, with touching pieces joined. If the pieces still exceed `whole`
    characters they are made shorter, never fewer.
    """
    text = mark_uids(note.text, note.inventory)
    if len(text) <= whole:
        return Shown(text)
    located = [(o.start, o.end) for o in occurrences if o.start is not None and o.end is not None]
    cut = cut_around(
        note.text,
        located,
        whole,
        local,
        lambda start, end: mark_uids(note.text, note.inventory, start, end),
    )
    return Shown(cut, shortened_words(text, local))


def shortened_words(note: str, local: int) -> str:
    """Describe how a note was cut, without its text."""
    return f"note of {len(note)} characters shown within {local} characters of each event"


def cut_around(
    note: str,
    spans: Sequence[tuple[int, int]],
    whole: int,
    local: int,
    show: Callable[[int, int], str] | None = None,
) -> str:
    """Return what surrounds the spans, `local` characters on each side.

    Touching pieces are joined. Pieces are made shorter, never fewer, until at most `whole`
    characters are left. `show` renders a piece (start, end) of the note.
    """
    render = show or (lambda start, end: note[start:end])
    while True:
        cut = "\n[…]\n".join(render(start, end) for start, end in _pieces(note, spans, local))
        if len(cut) <= whole or local <= 40:
            return cut
        local = max(40, local // 2)


def _pieces(note: str, spans: Sequence[tuple[int, int]], local: int) -> list[tuple[int, int]]:
    pieces: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        beside = max(0, (local - (end - start)) // 2)
        left, right = max(0, start - beside), min(len(note), max(end, start + local - beside))
        if pieces and left <= pieces[-1][1]:
            pieces[-1] = (pieces[-1][0], max(right, pieces[-1][1]))
        else:
            pieces.append((left, right))
    return pieces


def find_sentences(note: str, chunk: Chunk) -> list[Sentence]:
    """Return the sentences of a chunk, without white space at their edges.

    Empty sentences are omitted. Every other character is in one sentence.
    """
    found: list[Sentence] = []
    at = chunk.start
    for line in re.split(r"(\r\n|\r|\n)", note[chunk.start : chunk.end]):
        begin = at
        for stop in [*(m.start() for m in _SENTENCE_END.finditer(line)), len(line)]:
            piece = line[begin - at : stop]
            stripped = piece.strip()
            if stripped:
                first = begin + len(piece) - len(piece.lstrip())
                found.append(Sentence(first, first + len(stripped)))
            begin = at + stop
        at += len(line)
    return found


def number_sentences(note: str, sentences: Sequence[Sentence]) -> str:
    """Return lines of the form `1: sentence`.

    Sentences contain no line breaks, so lines and numbers agree.
    """
    return "\n".join(f"{n}: {note[s.start : s.end]}" for n, s in enumerate(sentences, start=1))


def list_names(names: Sequence[str], most: int) -> Shown:
    """Return the names of series in groups, so that each word is written once.

    A line is `source (ending): name; name`. The source is the part before the first colon of a
    name, the ending what follows the last one. A name with several endings is listed once, with all
    of them. If the lines have more than `most` characters, each keeps its share of them, and says
    how many names it left out.
    """
    endings: dict[tuple[str, str], set[str]] = {}
    for full in names:
        source, name, ending = _split_name(full)
        endings.setdefault((source, name), set()).add(ending)
    groups: dict[str, list[str]] = {}
    for (source, name), found in sorted(endings.items()):
        common = ", ".join(sorted(found - {""}))
        groups.setdefault(f"{source} ({common})" if common else source, []).append(name)
    groups = dict(sorted(groups.items()))
    lines = {group: f"{group}: {'; '.join(listed)}" for group, listed in groups.items()}
    total = sum(len(line) + 1 for line in lines.values())
    if total <= most:
        return Shown("\n".join(lines.values()))
    share = {group: most * len(line) // total for group, line in lines.items()}
    cut = [_cut_names(group, listed, share[group]) for group, listed in groups.items()]
    words = f"names of {len(endings)} series shown in {most} characters"
    return Shown("\n".join(cut), words)


def _split_name(name: str) -> tuple[str, str, str]:
    """Split `med:heparin:start` into (source, name, ending).

    A name without colons has no source.
    """
    parts = [" ".join(part.split()) for part in name.split(":")]
    if len(parts) == 1:
        return "other", parts[0], ""
    if len(parts) == 2:
        return parts[0], parts[1], ""
    return parts[0], ":".join(parts[1:-1]), parts[-1]


def _cut_names(group: str, names: Sequence[str], most: int) -> str:
    """Return the line of a group in about `most` characters.

    It has at least one name.
    """
    shown = list(names[:1])
    length = len(group) + len(shown[0])
    for name in names[1:]:
        length += len(name) + 2
        if length > most:
            break
        shown.append(name)
    left = len(names) - len(shown)
    return f"{group}: {'; '.join(shown)}" + (f"; and {left} more" if left else "")
