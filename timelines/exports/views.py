"""Exports of what an upper app selects (`timelines.registry.ExportView`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ehr.models import Encounter
from timelines.formats.files import replace_file
from timelines.registry import find_export_view
from timelines.transfer.writers import FORMATS, Options

#: Formats without the note: a note says more than a selection of its occurrences.
VIEW_FORMATS = ("csv", "parquet", "meds")


def write_view(
    cases: Sequence[Encounter], values: Mapping[str, Any], format: str, out: Path, options: Options
) -> int:
    """Write the selection of cases; return how many lines.

    Its data dictionary describes it.
    """
    view = find_export_view(values)
    count = FORMATS[format].write(view.select(cases, values), out, options)
    for path in (out.with_name(f"{out.name}.schema.json"), out / "metadata" / "dataset.json"):
        if path.is_file():
            _add_description(path, view.describe(values))
    return count


def label_view(values: Mapping[str, Any] | None) -> str:
    """Return the selection in a few words; "" for whole timelines."""
    return "" if values is None else find_export_view(values).label(values)


def _add_description(path: Path, words: str) -> None:
    found = json.loads(path.read_text(encoding="utf-8"))
    with replace_file(path) as part:
        text = json.dumps({**found, "description": words}, ensure_ascii=False, indent=1)
        part.write_text(f"{text}\n", encoding="utf-8")
