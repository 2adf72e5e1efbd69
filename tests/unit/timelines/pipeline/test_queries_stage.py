"""Stage 4a: completing what a query writer returned."""

import pytest

from timelines.domain import Inventory, Occurrence, Query
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.pipeline.queries import QueryError, complete_queries

INVENTORY = Inventory(
    (
        Occurrence("0a1b", 0, "creatinine of 4.2", 0, 5),
        Occurrence("a5d3", 1, "lumbar puncture", 6, 9),
    )
)


def test_a_missing_or_blank_list_falls_back_to_the_mention() -> None:
    written = {"0a1b": ["  serum  creatinine 4.2 ", "", "Serum creatinine 4.2", "renal panel"]}
    assert complete_queries(INVENTORY, written, PipelineConfig()) == (
        Query("0a1b", 0, "serum creatinine 4.2"),
        Query("0a1b", 1, "renal panel"),
        Query("a5d3", 0, "lumbar puncture"),
    )


def test_variant_no_query_asks_for_the_mentions() -> None:
    queries = complete_queries(
        INVENTORY, {"0a1b": ["renal panel"]}, PipelineConfig(variant=Variant.NO_QUERY)
    )
    assert [q.text for q in queries] == ["creatinine of 4.2", "lumbar puncture"]


def test_unknown_uid_and_too_many_queries_are_rejected_with_reasons() -> None:
    with pytest.raises(QueryError) as error:
        complete_queries(INVENTORY, {"ffff": ["x"], "0a1b": ["a", "b", "c", "d"]}, PipelineConfig())
    assert error.value.reasons == ("unknown UID ffff", "UID 0a1b: 4 queries, at most 3")
