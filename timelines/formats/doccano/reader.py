"""doccano JSONL: one document on each line.

Spans are `label`/`labels` ([start, end, label]) or `entities` (start_offset, end_offset, label).

Every span is an occurrence. doccano itself knows no times: an entity may carry our keys (`time`,
`lower`, `upper`, `known`, `confidence`, `mention`, `polarity`, `lane`) in addition to its own, else
its time is N/A. Documents that we wrote have everything in `occurrences`; spans that were added or
removed in doccano since then count. Offsets are code points of `text`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from timelines.domain import Lane
from timelines.formats.alignment import align
from timelines.formats.assembling import assemble, find_case, find_files, parse_stem, read_text
from timelines.formats.fields import (
    parse_event,
    parse_heading,
    parse_object,
    parse_text,
    parse_whole,
)
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
        for number, line in lines:
            try:
                yield from _document(
                    file,
                    number,
                    parse_object(line),
                    parse_stem(file) if len(lines) == 1 else "",
                    cases,
                )
            except Unreadable as error:
                yield error.make_fault(file.name, number)


def _document(
    file: Path, number: int, document: dict[str, Any], name: str, cases: Cases
) -> Iterator[Foreign | Fault]:
    meta = document.get("meta")
    heading = parse_heading({**(meta if isinstance(meta, dict) else {}), **document}, name)
    facts = find_case(heading, cases)
    text = parse_text(document.get("text", document.get("data")), "text")
    over = align(text, facts.note)
    marks = list(_marks(document))
    own = document.get("occurrences") if isinstance(document.get("occurrences"), list) else None
    items: list[Event | Fault] = []
    kept: Counter[_Span] = Counter()
    for values in own or []:
        try:
            event = parse_event(values if isinstance(values, dict) else {})
        except Unreadable as error:
            items.append(
                Fault(file.name, number, f"occurrences[{len(items)}].{error.field}", error.reason)
            )
            continue
        span = None if event.start is None or event.end is None else (event.start, event.end)
        if span is None or values.get("marked") is False:
            items.append(event)
        elif sum(1 for _, found, _ in marks if found == span) > kept[span]:
            kept[span] += 1
            items.append(_over(event, over.span(*span)))
    for position, span, values in marks:
        if kept[span] > 0:
            kept[span] -= 1
            continue
        try:
            if not 0 <= span[0] < span[1] <= len(text):
                raise Unreadable(
                    "end_offset", "the span is empty, reversed or ends outside the text"
                )
            items.append(
                _over(parse_event({"mention": text[slice(*span)], **values}), over.span(*span))
            )
        except Unreadable as error:
            items.append(Fault(file.name, number, f"{position}.{error.field}", error.reason))
    yield from assemble(file.name, heading, items, facts)


def _over(event: Event, place: _Span) -> Event:
    return replace(event, start=place[0], end=place[1])


def _marks(document: Mapping[str, Any]) -> Iterator[tuple[str, _Span, dict[str, Any]]]:
    """Return (place in the document, span, our keys) of every span.

    Raises Unreadable.
    """
    field = next(
        (name for name in ("entities", "label", "labels") if document.get(name)), "entities"
    )
    listed = document.get(field) or []
    if not isinstance(listed, list):
        raise Unreadable(field, "not a list of spans")
    for n, mark in enumerate(listed):
        if isinstance(mark, dict):
            start, end, label, rest = (
                mark.get("start_offset"),
                mark.get("end_offset"),
                mark.get("label"),
                mark,
            )
        elif isinstance(mark, Sequence) and not isinstance(mark, str) and len(mark) >= 3:
            start, end, label, rest = mark[0], mark[1], mark[2], {}
        else:
            raise Unreadable(f"{field}[{n}]", "neither an entity nor [start, end, label]")
        span = (
            parse_whole(start, "start_offset"),
            parse_whole(end, "end_offset"),
        )
        if span[0] is None or span[1] is None:
            raise Unreadable(f"{field}[{n}]", "no offsets")
        lane = label.lower() if isinstance(label, str) and label.lower() in tuple(Lane) else None
        keys = (
            "time",
            "lower",
            "upper",
            "known",
            "confidence",
            "mention",
            "polarity",
            "lane",
            "reason",
            "decided_by",
        )
        yield (
            f"{field}[{n}]",
            (span[0], span[1]),
            {"lane": lane} | {k: rest[k] for k in keys if k in rest},
        )
