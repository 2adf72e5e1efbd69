"""What findings are about: the places of their rows in the note."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from adjudication.models import Finding, JudgeRun
from adjudication.sampling.drawing import Occurrence
from timelines.runs.stay_text import CommonPlaces, find_places

_SIDES = ("a", "b")
_INVENTORY = "entry__occurrence__inventory_id"
_FIELDS = ("event", _INVENTORY, "entry__occurrence__start", "entry__occurrence__end")


def find_occurrences(judge_run: JudgeRun) -> Mapping[str, tuple[Occurrence, ...]]:
    """Map a run's findings to the occurrences of their rows, by public ids.

    Places are those of the text that the case's timelines have in common. A row without a place is
    known by its words.
    """
    fields = [f"{side}_{name}" for side in _SIDES for name in _FIELDS]
    lines = Finding.objects.filter(game__run=judge_run).values(
        "public_id", "game__comparison__encounter_id", *fields
    )
    inventories: dict[int, set[int | None]] = defaultdict(set)
    for line in lines:
        inventories[line["game__comparison__encounter_id"]] |= {
            line[f"{side}_{_INVENTORY}"] for side in _SIDES
        }
    texts = {case: find_places(sorted(pk for pk in pks if pk)) for case, pks in inventories.items()}
    return {
        line["public_id"]: tuple(
            _read(line, side, texts[line["game__comparison__encounter_id"]])
            for side in _SIDES
            if line[f"{side}_event"] is not None
        )
        for line in lines
    }


def _read(line: Mapping[str, object], side: str, text: CommonPlaces) -> Occurrence:
    event, inventory, *ends = (line[f"{side}_{name}"] for name in _FIELDS)
    assert inventory is None or isinstance(inventory, int)
    start, end = (text.place(inventory, at) for at in ends if at is None or isinstance(at, int))
    return " ".join(str(event).split()).casefold() if start is None or end is None else (start, end)
