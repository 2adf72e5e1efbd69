"""The data dictionary as a Table Schema (version 2).

It is a file next to every table, which tools of Frictionless Data read. The cells of a CSV file
and the values of a Parquet file have the same schema.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from timelines.formats.dictionary import EVIDENCE_FIELDS, Field, fields
from timelines.formats.files import replace_file

PROFILE = "https://datapackage.org/profiles/2.0/tableschema.json"
#: Type of a column → its type in the schema.
TYPES: dict[str, dict[str, str]] = {
    "string": {"type": "string"},
    "int8": {"type": "integer"},
    "int32": {"type": "integer"},
    "double": {"type": "number"},
    "list<string>": {"type": "list", "itemType": "string", "delimiter": " "},
    "list<int32>": {"type": "list", "itemType": "integer", "delimiter": " "},
    "list<struct>": {"type": "array"},
}


def table_schema(*, with_note_text: bool) -> dict[str, Any]:
    """Return the schema; `unit` and the `fields` of a list are our additions."""
    listed = [_describe(field) for field in fields(with_note_text=with_note_text)]
    for one in listed:
        if one["name"] == "evidence":
            one["fields"] = [_describe(field) for field in EVIDENCE_FIELDS]
    return {"$schema": PROFILE, "fields": listed, "missingValues": [""]}


def write_schema(table: Path, *, with_note_text: bool) -> None:
    """Write `TABLE.schema.json` next to the table."""
    text = json.dumps(table_schema(with_note_text=with_note_text), ensure_ascii=False, indent=1)
    with replace_file(table.with_name(f"{table.name}.schema.json")) as part:
        part.write_text(f"{text}\n", encoding="utf-8")


def _describe(field: Field) -> dict[str, Any]:
    found: dict[str, Any] = {"name": field.name, **TYPES[field.type]}
    if field.unit:
        found["unit"] = field.unit
    found["description"] = field.description
    if field.constraints:
        found["constraints"] = dict(field.constraints)
    return found
