"""doccano JSONL: one document on each line.

Spans are `label`/`labels` ([start, end, label]) or `entities` (start_offset, end_offset, label).

Every span is an occurrence. doccano itself knows no times: an entity may carry our keys (`time`,
`lower`, `upper`, `known`, `confidence`, `mention`, `polarity`, `lane`) in addition to its own, else
its time is N/A. Documents that we wrote have everything in `occurrences`; spans that were added or
removed in doccano since then count, but not those that doccano drops without notice. Offsets are
code points of `text`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from timelines.formats.alignment import align
from timelines.formats.assembling import assemble, find_case, find_files, parse_stem, read_text
from timelines.formats.doccano.document import Document
from timelines.formats.fields import list_faults, parse_object
from timelines.formats.values import Cases, Event, Fault, Foreign, Unreadable

_Span = tuple[int, int]


def read_doccano(path: Path, cases: Cases) -> Iterator[Foreign | Fault]:
    """Read a file, or a folder of `.jsonl` files.

    `case_id` is in the document or its `meta`, else the case names the file.
    """
    for file in find_files(path, ".jsonl"):
        try:
            lines = [
                (n, line)
                for n, line in enumerate(read_text(file).split("\n"), start=1)
                if line.strip()
            ]
        except Unreadable as error:
            yield error.make_fault(file.name)
            continue
        name = parse_stem(file) if len(lines) == 1 else ""
        for number, line in lines:
            try:
                document = Document.model_validate(parse_object(line))
                yield from _read_document(file, number, document, name, cases)
            except Unreadable as error:
                yield error.make_fault(file.name, number)
            except ValidationError as error:
                yield from list_faults(error, file.name, number)


def _read_document(
    file: Path, number: int, document: Document, name: str, cases: Cases
) -> Iterator[Foreign | Fault]:
    heading = document.make_heading(name)
    facts = find_case(heading, cases)
    over = align(document.text, facts.note)
    marks = document.marks
    unused = Counter(mark.span for _, mark in marks)
    own: Counter[_Span] = Counter()
    gone: list[_Span] = []
    items: list[Event | Fault] = []
    for n, line in enumerate(document.occurrences or ()):
        try:
            event = line.make_event()
        except Unreadable as error:
            items.append(Fault(file.name, number, f"occurrences[{n}].{error.field}", error.reason))
            continue
        span = None if event.start is None or event.end is None else (event.start, event.end)
        if span is None or not line.marked:
            items.append(event)
        elif unused[span] > own[span]:
            own[span] += 1
            items.append(_move(event, over.span(*span)))
        else:
            gone.append(span)
    if reason := _find_loss(gone, own):
        items.append(Fault(file.name, number, "occurrences", reason))
    for place, mark in marks:
        if own[mark.span] > 0:
            own[mark.span] -= 1
            continue
        try:
            items.append(_move(mark.read(document.text), over.span(*mark.span)))
        except Unreadable as error:
            items.append(Fault(file.name, number, f"{place}.{error.field}", error.reason))
    yield from assemble(file.name, heading, items, facts)


def _find_loss(gone: list[_Span], own: Counter[_Span]) -> str:
    """Return why no person removed the missing marks; else "".

    `gone`: spans of our occurrences without a mark; `own`: those with one.
    """
    if gone and not own:
        return (
            f"no occurrence has its mark ({len(gone)} without); import the export into a project for"
            " sequence labelling, with `label` as its column of labels"
        )
    hidden = sum(any(a < end and start < b for a, b in own) for start, end in gone)
    if hidden:
        return (
            f"occurrences that overlap a marked one have no mark ({hidden}); doccano drops them"
            " unless the project allows overlapping spans. Allow them and import the export again,"
            " or remove these occurrences"
        )
    return ""


def _move(event: Event, place: _Span) -> Event:
    return replace(event, start=place[0], end=place[1])
