"""i2b2-2012 XML: the note, and an EVENT for each occurrence.

Its time is a TIMEX3 of the same extent with a TLINK. Values that the layout has no attribute for
are written to a processing instruction `<?occurrent {…}?>` for each occurrence, which XML readers
skip. Characters that XML cannot represent are written as spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from timelines.domain import Anchor, Lane, Polarity
from timelines.formats.extension import (
    dump_json,
    file_name,
    folder_name,
    is_shown,
    list_values,
    select_shown,
)
from timelines.formats.files import replace_file
from timelines.formats.lines import CaseLines, Line, Stay

TYPES = {
    Lane.LAB: "TEST",
    Lane.MEDICATION: "TREATMENT",
    Lane.PROCEDURE: "TREATMENT",
    Lane.TRANSFER: "CLINICAL_DEPT",
    Lane.PLAN: "OCCURRENCE",
}
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_i2b2(cases: Iterable[CaseLines], out: Path) -> int:
    """`OUT/SOURCE-KIND-ALTERNATIVE/CASE.xml`; returns how many occurrences."""
    count = 0
    for case, note, timeline in select_shown(cases):
        with replace_file(
            out / folder_name(timeline[0]) / f"{file_name(case.encounter.case_id)}.xml"
        ) as part:
            part.write_bytes("\n".join(document(note, timeline, case.encounter)).encode("utf-8"))
        count += len(timeline)
    return count


def document(note: str, timeline: Sequence[Line], encounter: Stay) -> Iterator[str]:
    """Return the lines of the file.

    Offsets count from 1 at the note's first character, as in the released corpus.
    """
    anchor = Anchor(encounter.admitted_at)
    yield '<?xml version="1.0" encoding="UTF-8" ?>'
    yield "<ClinicalNarrativeTemporalAnnotation>"
    yield f"<TEXT><![CDATA[\n{cdata(note)}]]></TEXT>"
    yield "<TAGS>"
    events = {n: line for n, line in enumerate(timeline) if is_shown(line, note)}
    for number in _order(events):
        yield _event(note, events[number], number)
    for number, line in enumerate(timeline):
        event = {"event": f"E{number}"} if number in events else {}
        yield instruction(list_values(line, number) | event)
    yield from _times(note, events, anchor)
    discharged = encounter.discharged_at
    for number, kind, when in (
        (0, "ADMISSION", encounter.admitted_at),
        (1, "DISCHARGE", discharged),
    ):
        if when is not None:
            yield (
                f'<SECTIME id="S{number}" start="-1" end="-1" text="" type="{kind}"'
                f' dvalue="{when:%Y-%m-%d}" />'
            )
    yield "</TAGS>"
    yield "</ClinicalNarrativeTemporalAnnotation>\n"


def cdata(note: str) -> str:
    """Return the note inside a CDATA section.

    Its end mark is split; carriage returns, which XML readers drop there, are outside.
    """
    text = _FORBIDDEN.sub(" ", note).replace("]]>", "]]]]><![CDATA[>")
    return text.replace("\r", "]]>&#13;<![CDATA[")


def instruction(values: dict[str, Any]) -> str:
    """Return the values as a processing instruction.

    Nothing inside can end it, or looks like a tag to a reader of lines.
    """
    escaped = dump_json(values).replace(">", "\\u003e").replace("<", "\\u003c")
    return f"<?occurrent {escaped}?>"


def _event(note: str, line: Line, number: int) -> str:
    polarity = "NEG" if line.polarity == Polarity.ABSENT else "POS"
    planned = line.lane == Lane.PLAN or line.polarity == Polarity.PLANNED
    modality = "PROPOSED" if planned else "FACTUAL"
    kind = TYPES.get(Lane(line.lane or Lane.FINDING), "PROBLEM")
    return (
        f'<EVENT id="E{number}" {_extent(note, line)} modality="{modality}" polarity="{polarity}"'
        f' type="{kind}" />'
    )


def _order(events: Mapping[int, Line]) -> list[int]:
    """Return the numbers, first those of events that overlap none of these.

    The challenge's evaluator identifies an event with the first one that it overlaps. In this order
    that is always one that it identifies with itself, so the same file gives the same links.
    """
    first: list[int] = []
    for number, line in events.items():
        if not any(_overlap(line, events[other]) for other in first):
            first.append(number)
    return [*first, *(number for number in events if number not in set(first))]


def _overlap(one: Line, other: Line) -> bool:
    return (one.start or 0) < (other.end or 0) and (other.start or 0) < (one.end or 0)


def _times(note: str, events: Mapping[int, Line], anchor: Anchor) -> Iterator[str]:
    """Return the time of each event as a TIMEX3, and a TLINK to it.

    A time has the extent of its event: it is inferred from the whole note, so no expression of its
    own says it, and evaluators match times by their extents.
    """
    clocks = {n: anchor.clock(e.time) for n, e in events.items() if e.time is not None}
    values = {n: clock.isoformat(timespec="seconds") for n, clock in clocks.items() if clock}
    timed = {n: events[n] for n in values}
    for number in _order(timed):
        place = f'id="T{number}" {_extent(note, timed[number])}'
        yield f'<TIMEX3 {place} type="TIME" val="{values[number]}" mod="NA" />'
    for number, line in timed.items():
        text = _attribute(note[line.start : line.end])
        yield (
            f'<TLINK id="TL{number}" fromID="E{number}" fromText={text} toID="T{number}"'
            f' toText={text} type="OVERLAP" />'
        )


def _extent(note: str, line: Line) -> str:
    """Return the attributes of the span, with offsets from 1."""
    assert line.start is not None
    assert line.end is not None
    text = _attribute(note[line.start : line.end])
    return f'start="{line.start + 1}" end="{line.end + 1}" text={text}'


def _attribute(text: str) -> str:
    words = re.sub(r"[\r\n\t]", " ", _FORBIDDEN.sub(" ", text))
    return '"' + escape(words, {'"': "&quot;"}) + '"'
