"""The features that leak, in words and as a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cohorts.asof.lines import PlacedLine, describe_placed
from cohorts.asof.states import State
from ehr.models import Encounter
from timelines.formats.tables.writer import safe_cell

#: Occurrences that are described at once.
CHUNK = 500
HEADS = (
    "line", "case", "name", "hours", "finding", "occurrence", "state", "time", "lower", "upper",
    "documented", "documented_by", "row", "sentence",
)  # fmt: skip
#: What a feature's finding says.
WORDS = {
    State.KNOWN: "known",
    State.UNCERTAIN: "may not have happened yet",
    State.LATER: "was not documented yet",
    State.NOT_YET: "had not happened yet",
}
UNMATCHED = "no occurrence of this name in the case"


@dataclass(frozen=True, slots=True)
class Leak:
    """A feature, what is wrong with it, and the occurrences behind it.

    `encounter` is None if the case was deleted; `lost` says that occurrences were.
    """

    line: int
    name: str
    hours: float
    state: State | None
    encounter: Encounter | None
    used: tuple[PlacedLine, ...]
    lost: bool

    @property
    def finding(self) -> str:
        return UNMATCHED if self.state is None else WORDS[self.state]


def describe_leaks(leaks: Sequence[Mapping[str, Any]]) -> list[Leak]:
    """Return stored leaks (`cohorts.asof.jobs`) in words, in their order."""
    stays = Encounter.objects.in_bulk({leak["stay"] for leak in leaks})
    places = [(entry, leak["hours"]) for leak in leaks for entry, _ in leak["used"]]
    described: dict[tuple[int, float], PlacedLine] = {}
    for start in range(0, len(places), CHUNK):
        described |= describe_placed(places[start : start + CHUNK])
    return [_describe(leak, stays.get(leak["stay"]), described) for leak in leaks]


def _describe(
    leak: Mapping[str, Any],
    encounter: Encounter | None,
    described: Mapping[tuple[int, float], PlacedLine],
) -> Leak:
    keys = [(entry, leak["hours"]) for entry, _ in leak["used"]]
    used = tuple(described[key] for key in keys if key in described)
    return Leak(
        line=leak["line"],
        name=leak["name"],
        hours=leak["hours"],
        state=State(leak["state"]) if leak["state"] else None,
        encounter=encounter,
        used=used,
        lost=len(used) < len(keys),
    )


def write_leaks(leaks: Sequence[Leak]) -> str:
    """Return the leaks as CSV, safe for spreadsheets: a line an occurrence."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADS)
    for leak in leaks:
        case = leak.encounter.case_id if leak.encounter else ""
        first = [leak.line, safe_cell(case), safe_cell(leak.name), leak.hours, leak.finding]
        for used in leak.used or (None,):
            writer.writerow([*first, *(_cells(used) if used else [""] * (len(HEADS) - 5))])
    return out.getvalue()


def _cells(used: PlacedLine) -> list[object]:
    line, sentence = used.line, used.sentence
    said = sentence.text if sentence else ""
    return [
        safe_cell(line.mention),
        line.state.value,
        line.hours,
        line.lower,
        line.upper,
        line.documented_hours,
        line.by,
        safe_cell(line.row),
        safe_cell(" ".join(said.split())),
    ]
