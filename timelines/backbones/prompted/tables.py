"""The bar-separated tables of the `table` output protocol.

They are written for a prompt and read from an answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from llm_runtime.errors import AnswerRejected
from llm_runtime.structured import is_storable
from timelines.backbones.prompted.rows import (
    check_row,
    cite_numbers,
    read_bounds,
    read_context,
    read_hours,
    split_row,
)
from timelines.domain import Entry, Inventory, Occurrence
from timelines.pipeline.revision import ProposedEntry

COLUMNS = ("uid4", "mention", "time", "bounds", "known", "context uid4s")
#: The columns of an answer that names printed rows.
CITING_COLUMNS = (*COLUMNS[:-1], "rows", "near", COLUMNS[-1])
#: An optional last column of such an answer: why an event moved.
WHY = "why"
HEADER = " | ".join(COLUMNS)
_ROW_NUMBER = re.compile(r"r?(\d{1,6})")


def mention_table(occurrences: Sequence[Occurrence]) -> str:
    """Return lines `uid4 | mention`.

    Mentions were escaped when the UID was assigned, so a bar in one does not start a column.
    """
    return "\n".join(["uid4 | mention", *(f"{o.uid} | {o.mention}" for o in occurrences)])


def timeline_table(
    inventory: Inventory,
    entries: Mapping[str, Entry],
    rows: Mapping[str, str] | None = None,
) -> str:
    """Return the six columns for every occurrence, in inventory order.

    `rows` adds a column with the numbers of the rows found for each UID, or why there are none.
    """
    if rows is None:
        return "\n".join([HEADER, *(_line(o, entries[o.uid]) for o in inventory)])
    lines = [f"{_line(o, entries[o.uid])} | {rows[o.uid]}" for o in inventory]
    return "\n".join([f"{HEADER} | rows found for it", *lines])


def _line(occurrence: Occurrence, entry: Entry) -> str:
    bounds = ", ".join(_bound_text(bound, entry.time) for bound in (entry.lower, entry.upper))
    context = f"[{', '.join(entry.context)}]"
    return (
        f"{occurrence.uid} | {occurrence.mention} | {hours_text(entry.time)} | [{bounds}] |"
        f" {int(bool(entry.known))} | {context}"
    )


def _bound_text(bound: float | None, time: float | None) -> str:
    """Return hours; one decimal is enough ten hours or more from the time."""
    if bound is None or time is None or abs(bound - time) < 10:
        return hours_text(bound)
    return hours_text(round(bound, 1))


def hours_text(hours: float | None) -> str:
    """At most two decimals, none for a whole hour; N/A for none."""
    if hours is None:
        return "N/A"
    text = f"{hours:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def read_table(
    text: str,
    asked: Sequence[Occurrence],
    context: frozenset[str],
    decided_by: str,
    what: str,
    columns: Sequence[str] = COLUMNS,
) -> list[ProposedEntry]:
    """Return the rows of a table for exactly the occurrences `asked`.

    The header must be the requested one (spaces, underscores and case do not matter). Each UID
    appears once, with its own mention. An answer that names rows may have the column WHY, which a
    line may leave out. Raises AnswerRejected with every fault.
    """
    header = " | ".join(columns)
    lines = [line for line in text.replace("\r\n", "\n").split("\n") if line.strip()]
    first = _header(lines[0]) if lines else []
    explained = columns == CITING_COLUMNS and first[-1:] == [WHY]
    if first[: -1 if explained else None] != _header(header):
        raise AnswerRejected([f"{what}: the first line must be the header {header}"])
    mentions = {o.uid: o.mention for o in asked}
    seen: dict[str, ProposedEntry | None] = {}
    faults: list[str] = []
    for number, line in enumerate(lines[1:], start=1):
        cells = split_row(line)
        why = cells.pop() if explained and len(cells) > len(columns) else ""
        if len(cells) != len(columns):
            faults.append(f"{what}: row {number} has {len(cells)} columns, not {len(columns)}")
            continue
        uid = cells[0]
        if uid not in mentions:
            faults.append(f"{what}: row {number} has an identifier that was not asked for")
        elif uid in seen:
            faults.append(f"{what}: {uid} occurs twice")
        else:
            entry, found = _entry(cells, mentions[uid], context, decided_by)
            seen[uid] = entry and replace(entry, reason=read_why(why))
            faults += [f"{what}: {fault}" for fault in found]
    faults += [f"{what}: {uid} is missing" for uid in mentions if uid not in seen]
    if faults:
        raise AnswerRejected(faults)
    return [entry for o in asked if (entry := seen[o.uid]) is not None]


def _entry(
    cells: Sequence[str], mention: str, context: frozenset[str], decided_by: str
) -> tuple[ProposedEntry | None, list[str]]:
    uid, copied, time, bounds, known, *numbers, named = cells
    hours, time_read = read_hours(time)
    lower, upper, bounds_read = read_bounds(bounds)
    contexts = read_context(named)
    faults = [f"{uid}: the mention was changed"] * (copied != mention)
    faults += [f"{uid}: time is neither a number nor N/A"] * (not time_read)
    faults += [f"{uid}: bounds are not of the form [lower, upper]"] * (not bounds_read)
    faults += [f"{uid}: known is neither 0 nor 1"] * (known not in ("0", "1"))
    faults += [f"{uid}: context is not a list of identifiers in brackets"] * (contexts is None)
    cited = [read_row_numbers(cell) for cell in numbers]
    faults += [f"{uid}: rows are not a list of row numbers in brackets"] * (None in cited)
    if faults or contexts is None:
        return None, faults
    entry, found = check_row(
        uid,
        {"time": hours, "lower": lower, "upper": upper},
        known == "1",
        contexts,
        context,
        decided_by,
        mention,
    )
    if entry is None or not cited:
        return entry, found
    rows, near = (list(row or ()) for row in cited)
    return cite_numbers(entry, rows, near)


def read_why(words: str) -> str:
    """Return why an event moved, on one line; "" if it cannot be stored."""
    return " ".join(words.split()) if is_storable(words) else ""


def read_row_numbers(cell: str) -> list[int] | None:
    """Return the numbers of `[r4, r17]` or `[4, 17]`, None for other text."""
    text = cell.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return None
    found = [_ROW_NUMBER.fullmatch(p.strip()) for p in text[1:-1].split(",") if p.strip()]
    return [int(m[1]) for m in found if m] if all(found) else None


def _header(line: str) -> list[str]:
    return [cell.replace("_", " ").casefold() for cell in split_row(line)]
