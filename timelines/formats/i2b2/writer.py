"""i2b2-2012 XML: the note, and an EVENT for each occurrence.

Its time is a TIMEX3 outside the text with a TLINK. Values that the layout has no attribute for are
written to a processing instruction `<?occurrent {…}?>` after the EVENT, which XML readers skip.
Characters that XML cannot represent are written as spaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
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
    for number, line in enumerate(timeline):
        values = list_values(line, number)
        if is_shown(line, note):
            values["event"] = f"E{number}"
            yield _event(note, line, number)
        yield instruction(values)
    yield from _times(note, timeline, anchor)
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
    """The values as a processing instruction; nothing inside can end it."""
    escaped = dump_json(values).replace(">", "\\u003e")
    return f"<?occurrent {escaped}?>"


def _event(note: str, line: Line, number: int) -> str:
    assert line.start is not None
    assert line.end is not None
    text = _attribute(note[line.start : line.end])
    place = f'start="{line.start + 1}" end="{line.end + 1}" text={text}'
    polarity = "NEG" if line.polarity == Polarity.ABSENT else "POS"
    planned = line.lane == Lane.PLAN or line.polarity == Polarity.PLANNED
    modality = "PROPOSED" if planned else "FACTUAL"
    kind = TYPES.get(Lane(line.lane or Lane.FINDING), "PROBLEM")
    return (
        f'<EVENT id="E{number}" {place} modality="{modality}" polarity="{polarity}"'
        f' type="{kind}" />'
    )


def _times(note: str, timeline: Sequence[Line], anchor: Anchor) -> Iterator[str]:
    """Return a TIMEX3 for each clock time, and TLINKs to them.

    Each distinct time (to the second) is a TIMEX3 without text, with a TLINK from each of its
    events.
    """
    found: dict[str, list[tuple[int, Line]]] = {}
    for number, line in enumerate(timeline):
        clock = None if line.time is None else anchor.clock(line.time)
        if clock is not None and is_shown(line, note):
            found.setdefault(clock.isoformat(timespec="seconds"), []).append((number, line))
    for n, value in enumerate(found):
        yield f'<TIMEX3 id="T{n}" start="-1" end="-1" text="" type="TIME" val="{value}" mod="NA" />'
    links = [(number, line, n) for n, value in enumerate(found) for number, line in found[value]]
    for n, (number, line, time) in enumerate(links):
        text = _attribute(note[line.start : line.end])
        yield (
            f'<TLINK id="TL{n}" fromID="E{number}" fromText={text} toID="T{time}" toText=""'
            ' type="OVERLAP" />'
        )


def _attribute(text: str) -> str:
    words = re.sub(r"[\r\n\t]", " ", _FORBIDDEN.sub(" ", text))
    return '"' + escape(words, {'"': "&quot;"}) + '"'
