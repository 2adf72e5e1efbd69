"""doccano JSONL: one document for each timeline of a case.

Spans are in `label`, the column that sequence labelling reads; everything else is in keys that
doccano stores as metadata. A project drops spans that overlap unless it allows them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from timelines.domain import Lane
from timelines.formats.extension import dump_json, is_shown, list_values, select_shown
from timelines.formats.files import replace_file
from timelines.formats.lines import CaseLines


def write_doccano(cases: Iterable[CaseLines], out: Path) -> int:
    """Offsets in code points of `text`; returns how many occurrences."""
    count = 0
    with replace_file(out) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        for case, note, timeline in select_shown(cases):
            first = timeline[0]
            document = {
                "text": note,
                "label": [
                    [line.start, line.end, (line.lane or Lane.FINDING).capitalize()]
                    for line in timeline
                    if is_shown(line, note)
                ],
                "case_id": case.encounter.case_id,
                "source": first.source,
                "kind": first.kind,
                "alternative": first.alternative,
                "occurrences": [
                    list_values(line, n) | {"marked": is_shown(line, note)}
                    for n, line in enumerate(timeline)
                ],
            }
            file.write(dump_json(document) + "\n")
            count += len(timeline)
    return count
