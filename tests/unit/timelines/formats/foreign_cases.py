"""Cases and lines for the tests of foreign formats, without a database."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from ehr.models import Encounter
from timelines.domain import Anchor
from timelines.formats.extension import file_name
from timelines.formats.lines import CaseLines, Line
from timelines.formats.readers import READERS
from timelines.formats.values import CaseFacts, Event, Fault, Foreign

ADMITTED = datetime(2131, 2, 24, 14, 38)


class Book:
    """Cases by id or by the name that an export gives their files."""

    def __init__(self, **notes: str) -> None:
        self.facts = {name: CaseFacts(name, note, Anchor(ADMITTED)) for name, note in notes.items()}

    def __call__(self, name: str) -> CaseFacts | None:
        return self.facts.get(name) or next(
            (f for n, f in self.facts.items() if file_name(n) == name), None
        )


def read(format: str, path: Path, book: Book) -> tuple[list[Foreign], list[Fault]]:
    """Everything that a reader finds."""
    found = list(READERS[format](path, book))
    return [f for f in found if isinstance(f, Foreign)], [f for f in found if isinstance(f, Fault)]


def events(format: str, path: Path, note: str, case: str = "a") -> tuple[Event, ...]:
    """Return the events of a file with one timeline of the case and no fault."""
    found, faults = read(format, path, Book(**{case: note}))
    assert not faults, [f.words() for f in faults]
    (timeline,) = found
    assert timeline.heading.case == case
    return timeline.events


def faults(format: str, path: Path, note: str, case: str = "a") -> list[str]:
    """The faults of a file that gives no timeline, in words."""
    found, wrong = read(format, path, Book(**{case: note}))
    assert not found
    return [f.words() for f in wrong]


def case_lines(case_id: str, note: str, timelines: Iterable[tuple[Line, ...]]) -> CaseLines:
    """A case as exports see it."""
    encounter = Encounter(case_id=case_id, subject_key=case_id, admitted_at=ADMITTED)
    return CaseLines(encounter, note, tuple(timelines))
