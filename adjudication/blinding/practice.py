"""The practice round: made-up cases with right answers. No Django.

A reviewer does it before a packet opens to them. A case is a JSON file of
`adjudication/blinding/practice_cases/`, in the order of the names. It has a note; the place in it;
two timelines as `[event, hours]` with the number of the candidate row (null if that side has none);
series of the record as `[hours, value, kind]`; the answer in the labels of the page, and its
explanation. Nothing in them comes from a patient.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from adjudication.blinding.rows import TimelineRow
from adjudication.blinding.visibility import (
    BlindedItem,
    ItemMaterial,
    RecordRow,
    RecordSeries,
    are_sides_swapped,
    blinded_item,
)

FOLDER = Path(__file__).parent / "practice_cases"


@dataclass(frozen=True)
class PracticeCase:
    """One case as the page shows it, with its feedback; `number` from 1."""

    number: int
    title: str
    item: BlindedItem
    answer: str
    explanation: str


@cache
def practice_cases() -> tuple[PracticeCase, ...]:
    """Return the practice cases in order.

    Raises ValueError for a file whose marked place does not occur exactly once in its note.
    """
    return tuple(
        _case(number, path) for number, path in enumerate(sorted(FOLDER.glob("*.json")), 1)
    )


def _case(number: int, path: Path) -> PracticeCase:
    case = json.loads(path.read_text(encoding="utf-8"))
    material = _material(f"practice-{number}", case)
    return PracticeCase(
        number,
        case["title"],
        blinded_item(material, _find_unswapped_seed(material.item)),
        case["answer"],
        case["explanation"],
    )


def _material(name: str, case: Mapping[str, Any]) -> ItemMaterial:
    note, place = case["note"], case["span"]
    if note.count(place) != 1:
        raise ValueError(
            f"{name}: the marked text occurs {note.count(place)} times in the note, not once"
        )
    span = (note.index(place), note.index(place) + len(place))
    a, b = case["sides"]
    return ItemMaterial(
        item=name,
        repeated=case["kind"] == "repeat",
        a=_candidate(a, span),
        b=_candidate(b, span),
        a_rows=_rows(a, span),
        b_rows=_rows(b, span),
        note=note,
        series=tuple(_series(s["event"], s["rows"]) for s in case["series"]),
        admitted_at=datetime.fromisoformat(case["admitted_at"]),
    )


def _rows(side: Mapping[str, Any], span: tuple[int, int]) -> tuple[TimelineRow, ...]:
    return tuple(
        TimelineRow(event, hours, span if n == side["candidate"] else None)
        for n, (event, hours) in enumerate(side["rows"])
    )


def _candidate(side: Mapping[str, Any], span: tuple[int, int]) -> TimelineRow | None:
    number = side["candidate"]
    return None if number is None else _rows(side, span)[number]


def _series(event: str, rows: Sequence[Sequence[Any]]) -> RecordSeries:
    found = tuple(
        RecordRow(hours, value, time_kind=kind, index=n)
        for n, (hours, value, kind) in enumerate(rows)
    )
    return RecordSeries(event, "", len(found), rows=found)


def _find_unswapped_seed(item: str) -> int:
    """Return a seed that does not swap the sides.

    The case's explanation names A and B as the file has them.
    """
    return next(seed for seed in count() if not are_sides_swapped(seed, item))
