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

from timelines.domain import Lane, Polarity
from timelines.formats.alignment import align, same_ink
from timelines.formats.assembling import assemble, find_case, find_files, parse_stem, read_text
from timelines.formats.fields import parse_event, parse_heading, parse_text, parse_whole
from timelines.formats.values import Cases, Event, Fault, Foreign, Unreadable

NUMBERS = ("time", "lower", "upper", "confidence")
_Region = tuple[str, dict[str, Any], dict[str, Any]]


def read_label_studio(path: Path, cases: Cases) -> Iterator[Foreign | Fault]:
    """Read a file, or a folder of `.json` files.

    `data.case_id` names the case, else the file of a single task does.
    """
    for file in find_files(path, ".json"):
        try:
            tasks = _tasks(read_text(file))
        except Unreadable as error:
            yield error.make_fault(file.name)
            continue
        for number, task in enumerate(tasks):
            try:
                yield from _task(
                    file, f"[{number}]", task, parse_stem(file) if len(tasks) == 1 else "", cases
                )
            except Unreadable as error:
                yield Fault(file.name, None, f"[{number}].{error.field}", error.reason)


def _tasks(text: str) -> list[Any]:
    try:
        tasks = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(
            "", "not JSON; the file may be cut off", getattr(error, "lineno", None)
        ) from None
    if isinstance(tasks, dict):
        tasks = [tasks]
    if not isinstance(tasks, list):
        raise Unreadable("", "not a list of tasks; export as JSON, not as JSON-MIN")
    return tasks


def _task(file: Path, place: str, task: Any, name: str, cases: Cases) -> Iterator[Foreign | Fault]:
    if not isinstance(task, dict) or not isinstance(task.get("data"), dict):
        raise Unreadable("data", "no task with data; export as JSON, not as JSON-MIN")
    data = task["data"]
    heading = parse_heading(data, name)
    facts = find_case(heading, cases)
    text = parse_text(data.get("text"), "data.text")
    over = align(text, facts.note)
    where, result = _result(task)
    regions = list(_regions(result))
    offset = _find_counting(text, [value for _, value, _ in regions])
    items: list[tuple[float, Event | Fault]] = []
    for position, value, values in regions:
        try:
            start, end = offset(value["start"]), offset(value["end"])
            place_of = over.span(start, end)
            own = values.pop("occurrent", None)
            plain = (
                {"mention": text[start:end]}
                | (_still(own, values) if isinstance(own, dict) else {})
                | values
            )
            event = replace(parse_event(plain), start=place_of[0], end=place_of[1])
            order = plain.get("ordinal")
            items.append((order if isinstance(order, int) else len(items), event))
        except Unreadable as error:
            items.append(
                (
                    len(items),
                    Fault(
                        file.name, None, f"{place}.{where}{position}.{error.field}", error.reason
                    ),
                )
            )
    for n, values in enumerate(_list(data.get("occurrent"), "data.occurrent")):
        try:
            event = parse_event(values if isinstance(values, dict) else {})
            items.append(
                (values["ordinal"] if isinstance(values.get("ordinal"), int) else len(items), event)
            )
        except Unreadable as error:
            items.append(
                (
                    len(items),
                    Fault(
                        file.name, None, f"{place}.data.occurrent[{n}].{error.field}", error.reason
                    ),
                )
            )
    yield from assemble(
        file.name, heading, [item for _, item in sorted(items, key=lambda pair: pair[0])], facts
    )


def _result(task: dict[str, Any]) -> tuple[str, list[Any]]:
    """Return the one annotation that counts.

    It is not cancelled; it is a prediction if nobody annotated. Raises Unreadable if there are
    several.
    """
    for field in ("annotations", "completions", "predictions"):
        found = [
            (n, a)
            for n, a in enumerate(_list(task.get(field), field))
            if isinstance(a, dict) and not a.get("was_cancelled")
        ]
        if len(found) > 1:
            raise Unreadable(
                field,
                f"{len(found)} of them; a source has one timeline a case, export one annotator's at"
                " a time",
            )
        if found:
            n, chosen = found[0]
            return f"{field}[{n}].result", _list(chosen.get("result"), f"{field}[{n}].result")
    raise Unreadable("annotations", "the task is not annotated")


def _regions(result: list[Any]) -> Iterator[_Region]:
    """Return every region of the text, in order.

    Each is (place, value with offsets, values of the region's controls).
    """
    said: dict[object, dict[str, Any]] = {}
    for item in result:
        if (
            isinstance(item, dict)
            and isinstance(item.get("value"), dict)
            and isinstance(item.get("id"), str | int)
        ):
            said.setdefault(item["id"], {}).update(_control(item.get("from_name"), item["value"]))
    seen = set()
    for n, item in enumerate(result):
        if not isinstance(item, dict) or item.get("type") not in ("labels", "hypertextlabels"):
            continue
        value, key = item.get("value"), item.get("id")
        if (
            not isinstance(value, dict)
            or parse_whole(value.get("start"), "start") is None
            or parse_whole(value.get("end"), "end") is None
        ):
            raise Unreadable(f"result[{n}]", "a region without offsets of characters")
        if isinstance(key, str | int) and key in seen:
            raise Unreadable(f"result[{n}].id", "the same identifier twice")
        seen.add(key if isinstance(key, str | int) else n)
        meta = item.get("meta")
        own = (
            {"occurrent": meta["occurrent"]}
            if isinstance(meta, dict) and "occurrent" in meta
            else {}
        )
        label = next(
            (x for x in _list(value.get("labels"), f"result[{n}].labels") if isinstance(x, str)), ""
        )
        lane = {"lane": label.lower()} if label.lower() in tuple(Lane) else {}
        controls = said.get(key, {}) if isinstance(key, str | int) else {}
        yield f"[{n}]", value, lane | own | controls


def _still(own: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return the still valid values that we wrote for a region.

    If its time has changed since then, only those that do not depend on the time.
    """
    if own.get("time") == values.get("time"):
        return own
    return {k: own[k] for k in ("mention", "polarity", "lane", "uid4", "ordinal") if k in own}


def _control(name: object, value: dict[str, Any]) -> dict[str, Any]:
    """Our key and value of one control."""
    words = value.get("text")
    written = words[0] if isinstance(words, list) and words else None
    if name in NUMBERS and ("number" in value or written is not None):
        return {str(name): value.get("number", written)}
    if name == "mention" and written is not None:
        return {"mention": written}
    found: dict[str, Any] = {}
    for choice in _list(value.get("choices"), "choices"):
        if isinstance(choice, str) and choice.lower() in tuple(Polarity):
            found["polarity"] = choice.lower()
        elif isinstance(choice, str) and choice.lower() in ("known", "inferred"):
            found["known"] = int(choice.lower() == "known")
    return found


def _find_counting(text: str, values: list[dict[str, Any]]) -> Callable[[int], int]:
    """Return how the file counts, as a function to our code points.

    Raises Unreadable if the quoted texts fit neither way of counting.
    """
    units = [n for n, c in enumerate(text) for _ in range(1 + (ord(c) > 0xFFFF))] + [len(text)]
    as_units: Callable[[int], int] = lambda n: units[n] if n < len(units) else len(text) + 1  # noqa: E731
    as_points: Callable[[int], int] = lambda n: n  # noqa: E731
    for counting in (as_points, as_units):
        if all(
            _fits(text, counting(v["start"]), counting(v["end"]), v.get("text")) for v in values
        ):
            return counting
    raise Unreadable(
        "result",
        "the offsets of a region do not give the text that it quotes, neither as code points nor as"
        " UTF-16 units",
    )


def _fits(text: str, start: int, end: int, quoted: object) -> bool:
    if not 0 <= start < end <= len(text):
        return False
    return not isinstance(quoted, str) or same_ink(
        text[start:end], quoted.replace("\\n", "\n") if "\\n" not in text else quoted
    )


def _list(value: object, field: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise Unreadable(field, "not a list")
    return value
