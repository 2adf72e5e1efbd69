"""Access to ratings from a judge's findings and to their files."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.integration.site.matrix.adjudication_judging import _path as run_path
from tests.integration.site.matrix.ehr import CASE_PAGE
from tests.integration.site.matrix.world import Row, World


def _file(format: str) -> Callable[[World], Mapping[str, str]]:
    return lambda world: {**run_path(world), "format": format}


def _table(name: str, format: str) -> Callable[[World], Mapping[str, str]]:
    return lambda world: {**run_path(world), "name": name, "format": format}


ROWS = [
    Row("adjudication:dashboard", CASE_PAGE, path=run_path),
    *(
        Row("adjudication:dashboard_table", CASE_PAGE, path=_table("ratings", format))
        for format in ("csv", "latex", "json")
    ),
    *(
        Row(f"adjudication:{name}_download", CASE_PAGE, path=_file(format))
        for name in ("findings", "games")
        for format in ("csv", "jsonl", "parquet", "dictionary")
    ),
]
