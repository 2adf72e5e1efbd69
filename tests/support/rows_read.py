"""How many rows a statement looks at, as EXPLAIN ANALYZE counts them."""

from __future__ import annotations

import json

from django.db import connection


def count_rows_read(sql: str) -> int:
    """How many rows and index entries the statement's scans touch."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {sql}")
        plan = cursor.fetchone()[0]
    return _count_scanned((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])


def _count_scanned(node: dict) -> int:
    own = (
        node["Actual Rows"]
        + node.get("Rows Removed by Filter", 0)
        + node.get("Rows Removed by Index Recheck", 0)
    )
    below = sum(_count_scanned(child) for child in node.get("Plans", ()))
    return round(own * node["Actual Loops"]) + below if "Scan" in node["Node Type"] else below
