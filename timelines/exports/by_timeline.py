"""Formats that are written timeline by timeline, as files of a case are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ehr.models import Encounter
from timelines.cases.choices import load_choices
from timelines.cases.exporting.case_export import CaseExport
from timelines.cases.exporting.formats import FORMATS
from timelines.domain import TimelineKind
from timelines.formats.extension import file_name, folder_name
from timelines.formats.files import replace_file
from timelines.formats.lines import Line
from timelines.pipeline.uids import unescape_mention
from timelines.transfer.lines import Selection, chosen_timelines, load_lines
from timelines.transfer.references import FILE
from timelines.transfer.writers import Options


def write_chains(cases: Iterable[Encounter], wanted: Selection, out: Path, options: Options) -> int:
    """Write one line for each occurrence, with its chain; return how many.

    Raises NoteChanged.
    """
    count = 0
    with replace_file(out) as part, part.open("wb") as file:
        for made in _case_exports(cases, wanted, options):
            file.write(FORMATS["jsonl"].write(made))
            count += len(made.lines)
    return count


def write_bundles(
    cases: Iterable[Encounter], wanted: Selection, out: Path, options: Options
) -> int:
    """Write `OUT/SOURCE-KIND-ALTERNATIVE/CASE.fhir.json`.

    Returns how many occurrences. Raises NoteChanged.
    """
    count = 0
    for made in _case_exports(cases, wanted, options):
        name = f"{file_name(made.encounter.case_id)}.fhir.json"
        with replace_file(out / folder_name(made.lines[0]) / name) as part:
            part.write_bytes(FORMATS["fhir"].write(made))
        count += len(made.lines)
    return count


def write_references(
    cases: Iterable[Encounter], wanted: Selection, out: Path, options: Options
) -> int:
    """Write `OUT/SOURCE/CASE/reference.jsonl` for each reference.

    Returns how many occurrences. Those without a place in the note are left out: an import cannot
    read them. Raises NoteChanged.
    """
    count = 0
    for encounter in cases:
        references = [
            t for t in chosen_timelines(encounter, wanted) if t.kind == TimelineKind.REFERENCE
        ]
        for lines in load_lines(encounter, references).timelines if references else ():
            placed = [line for line in lines if line.start is not None]
            if not placed:
                continue
            folder = file_name(placed[0].source), file_name(encounter.case_id)
            with replace_file(out.joinpath(*folder) / FILE) as part:
                part.write_text("".join(map(_reference_line, placed)), encoding="utf-8")
            count += len(placed)
    return count


def _reference_line(line: Line) -> str:
    values: dict[str, Any] = {
        "start": line.start,
        "end": line.end,
        "mention": unescape_mention(line.mention),
        "time": line.time,
        "lower": line.lower,
        "upper": line.upper,
        "known": int(bool(line.known)),
        "polarity": line.polarity or None,
        "lane": line.lane or None,
        "rows": list(line.rows),
        "why": line.reason or None,
    }
    stated = {k: v for k, v in values.items() if v is not None or k in ("time", "lower", "upper")}
    return json.dumps(stated, ensure_ascii=False) + "\n"


def _case_exports(
    cases: Iterable[Encounter], wanted: Selection, options: Options
) -> Iterator[CaseExport]:
    """Yield the chosen timelines that have occurrences.

    A submission that a later one replaced has no such file.
    """
    for encounter in cases:
        if not (timelines := chosen_timelines(encounter, wanted)):
            continue
        choices = load_choices(encounter)
        for timeline in timelines:
            choice = choices.find(timeline.public_id)
            if choice is None:
                continue
            made = CaseExport(encounter, choice, choices, options.with_note_text)
            if made.lines:
                yield made
