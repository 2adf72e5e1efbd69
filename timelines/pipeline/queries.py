"""Stage 4a: 1–3 retrieval queries for each UID.

A missing list is replaced by the mention (protocol section 2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from timelines.domain import Inventory, Query
from timelines.pipeline.config import PipelineConfig, Variant


class QueryError(ValueError):
    """A query writer broke its contract; `reasons` name the places."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = tuple(reasons)


def complete_queries(
    inventory: Inventory, written: Mapping[str, Sequence[str]], config: PipelineConfig
) -> tuple[Query, ...]:
    """Return the queries of the whole inventory, in inventory order.

    Each UID has 1…`max_queries`. White space is collapsed, empty and repeated texts (ignoring case)
    are removed, and a UID without any is searched by its mention. Variant `no_query` searches every
    mention verbatim. Raises QueryError for an unknown UID and for more than `max_queries` texts of
    one UID.
    """
    reasons = [f"unknown UID {uid}" for uid in written if uid not in inventory.by_uid]
    by_uid = {} if config.variant is Variant.NO_QUERY else written
    queries: list[Query] = []
    for occurrence in inventory:
        texts = _distinct(by_uid.get(occurrence.uid, ())) or [occurrence.mention]
        if len(texts) > config.max_queries:
            reasons.append(
                f"UID {occurrence.uid}: {len(texts)} queries, at most {config.max_queries}"
            )
        queries += [Query(occurrence.uid, ordinal, text) for ordinal, text in enumerate(texts)]
    if reasons:
        raise QueryError(reasons)
    return tuple(queries)


def _distinct(texts: Sequence[str]) -> list[str]:
    first = {
        text.casefold(): text for text in reversed([" ".join(t.split()) for t in texts]) if text
    }
    return list(reversed(first.values()))
