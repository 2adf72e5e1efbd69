"""Label Studio JSON: a list of tasks, each with one annotation.

A prediction may replace the annotation. Every labelled region of the text is an occurrence.
Controls of the same region give its values, by their `from_name`: a number or a text area `time`,
`lower`, `upper`, `confidence`; a text area `mention`; a choice absent/present; a choice
known/inferred. Regions that we wrote have everything in `meta.occurrent`; occurrences without a
place are in `data.occurrent`. Offsets are code points; tasks annotated before version 1.5 of Label
Studio count UTF-16 units, which is recognised by the text that each region quotes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from timelines.domain import Polarity
from timelines.formats.alignment import align, same_ink
from timelines.formats.assembling import assemble, find_case, find_files, parse_stem, read_text
from timelines.formats.fields import list_faults, parse_lane, read_line
from timelines.formats.label_studio.task import Item, OwnLine, Task
from timelines.formats.values import Cases, Event, Fault, Foreign, Unreadable

NUMBERS = ("time", "lower", "upper", "confidence")
NOT_JSON_MIN = "export as JSON, not as JSON-MIN"


def read_label_studio(path: Path, cases: Cases) -> Iterator[Foreign | Fault]:
    """Read a file, or a folder of `.json` files.

    `data.case_id` names the case, else the file of a single task does.
    """
    for file in find_files(path, ".json"):
        try:
            tasks = _list_tasks(read_text(file))
        except Unreadable as error:
            yield error.make_fault(file.name)
            continue
        name = parse_stem(file) if len(tasks) == 1 else ""
        for number, values in enumerate(tasks):
            place = f"[{number}]"
            try:
                if not isinstance(values, dict) or not isinstance(values.get("data"), dict):
                    raise Unreadable("data", f"no task with data; {NOT_JSON_MIN}")
                yield from _read_task(file.name, place, Task.model_validate(values), name, cases)
            except ValidationError as error:
                yield from list_faults(error, file.name, within=place)
            except Unreadable as error:
                yield Fault(file.name, None, f"{place}.{error.field}", error.reason)


def _list_tasks(text: str) -> list[Any]:
    try:
        tasks = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(
            "", "not JSON; the file may be cut off", getattr(error, "lineno", None)
        ) from None
    if isinstance(tasks, dict):
        tasks = [tasks]
    if not isinstance(tasks, list):
        raise Unreadable("", f"not a list of tasks; {NOT_JSON_MIN}")
    return tasks


def _read_task(
    file: str, place: str, task: Task, name: str, cases: Cases
) -> Iterator[Foreign | Fault]:
    heading = task.data.make_heading(name)
    facts = find_case(heading, cases)
    text = task.data.text
    over = align(text, facts.note, "data.text")
    where, result = task.choose_result()
    regions = _list_regions(where, result)
    offset = _find_counting(where, text, [item for _, item, _ in regions])
    lines: list[tuple[str, tuple[int, int] | None, dict[str, Any]]] = []
    for field, item, values in regions:
        start, end = map(offset, item.span)
        lines.append((field, (start, end), {"mention": text[start:end]} | values))
    for n, values in enumerate(task.data.occurrent):
        lines.append((f"data.occurrent[{n}]", None, values))
    items: list[tuple[int, Event | Fault]] = []
    for n, (field, span, values) in enumerate(lines):
        try:
            line = read_line(OwnLine, values)
            event = line.make_event()
            if span is not None:
                start, end = over.span(*span)
                event = replace(event, start=start, end=end)
            items.append((n if line.ordinal is None else line.ordinal, event))
        except Unreadable as error:
            items.append((n, Fault(file, None, f"{place}.{field}.{error.field}", error.reason)))
    items.sort(key=lambda pair: pair[0])
    yield from assemble(file, heading, [item for _, item in items], facts)


def _list_regions(where: str, result: list[Item]) -> list[tuple[str, Item, dict[str, Any]]]:
    """Return every region of the text: its place, itself, its values of ours.

    Raises Unreadable if two have one identifier.
    """
    controls: dict[str | int, dict[str, Any]] = {}
    for item in result:
        if item.id is not None:
            controls.setdefault(item.id, {}).update(_read_control(item))
    found: list[tuple[str, Item, dict[str, Any]]] = []
    seen: set[str | int] = set()
    for n, item in enumerate(result):
        if not item.is_region:
            continue
        values = {}
        if item.id is not None:
            if item.id in seen:
                raise Unreadable(f"{where}[{n}].id", "the same identifier twice")
            seen.add(item.id)
            values = controls[item.id]
        label = next((label for label in item.value.labels if isinstance(label, str)), "")
        if lane := parse_lane(label):
            values = {"lane": lane} | values
        own = item.meta.occurrent if item.meta else None
        found.append((f"{where}[{n}]", item, _keep_valid(own or {}, values) | values))
    return found


def _keep_valid(own: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return the still valid values that we wrote for a region.

    If its time has changed since then, only those that do not depend on the time.
    """
    if own.get("time") == values.get("time"):
        return own
    return {k: own[k] for k in ("mention", "polarity", "lane", "uid4", "ordinal") if k in own}


def _read_control(item: Item) -> dict[str, Any]:
    """Return our key and value of one control."""
    name, typed = item.from_name, item.value.typed
    if name in NUMBERS and (typed is not None or "number" in item.value.model_fields_set):
        return {str(name): typed}
    if name == "mention" and typed is not None:
        return {"mention": typed}
    found: dict[str, Any] = {}
    for choice in item.value.choices:
        if isinstance(choice, str) and choice.lower() in tuple(Polarity):
            found["polarity"] = choice.lower()
        elif isinstance(choice, str) and choice.lower() in ("known", "inferred"):
            found["known"] = int(choice.lower() == "known")
    return found


def _find_counting(where: str, text: str, regions: list[Item]) -> Callable[[int], int]:
    """Return how the file counts, as a function to our code points.

    Raises Unreadable if the quoted texts fit neither way of counting.
    """
    units = [n for n, c in enumerate(text) for _ in range(1 + (ord(c) > 0xFFFF))] + [len(text)]
    as_units: Callable[[int], int] = lambda n: units[n] if n < len(units) else len(text) + 1  # noqa: E731
    as_points: Callable[[int], int] = lambda n: n  # noqa: E731
    for counting in (as_points, as_units):
        if all(_fits(text, item, counting) for item in regions):
            return counting
    raise Unreadable(
        where,
        "the offsets of a region do not give the text that it quotes, neither as code points nor as"
        " UTF-16 units",
    )


def _fits(text: str, region: Item, counting: Callable[[int], int]) -> bool:
    start, end = map(counting, region.span)
    if not 0 <= start < end <= len(text):
        return False
    quoted = region.value.text
    return not isinstance(quoted, str) or same_ink(
        text[start:end], quoted.replace("\\n", "\n") if "\\n" not in text else quoted
    )
