"""Published figures of the judge and its review, as tables. No Django.

Their cohort is not here: they are context, never a result of ours. Source: the tables of the
method's publication (`published.json`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from adjudication.study_report.values import Dot
from timelines.evaluation.published import MARK
from timelines.evaluation.tables import Cell, Table

_PATH = Path(__file__).with_name("published.json")


@cache
def load_published() -> Mapping[str, Any]:
    """Return the published inputs and outputs by name."""
    found: dict[str, Any] = json.loads(_PATH.read_text(encoding="utf-8"))
    return found


def published_ratings() -> Table:
    """Return the published ratings with their intervals and mean shares."""
    found = load_published()
    intervals = found["reference_only"]["rating_intervals"]
    rows = tuple(
        (
            f"{name} ({MARK})",
            Cell(rating, intervals[name][0], intervals[name][1], 0),
            Cell(found["mean_share_percent"][name], decimals=1),
        )
        for name, rating in found["ratings"].items()
    )
    heads = ("Source", "Rating", "Mean share, %")
    return Table("published-ratings", f"Ratings, {MARK}: five sources, 374 games", heads, rows)


def published_dots() -> tuple[Dot, ...]:
    """Return the published ratings for a figure."""
    found = load_published()
    intervals = found["reference_only"]["rating_intervals"]
    return tuple(
        Dot(f"{name} ({MARK})", rating, intervals[name][0], intervals[name][1], True)
        for name, rating in found["ratings"].items()
    )


def published_profile() -> Table:
    """Return the published decisive findings as counts and shares."""
    found = load_published()
    rows = tuple(
        (f"{name.replace('_', ' ')} ({MARK})", count, Cell(share, decimals=1))
        for (name, count), share in zip(
            found["decisive_counts"].items(),
            found["decisive_shares_percent"].values(),
            strict=True,
        )
    )
    title = f"Decisive findings, {MARK}: {found['decisive']} of {found['findings']}"
    return Table("published-profile", title, ("Error", "Count", "Share, %"), rows)


def published_review() -> Table:
    """Return how often published reviewers upheld the judge, by stratum."""
    found = load_published()["validation_strata"]
    rows = [
        (
            f"{name} ({MARK})",
            line["n"],
            line["upheld"],
            Cell(line["rate_percent"], decimals=1),
            Cell(line["corpus_percent"], decimals=1),
        )
        for name, line in found.items()
        if isinstance(line, dict)
    ]
    whole = Cell(found["standardised_percent"], found["low_percent"], found["high_percent"], 1)
    reached = sum(line["upheld"] for line in found.values() if isinstance(line, dict))
    asked = sum(line["n"] for line in found.values() if isinstance(line, dict))
    rows.append((f"All, standardised ({MARK})", asked, reached, whole, Cell(None)))
    heads = ("Stratum", "Items", "Upheld", "Upheld, %", "Share of the findings, %")
    return Table("published-review", f"Findings upheld, {MARK}", heads, tuple(rows))


def published_agreement() -> Table:
    """Return the published agreement of two reviewers."""
    found = load_published()["agreement"]
    asked = sum(found[k] for k in ("both_uphold", "only_first", "only_second", "both_reject"))
    row = (
        f"Two reviewers ({MARK})",
        asked,
        Cell(found["raw_percent"], decimals=1),
        Cell(found["cohen_kappa"]),
        Cell(found["pabak"]),
    )
    heads = ("Reviewers", "Items", "Agreement, %", "κ", "PABAK")
    return Table("published-agreement", f"Agreement, {MARK}", heads, (row,))
