"""brat standoff: a folder a timeline, in it for each case the note and its annotations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from timelines.domain import Lane, Polarity
from timelines.exports.files import replacing
from timelines.exports.lines import CaseLines, Line

_LINE = re.compile(r"[^\r\n]+")
_UNSAFE = re.compile(r"[^\w.-]+")
CONFIGURATION = "[entities]\n{entities}\n[relations]\n[events]\n[attributes]\nAbsent Arg:<ENTITY>\n"


def write_brat(cases: Iterable[CaseLines], out: Path) -> int:
    """`OUT/SOURCE-KIND-ALTERNATIVE/CASE.txt` and `.ann`, offsets in code points; returns how many annotations."""
    count = 0
    for case in cases:
        if case.note is None:
            continue
        for timeline in case.timelines:
            located = [line for line in timeline if line.start is not None]
            if located:
                _write(case.note, located, out / _name(located[0]))
                count += len(located)
    return count


def standoff(note: str, lines: Sequence[Line]) -> Iterator[str]:
    """The annotation file's lines: entity, attribute of negated ones, and a note with UID and times, for each occurrence."""
    for number, line in enumerate(lines, start=1):
        fragments = _fragments(note, line)
        spans = ";".join(f"{start} {end}" for start, end in fragments)
        text = " ".join(note[start:end] for start, end in fragments)
        yield f"T{number}\t{(line.lane or Lane.FINDING).capitalize()} {spans}\t{text}"
        if line.polarity == Polarity.ABSENT:
            yield f"A{number}\tAbsent T{number}"
        times = f"time={_hours(line.time)} lower={_hours(line.lower)} upper={_hours(line.upper)} known={int(line.known)}"
        yield f"#{number}\tAnnotatorNotes T{number}\tuid={line.uid4} {times} mention={line.mention}"


def _fragments(note: str, line: Line) -> list[tuple[int, int]]:
    """The span without its line breaks: an annotation of brat stays on one line."""
    assert line.start is not None
    return [(m.start(), m.end()) for m in _LINE.finditer(note, line.start, line.end or line.start)]


def _write(note: str, lines: Sequence[Line], folder: Path) -> None:
    name = _UNSAFE.sub("_", lines[0].case_id)
    entities = "\n".join(lane.capitalize() for lane in Lane)
    contents = {
        f"{name}.txt": note,
        f"{name}.ann": "".join(f"{annotation}\n" for annotation in standoff(note, lines)),
        "annotation.conf": CONFIGURATION.format(entities=entities),
    }
    for file, text in contents.items():
        with replacing(folder / file) as part:
            part.write_bytes(text.encode("utf-8"))


def _name(line: Line) -> str:
    return f"{_UNSAFE.sub('-', line.source)}-{line.kind}-{line.alternative}"


def _hours(value: float | None) -> str:
    return "NA" if value is None else f"{value:g}"
