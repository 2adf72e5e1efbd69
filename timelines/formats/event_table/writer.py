"""Events and times by bars: `event|time|confidence`, hours or N/A.

Single-step baselines answer in this form; the fourth column has the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from timelines.formats.event_table.reader import COLUMNS
from timelines.formats.extension import dump_json, file_name, folder_name, list_values
from timelines.formats.files import replace_file
from timelines.formats.lines import CaseLines, Line


def write_bsv(cases: Iterable[CaseLines], out: Path) -> int:
    """Write `OUT/SOURCE-KIND-ALTERNATIVE/CASE.bsv` with a heading.

    Returns how many occurrences.
    """
    count = 0
    for case in cases:
        for timeline in case.timelines:
            if not timeline:
                continue
            rows = ["|".join(COLUMNS), *(_row(line, n) for n, line in enumerate(timeline))]
            with replace_file(
                out / folder_name(timeline[0]) / f"{file_name(timeline[0].case_id)}.bsv"
            ) as part:
                part.write_bytes("".join(f"{row}\n" for row in rows).encode("utf-8"))
            count += len(timeline)
    return count


def _row(line: Line, ordinal: int) -> str:
    time = "N/A" if line.time is None else repr(line.time)
    confidence = "" if line.confidence is None else repr(line.confidence)
    cells: Sequence[str] = (
        line.mention,
        time,
        confidence,
        dump_json(list_values(line, ordinal)).replace("|", "\\u007c"),
    )
    return "|".join(cells)
