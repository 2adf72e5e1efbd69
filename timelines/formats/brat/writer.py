"""brat standoff: one folder for each timeline.

It has for each case the note, its annotations, and what no annotation can carry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from timelines.domain import Lane, Polarity
from timelines.formats.brat.reader import UNLOCATED
from timelines.formats.brat.text import fold_fragments, fold_line_ends
from timelines.formats.extension import (
    dump_json,
    file_name,
    folder_name,
    is_shown,
    list_values,
    select_shown,
)
from timelines.formats.files import replace_file
from timelines.formats.lines import CaseLines, Line

#: Without the overlap line brat reports every two annotations that share a character.
CONFIGURATION = """[entities]
{entities}
[relations]
<OVERLAP> Arg1:<ENTITY>, Arg2:<ENTITY>, <OVL-TYPE>:<ANY>
[events]
[attributes]
Absent Arg:<ENTITY>
"""


def write_brat(cases: Iterable[CaseLines], out: Path) -> int:
    """Write `OUT/SOURCE-KIND-ALTERNATIVE/CASE.txt` and `.ann`.

    The text is the note with line feeds; offsets are code points of it. Returns how many
    occurrences. Those without a place in the note are in `CASE.unlocated.jsonl` next to them, which
    brat does not read.
    """
    count = 0
    for _, note, timeline in select_shown(cases):
        _write(note, timeline, out / folder_name(timeline[0]))
        count += len(timeline)
    return count


def standoff(note: str, lines: Sequence[Line]) -> Iterator[str]:
    """Return the annotation file's lines.

    Each located occurrence has an entity, an attribute if it is negated, and a note with everything
    as JSON, where offsets are those of our note.
    """
    copy = fold_line_ends(note)
    numbered = [(ordinal, line) for ordinal, line in enumerate(lines) if is_shown(line, note)]
    for number, (ordinal, line) in enumerate(numbered, start=1):
        pieces = fold_fragments(note, line.start or 0, line.end or 0)
        spans = ";".join(f"{start} {end}" for start, end in pieces)
        text = " ".join(copy[start:end] for start, end in pieces)
        yield f"T{number}\t{(line.lane or Lane.FINDING).capitalize()} {spans}\t{text}"
        if line.polarity == Polarity.ABSENT:
            yield f"A{number}\tAbsent T{number}"
        yield f"#{number}\tAnnotatorNotes T{number}\t{dump_json(list_values(line, ordinal))}"


def _write(note: str, lines: Sequence[Line], folder: Path) -> None:
    name = file_name(lines[0].case_id)
    entities = "\n".join(lane.capitalize() for lane in Lane)
    contents = {
        f"{name}.txt": fold_line_ends(note),
        f"{name}.ann": "".join(f"{annotation}\n" for annotation in standoff(note, lines)),
        "annotation.conf": CONFIGURATION.format(entities=entities),
    }
    loose = [
        dump_json(list_values(line, n)) for n, line in enumerate(lines) if not is_shown(line, note)
    ]
    if loose:
        contents[f"{name}{UNLOCATED}"] = "".join(f"{line}\n" for line in loose)
    for file, text in contents.items():
        with replace_file(folder / file) as part:
            part.write_bytes(text.encode("utf-8"))
