"""Where the time of one occurrence comes from, as FHIR Provenance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ehr.presentation.wording import hours_words
from timelines.formats.fhir import codes
from timelines.formats.fhir.resources import clean_text
from timelines.formats.fhir.values import FhirStay, FhirTimeline
from timelines.formats.lines import Line


def make_provenance(
    line: Line, target: str, agent: str | None, stay: FhirStay, timeline: FhirTimeline
) -> dict[str, Any]:
    """Return the provenance of the resource `target`.

    `agent` refers to the Device of a program. A person who made the timeline or corrected its time
    is named instead. The note's span and the rows are its entities, by id.
    """
    corrector = timeline.correctors.get(line.uid4 or "")
    person = corrector or (None if agent else timeline.maker)
    who = {"reference": agent} if person is None else {"display": clean_text(person)}
    is_author = timeline.is_person or corrector is not None
    made: dict[str, Any] = {
        "resourceType": "Provenance",
        "target": [{"reference": target}],
        "recorded": timeline.recorded,
        "agent": [{"type": codes.AUTHOR if is_author else codes.ASSEMBLER, "who": who}],
    }
    if line.decided_by:
        made["extension"] = [{"url": codes.DECIDED_BY, "valueString": clean_text(line.decided_by)}]
    if line.reason:
        made["reason"] = [{"text": clean_text(line.reason)}]
    if entities := [*_span(line, stay), *_rows(line, stay)]:
        made["entity"] = entities
    return made


def _span(line: Line, stay: FhirStay) -> Iterator[dict[str, Any]]:
    if line.start is None:
        return
    place = f"{stay.id}#char={line.start},{line.end}"
    words = "Note" if line.span_text is None else clean_text(line.span_text)
    yield _entity("quotation", codes.NOTE, place, words)


def _rows(line: Line, stay: FhirStay) -> Iterator[dict[str, Any]]:
    """Yield the rows that the time rests on, then those that it leans on."""
    known = {row.row_index: row for row in line.evidence}
    for role, indices in (("source", line.rows), ("derivation", line.near_rows)):
        for index in dict.fromkeys(indices):
            row = known.get(index)
            words = f"Row {index}"
            if row is not None:
                value = " ".join(filter(None, (row.value, row.unit)))
                words = f"{row.event} {value} at {hours_words(row.hours)} ({row.time_kind})"
            yield _entity(role, codes.ROW, f"{stay.id}/{index}", clean_text(words))


def _entity(role: str, system: str, value: str, display: str) -> dict[str, Any]:
    return {
        "role": role,
        "what": {"identifier": {"system": system, "value": value}, "display": display},
    }
