"""Windows over the concepts a, b and c, and a stay of 48 hours."""

from __future__ import annotations

from cohorts.engine.language import Window
from cohorts.engine.reading import read_window

CONCEPTS = ["a", "b", "c"]


def read(anchor: str, *criteria: str) -> Window:
    text = f"name: x\nanchor: {anchor}\nwhere: [{', '.join(criteria)}]"
    return read_window(text, concepts=CONCEPTS)


def stay(number: int = 1, **facts: object) -> dict[str, object]:
    return {"stay": number, "discharge": 48.0} | facts


SOON = read("a", "{event: b, within: 0 h to 6 h after anchor}")
EITHER = read("a", "{any: [{event: b, before: anchor}, {event: b, during: anchor and discharge}]}")
