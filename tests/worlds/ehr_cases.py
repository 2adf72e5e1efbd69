"""Case folders on disk for the tests of imports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROWS = (
    "t,event,value,unit,source,time_kind\n"
    "2150-01-01T08:00:00,admission:emergency:,,,admissions,administrative\n"
    "2150-01-01T09:30:00,lab:lactate:blood,4.1,mmol/L,labevents,collection\n"
    "2150-01-01T15:00:00,lab:lactate:blood,2.0,mmol/L,labevents,collection\n"
    ",diagnosis:sepsis:,A41.9,,diagnoses_icd,unknown\n"
)


def write_case(
    root: Path,
    name: str = "c1",
    *,
    note: str = "Lactate 4.1, then 2.0.",
    rows: str = ROWS,
    **changes: Any,
) -> Path:
    """Write a good case folder.

    `changes` replace fields of encounter.json (None removes one).
    """
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    encounter = {
        "case_id": name,
        "admitted_at": "2150-01-01T08:00:00",
        "discharged_at": "2150-01-05T10:00:00",
        "title": "Sepsis",
    }
    encounter |= {"anchor": "admission", **changes}
    (folder / "encounter.json").write_text(
        json.dumps({k: v for k, v in encounter.items() if v is not None}), encoding="utf-8"
    )
    (folder / "note.txt").write_bytes(note.encode())
    (folder / "rows.csv").write_bytes(rows.encode())
    return folder
