"""JSONL and CSV: written line by line."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from timelines.formats import dictionary
from timelines.formats.files import replace_file
from timelines.formats.lines import CaseLines, json_values, line_values
from timelines.formats.table_schema import write_schema

#: A spreadsheet takes a cell that begins so for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_jsonl(cases: Iterable[CaseLines], out: Path, *, with_note_text: bool) -> int:
    """One JSON object a line, exactly the documented keys; returns how many."""
    count = 0
    with replace_file(out) as part, part.open("w", encoding="utf-8", newline="\n") as file:
        for case in cases:
            for line in case.lines:
                file.write(
                    json.dumps(json_values(line, with_note_text=with_note_text), ensure_ascii=False)
                    + "\n"
                )
                count += 1
    return count


def write_csv(cases: Iterable[CaseLines], out: Path, *, with_note_text: bool) -> int:
    """Write a table with a heading, and its schema.

    Returns how many lines.
    """
    names = [f.name for f in dictionary.fields(with_note_text=with_note_text)]
    count = 0
    with replace_file(out) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for case in cases:
            for line in case.lines:
                values = line_values(line, with_note_text=with_note_text)
                writer.writerow([_cell(values[name]) for name in names])
                count += 1
    write_schema(out, with_note_text=with_note_text)
    return count


def safe_cell(text: str) -> str:
    """Return text that a spreadsheet shows and does not calculate.

    Removing one apostrophe gives the text again (`formats.tables.reader`).
    """
    return f"'{text}" if text.lstrip("'").startswith(FORMULA) else text


def _cell(value: Any) -> Any:
    """Return a cell.

    Numbers are not changed, identifiers are separated by spaces, evidence is JSON, nothing is
    empty.
    """
    if isinstance(value, str):
        return safe_cell(value)
    if isinstance(value, list):
        return (
            json.dumps(value, ensure_ascii=False)
            if any(isinstance(v, dict) for v in value)
            else " ".join(map(str, value))
        )
    return value
