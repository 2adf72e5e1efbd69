"""brat standoff: `.ann` files, each with its `.txt` if there is one.

Every text-bound annotation (T) is an occurrence. An attribute Absent, Negated or Negation makes it
absent. Its AnnotatorNotes contain either our JSON or `time=… lower=… upper=… known=… confidence=…`.
Events (E), relations (R) and equivalences (*) do not state times and are not read. Offsets are code
points of the text file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from timelines.domain import Lane
from timelines.formats.alignment import Alignment, align
from timelines.formats.assembling import assemble, find_case, find_files, parse_stem, read_text
from timelines.formats.brat.lines import Piece, Span, find_absent, read_notes, read_span
from timelines.formats.brat.text import fold_fragments, fold_line_ends, fragments
from timelines.formats.fields import parse_event, parse_heading, parse_object
from timelines.formats.values import Cases, Event, Fault, Foreign, Heading, Unreadable

UNLOCATED = ".unlocated.jsonl"


def read_brat(path: Path, cases: Cases) -> Iterator[Foreign | Fault]:
    """A folder with `.ann` files at any depth, or one `.ann` file."""
    for file in find_files(path, ".ann"):
        try:
            yield from _document(file, cases)
        except Unreadable as error:
            yield error.make_fault(file.name)


def _document(file: Path, cases: Cases) -> Iterator[Foreign | Fault]:
    lines = [(n, line.rstrip("\r")) for n, line in enumerate(read_text(file).split("\n"), start=1)]
    notes, absent = read_notes(lines), find_absent(lines)
    beside = file.with_name(file.name.removesuffix(".ann") + UNLOCATED)
    loose = (
        [
            _loose(beside.name, n, line)
            for n, line in enumerate(read_text(beside).split("\n"), 1)
            if line
        ]
        if beside.is_file()
        else []
    )
    heading = _heading(notes, loose, parse_stem(file))
    facts = find_case(heading, cases)
    text = _find_text(file, lines, facts.note)
    over = align(text, facts.note)
    items: list[tuple[float, Event | Fault]] = [(order, item) for order, _, item in loose]
    seen: set[str] = set()
    for number, line in lines:
        if not line.startswith("T"):
            continue
        try:
            span = read_span(line)
            if span.name in seen:
                raise Unreadable("T", "the same identifier twice")
            seen.add(span.name)
            order, event = _event(
                span, notes.get(span.name, {}), span.name in absent, text, facts.note, over
            )
            items.append((order if order is not None else number, event))
        except Unreadable as error:
            items.append((number, error.make_fault(file.name, number)))
    yield from assemble(
        file.name, heading, [item for _, item in sorted(items, key=lambda pair: pair[0])], facts
    )


def _event(
    span: Span,
    own: dict[str, Any],
    absent: bool,
    text: str,
    note: str,
    over: Alignment,
) -> tuple[float | None, Event]:
    """Return the event of a line and its position in the timeline.

    `own`: what its notes say. `text`: the copy of the note that its offsets refer to.
    """
    label, pieces = span.label, span.pieces
    if pieces[-1][1] > len(text):
        raise Unreadable("T", "the span ends outside the text")
    if not span.fits(text):
        raise Unreadable("T", "the text at these offsets is not the one that the line gives")
    values = {
        "mention": span.words,
        "polarity": "absent" if absent else "present",
        "lane": label.lower() if label.lower() in tuple(Lane) else None,
    }
    event = parse_event(values | {k: v for k, v in own.items() if not (k == "polarity" and absent)})
    place = _own_place(event, pieces, text, note) or over.span(pieces[0][0], pieces[-1][1])
    order = own.get("ordinal")
    return order if isinstance(order, int) else None, replace(event, start=place[0], end=place[1])


def _own_place(event: Event, pieces: list[Piece], text: str, note: str) -> Piece | None:
    """Return our own record of the span if the mark was not moved."""
    if event.start is None or event.end is None or not event.start < event.end <= len(note):
        return None
    if text == note:
        expected = fragments(note, event.start, event.end)
    elif text == fold_line_ends(note):
        expected = fold_fragments(note, event.start, event.end)
    else:
        return None
    return (event.start, event.end) if pieces == expected else None


def _loose(file: str, number: int, line: str) -> tuple[float, dict[str, Any], Event | Fault]:
    """Return an occurrence that no annotation can carry.

    (position in the inventory, values, event).
    """
    try:
        values = parse_object(line)
        order = values.get("ordinal")
        return order if isinstance(order, int) else number, values, parse_event(values)
    except Unreadable as error:
        return number, {}, error.make_fault(file, number)


def _heading(
    notes: dict[str, dict[str, Any]],
    loose: list[tuple[float, dict[str, Any], Event | Fault]],
    name: str,
) -> Heading:
    own = next(
        (v for v in [*notes.values(), *(values for _, values, _ in loose)] if "case_id" in v), None
    )
    return parse_heading(own or {}, name)


def _find_text(file: Path, lines: list[tuple[int, str]], note: str) -> str:
    """Return the text that the offsets refer to.

    It is in the file's `.txt`. Without one it is our note, or the copy of it with line feeds if
    only that gives the quoted texts.
    """
    beside = file.with_suffix(".txt")
    if beside.is_file():
        return read_text(beside, exactly=True)
    copy = fold_line_ends(note)
    try:
        spans = [read_span(line) for _, line in lines if line.startswith("T")]
    except Unreadable:
        return note
    fitting = (t for t in (note, copy) if all(span.fits(t) for span in spans))
    return next(fitting, note)
