"""Label Studio JSON: one task for each timeline of a case.

Its spans are the regions of one annotation; everything else is in `meta` and `data`. Tasks and
annotations are numbered, because Label Studio's converter needs their identifiers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from timelines.domain import Lane, Polarity
from timelines.formats.extension import dump_json, is_shown, list_values, select_shown
from timelines.formats.files import replace_file
from timelines.formats.lines import CaseLines, Line


def write_label_studio(cases: Iterable[CaseLines], out: Path) -> int:
    """Write a JSON list task by task, offsets in code points.

    Returns how many occurrences. The labelling interface that the tasks need is in
    `OUT.config.xml` next to the list.
    """
    count = 0
    with replace_file(out) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        file.write("[")
        for number, (case, note, timeline) in enumerate(select_shown(cases), start=1):
            task = _task(number, case.encounter.case_id, note, timeline)
            file.write(("," if number > 1 else "") + "\n" + dump_json(task))
            count += len(timeline)
        file.write("\n]\n")
    with replace_file(out.with_name(f"{out.name}.config.xml")) as part:
        part.write_text(labelling_interface(), encoding="utf-8")
    return count


def labelling_interface() -> str:
    """Return the labelling interface: lane, polarity and time of a region."""
    labels = "".join(f'    <Label value="{lane.capitalize()}"/>\n' for lane in Lane)
    choices = "".join(f'    <Choice value="{p.capitalize()}"/>\n' for p in Polarity)
    return f"""<View>
  <Labels name="label" toName="text">
{labels}  </Labels>
  <Text name="text" value="$text" granularity="symbol"/>
  <Choices name="polarity" toName="text" perRegion="true">
{choices}  </Choices>
  <Number name="time" toName="text" perRegion="true"/>
</View>
"""


def _task(number: int, case_id: str, note: str, timeline: Sequence[Line]) -> dict[str, Any]:
    first = timeline[0]
    loose = [list_values(line, n) for n, line in enumerate(timeline) if not is_shown(line, note)]
    heading = {"source": first.source, "kind": first.kind, "alternative": first.alternative}
    result = [
        item
        for n, line in enumerate(timeline)
        if is_shown(line, note)
        for item in _region(note, line, n)
    ]
    return {
        "id": number,
        "data": {"text": note, "case_id": case_id, **heading, "occurrent": loose},
        "annotations": [{"id": number, "result": result}],
    }


def _region(note: str, line: Line, ordinal: int) -> list[dict[str, Any]]:
    """Return the region, its polarity and, if it has one, its time."""
    place = {"start": line.start, "end": line.end, "text": note[line.start : line.end]}
    shared = {"id": f"o{ordinal}", "to_name": "text"}
    label = (line.lane or Lane.FINDING).capitalize()
    found: list[dict[str, Any]] = [
        {
            **shared,
            "from_name": "label",
            "type": "labels",
            "value": {**place, "labels": [label]},
            "meta": {"occurrent": list_values(line, ordinal)},
        }
    ]
    if line.polarity:
        found.append(
            {
                **shared,
                "from_name": "polarity",
                "type": "choices",
                "value": {**place, "choices": [line.polarity.capitalize()]},
            }
        )
    if line.time is not None:
        found.append(
            {
                **shared,
                "from_name": "time",
                "type": "number",
                "value": {**place, "number": line.time},
            }
        )
    return found
