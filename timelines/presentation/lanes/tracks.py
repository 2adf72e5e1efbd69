"""What the lanes draw of the record.

A track is one row of a lane: a drug or a line with its bars, or a measurement with its curve.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from timelines.backbones.rules.querying.vocabulary import (
    MEDICATION_CATEGORIES,
    Concept,
    Kind,
    event_name,
    vocabulary,
)
from timelines.presentation.lanes.classes import drug_classes
from timelines.presentation.lanes.courses import Bar, Course, find_course
from timelines.presentation.lanes.curves import Curve, choose_series, find_curve
from timelines.presentation.lanes.kinds import ShownLane, measured_lane
from timelines.presentation.lanes.rows import RecordRow, name_part

#: Drawn although the note does not mention them, if the record has them.
CORE_VITALS = (
    "heart rate",
    "blood pressure",
    "respiratory rate",
    "oxygen saturation",
    "temperature",
)
#: Hours → the position on the page's axis.
Place = Callable[[float], float]
#: Ends what another concept begins, in the same rows of the record.
_SAME_ROWS = {"extubation": "invasive ventilation"}
_COMMON = "blood pressure"
_DRUGS = frozenset(MEDICATION_CATEGORIES)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the note names.

    `cited` are the events that its occurrences cite or were linked to.
    """

    concept: Concept
    cited: frozenset[str] = frozenset()


def wanted_events(wanted: Iterable[Wanted], events: Iterable[str]) -> set[str]:
    """Return the names of the series whose rows `build_tracks` needs.

    All drugs, and of the rest what the note names.
    """
    concepts = [w.concept for w in _with_core(wanted)]
    found = set()
    for event in events:
        category = event.partition(":")[0]
        if category in _DRUGS or any(concept.matches(event_name(event)) for concept in concepts):
            found.add(event)
    return found


def build_tracks(
    wanted: Sequence[Wanted],
    rows: Iterable[RecordRow],
    place: Place,
    citing: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """Return the tracks with positions on the axis, ready for JSON.

    `citing`: event name → keys of the occurrences whose times cite its rows.
    """
    by_event: dict[str, list[RecordRow]] = defaultdict(list)
    for row in rows:
        by_event[row.event].append(row)
    known = _with_core(wanted)
    named = {w.concept.name for w in wanted}
    tracks = [
        *_curves(known, by_event, named, place),
        *_drugs(known, by_event, named, place, citing),
        *_procedures(known, by_event, place),
    ]
    return {"tracks": tracks}


def _with_core(wanted: Iterable[Wanted]) -> list[Wanted]:
    found = {w.concept.name: w for w in wanted}
    for name in CORE_VITALS:
        if name in vocabulary().by_name:
            found.setdefault(name, Wanted(vocabulary().by_name[name]))
    return list(found.values())


def _curves(
    wanted: Sequence[Wanted],
    by_event: Mapping[str, Sequence[RecordRow]],
    named: Collection[str],
    place: Place,
) -> Iterable[dict[str, Any]]:
    """Yield one track for each series.

    "Systolic pressure" and "blood pressure" may share one.
    """
    of_series: dict[str, tuple[Curve, list[Concept]]] = {}
    for w in wanted:
        fitting = {
            event: rows
            for event, rows in by_event.items()
            if measured_lane(w.concept)
            and w.concept.matches(event_name(event))
            and any(row.number is not None for row in rows)
        }
        curve = find_curve(choose_series(fitting, w.cited)) if fitting else None
        if curve:
            of_series.setdefault(curve.event, (curve, []))[1].append(w.concept)
    for curve, concepts in of_series.values():
        yield _curve(curve, concepts, any(c.name in named for c in concepts), place)


def _curve(curve: Curve, concepts: Sequence[Concept], named: bool, place: Place) -> dict[str, Any]:
    lane = measured_lane(concepts[0])
    assert lane is not None
    keys = [c.name for c in concepts]
    return {
        "lane": lane.value,
        "keys": keys,
        "name": _title(_COMMON if _COMMON in keys else keys[0]),
        "words": curve.words,
        "low": curve.low,
        "high": curve.high,
        "points": [[_round(place(hours)), value] for hours, value in curve.points],
        "named": named,
    }


def _drugs(
    wanted: Sequence[Wanted],
    by_event: Mapping[str, Sequence[RecordRow]],
    named: Collection[str],
    place: Place,
    citing: Mapping[str, Sequence[str]],
) -> Iterable[dict[str, Any]]:
    mentioned = [w.concept for w in wanted if w.concept.kind is Kind.DRUG]
    of_drug: dict[str, list[RecordRow]] = defaultdict(list)
    for event, rows in by_event.items():
        if event.partition(":")[0] in _DRUGS:
            of_drug[_drug_name(event, mentioned)].extend(rows)
    for name, rows in of_drug.items():
        course = find_course(rows)
        if course is not None:
            concept = vocabulary().by_name.get(name)
            classes = drug_classes(concept) if concept else ()
            cited = {key for row in rows for key in citing.get(row.event, ())}
            yield _bars(ShownLane.MEDICATION, name, course, place) | {
                "classes": list(classes),
                "uids": sorted(cited),
                "named": name in named or bool(cited),
            }


def _drug_name(event: str, mentioned: Sequence[Concept]) -> str:
    """Return the drug of an event.

    It is one that the note names, one of the vocabulary, or the words of the event.
    """
    for concept in mentioned:
        if concept.matches(event_name(event)):
            return concept.name
    hits = [h.concept for h in vocabulary().find(name_part(event)) if h.concept.kind is Kind.DRUG]
    return hits[0].name if hits else name_part(event)


def _procedures(
    wanted: Sequence[Wanted], by_event: Mapping[str, Sequence[RecordRow]], place: Place
) -> Iterable[dict[str, Any]]:
    found: dict[str, list[str]] = defaultdict(list)
    for w in wanted:
        if w.concept.kind is Kind.PROCEDURE:
            found[_SAME_ROWS.get(w.concept.name, w.concept.name)].append(w.concept.name)
    for name, keys in found.items():
        concept = vocabulary().by_name[name]
        rows = [
            row
            for event, of in by_event.items()
            if event.startswith("procedure:") and concept.matches(event_name(event))
            for row in of
        ]
        course = find_course(rows)
        if course is not None:
            track = _bars(ShownLane.PROCEDURE, name, course, place)
            yield track | {"keys": list(dict.fromkeys([name, *keys])), "named": True}


def _bars(lane: ShownLane, name: str, course: Course, place: Place) -> dict[str, Any]:
    return {
        "lane": lane.value,
        "keys": [name],
        "name": _title(name),
        "words": course.dose,
        "ordered": course.ordered,
        "runs": [[_round(place(a)), _round(place(b))] for a, b in course.runs],
        "bars": [_bar(bar, place) for bar in course.bars],
    }


def _bar(bar: Bar, place: Place) -> list[Any]:
    found: list[Any] = [_round(place(bar.start)), _round(place(bar.end))]
    return [*found, bar.dose] if bar.dose else found


def _round(position: float) -> float:
    return round(position, 5)


def _title(name: str) -> str:
    """Return the name with a capital, unless it is an abbreviation."""
    if name in _ABBREVIATIONS:
        return _ABBREVIATIONS[name]
    return name[:1].upper() + name[1:]


_ABBREVIATIONS = {
    name: name.upper()
    for name in (
        "inr", "pt", "ptt", "alt", "ast", "ldh", "ck", "bnp", "crp", "esr", "tsh", "ggt", "act", "ldl", "hdl", "mcv", "rdw", "ct",
        "mri", "ecg", "eeg", "tee", "ercp", "peg", "picc", "crrt", "evd", "iabp", "gcs", "peep", "svr",
    )
} | {"ph": "pH", "ck-mb": "CK-MB", "a1c": "HbA1c", "fio2": "FiO₂", "pco2": "pCO₂", "po2": "pO₂", "egfr": "eGFR", "b12": "B12"}  # fmt: skip
