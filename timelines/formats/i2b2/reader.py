"""i2b2-2012 XML of the temporal relations challenge.

The note is in TEXT, the layers EVENT, TIMEX3, SECTIME and TLINK are in TAGS.

Every EVENT is an occurrence of any modality; NEG makes it absent. Offsets count from 1 at
the note's first character, the end being exclusive: "Admission" at the beginning of a note is start
1, end 10. The released files begin TEXT with a line break, so the same numbers count from 0 there.
Some tools count from 0 in the note; the `text` of all events of the file together shows which
applies. Times: `i2b2_times`. Files that we wrote have everything else in processing
instructions `<?occurrent {…}?>`, which other readers skip.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from timelines.domain import Lane, Polarity
from timelines.formats.alignment import align, same_ink, widest
from timelines.formats.assembling import assemble, find_case, find_files, parse_stem
from timelines.formats.fields import (
    check_bounds,
    parse_event,
    parse_heading,
    parse_object,
    shorten_mention,
)
from timelines.formats.i2b2.times import Placed, check_admission, place_events
from timelines.formats.i2b2.xml import Layers, Tag, read_layers
from timelines.formats.values import Cases, Event, Fault, Foreign, Unreadable

#: The plot's lane of an event; TREATMENT is both drugs and procedures there and is drawn with the
#: drugs.
LANES = {
    "PROBLEM": Lane.FINDING,
    "TEST": Lane.LAB,
    "TREATMENT": Lane.MEDICATION,
    "CLINICAL_DEPT": Lane.TRANSFER,
}
DECIDED_BY = "i2b2 TLINK"


def read_i2b2(path: Path, cases: Cases) -> Iterator[Foreign | Fault]:
    """A file, or a folder of `.xml` files, each named by its case."""
    for file in find_files(path, ".xml"):
        try:
            yield from _document(file, read_layers(file.read_bytes()), cases)
        except Unreadable as error:
            yield error.make_fault(file.name)
        except OSError as error:
            yield Fault(file.name, None, "", f"cannot be read: {error.strerror}")


def _document(file: Path, layers: Layers, cases: Cases) -> Iterator[Foreign | Fault]:
    own = [(line, _instruction(line, text)) for line, text in layers.own]
    heading = parse_heading(own[0][1] if own else {}, parse_stem(file))
    facts = find_case(heading, cases)
    text = layers.text.removeprefix("\n")
    over = align(text, facts.note)
    check_admission(layers, facts.anchor)
    events = layers.find("EVENT")
    shift = _shift(text, events)
    times = place_events(layers, facts.anchor)
    by_event = {str(values.get("event")): values for _, values in own if values.get("event")}
    items: list[tuple[float, Event | Fault]] = []
    seen: set[str] = set()
    for tag in events:
        try:
            name = tag.attributes.get("id", "")
            if not name or name in seen:
                raise Unreadable("EVENT.id", "missing, or the same identifier twice")
            seen.add(name)
            start, end = _offsets(text, tag, shift)
            values = by_event.get(name)
            event = (
                parse_event(values)
                if values
                else _make_event(tag, text[start:end], times.get(name, Placed()))
            )
            place = widest((event.start, event.end), over.span(start, end), facts.note)
            order = values.get("ordinal") if values else None
            items.append(
                (
                    order if isinstance(order, int) else len(items),
                    replace(event, start=place[0], end=place[1]),
                )
            )
        except Unreadable as error:
            items.append((len(items), error.make_fault(file.name, tag.line)))
    items += _unlocated(file, own)
    yield from assemble(
        file.name, heading, [item for _, item in sorted(items, key=lambda pair: pair[0])], facts
    )


def _make_event(tag: Tag, words: str, found: Placed) -> Event:
    kind, modality = (
        tag.attributes.get("type", "").upper(),
        tag.attributes.get("modality", "").upper(),
    )
    event = Event(
        mention=shorten_mention(words),
        time=found.time,
        lower=found.lower,
        upper=found.upper,
        known=found.known,
        polarity=Polarity.ABSENT
        if tag.attributes.get("polarity", "").upper() == "NEG"
        else Polarity.PRESENT,
        lane=Lane.PLAN if modality == "PROPOSED" else LANES.get(kind, Lane.FINDING),
        decided_by=DECIDED_BY if found.reason else "",
        reason=found.reason,
    )
    check_bounds(event)
    return event


def _shift(text: str, events: list[Tag]) -> int:
    """Return what to subtract from the file's offsets.

    1 as published, 0 if only that gives all quoted texts.
    """
    for shift in (1, 0):
        try:
            for tag in events:
                _offsets(text, tag, shift)
        except Unreadable:
            continue
        return shift
    return 1


def _offsets(text: str, tag: Tag, shift: int) -> tuple[int, int]:
    """Return the event's span in the note of the file.

    Raises Unreadable if the span does not have the text that the tag quotes.
    """
    first, last = tag.attributes.get("start", ""), tag.attributes.get("end", "")
    if (
        not (first.isascii() and first.isdigit() and last.isascii() and last.isdigit())
        or len(first + last) > 18
    ):
        raise Unreadable("EVENT.start", "start and end are not whole numbers")
    start, end = int(first) - shift, int(last) - shift
    if not 0 <= start < end <= len(text):
        raise Unreadable("EVENT.end", "the span is empty, reversed or ends outside the text")
    if not same_ink(text[start:end], tag.attributes.get("text", text[start:end])):
        raise Unreadable(
            "EVENT.start", "the text at these offsets is not the one that the tag quotes"
        )
    return start, end


def _instruction(line: int, text: str) -> dict[str, Any]:
    try:
        return parse_object(text)
    except Unreadable as error:
        raise Unreadable("?occurrent", error.reason, line) from None


def _unlocated(
    file: Path, own: list[tuple[int, dict[str, Any]]]
) -> Iterator[tuple[float, Event | Fault]]:
    """Return our occurrences that no EVENT can carry."""
    for line, values in own:
        if values.get("event"):
            continue
        order = values.get("ordinal")
        try:
            yield order if isinstance(order, int) else line, parse_event(values)
        except Unreadable as error:
            yield line, error.make_fault(file.name, line)
