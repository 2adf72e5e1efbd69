"""Published figures for this method and the baselines.

Their cohort is not here: they are context, never a result of ours. No Django. Source: the tables of
the method's publication (`published.json`); 40 cases at the matching threshold 0.1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

#: The mark shown with such a figure.
MARK = "published"
#: Whose variants the published ablation compares.
ABLATED = "GLM-5.2"
METRICS = ("match_rate", "concordance", "aultc")
_PATH = Path(__file__).with_name("published.json")


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One method of the main table, or one variant of the ablation.

    None if nothing was published.
    """

    name: str
    text_only: Mapping[str, float] | None
    revised: Mapping[str, float] | None


@cache
def main_table() -> tuple[PublishedRow, ...]:
    """Return methods and backbones, text-only next to revised."""
    rows = json.loads(_PATH.read_text(encoding="utf-8"))["main"]
    return tuple(
        PublishedRow(name, _name_values(row.get("unimodal")), _name_values(row.get("multimodal")))
        for name, row in rows.items()
    )


@cache
def ablation_table() -> tuple[PublishedRow, ...]:
    """Return the variants of one backbone, `ABLATED`.

    They are named after it ("GLM-5.2 no_rows"); `unimodal` has its figures as text-only.
    """
    rows = json.loads(_PATH.read_text(encoding="utf-8"))["ablations_glm"]
    return tuple(
        PublishedRow(
            f"{ABLATED} {name}",
            *((_name_values(row), None) if name == "unimodal" else (None, _name_values(row))),
        )
        for name, row in rows.items()
    )


def _name_values(values: list[float] | None) -> Mapping[str, float] | None:
    return None if values is None else dict(zip(METRICS, values, strict=True))
