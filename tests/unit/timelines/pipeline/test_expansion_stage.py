"""Stage 5: the rows that reach revision, in order; values by hand."""

from timelines.domain import (
    Candidate,
    Entry,
    Inventory,
    Occurrence,
    SourceRow,
    Timeline,
    TimelineKind,
)
from timelines.pipeline.config import PipelineConfig
from timelines.pipeline.expansion import Caps, choose_rows, distance_to_bounds, expand

A, B = "0a1b", "a5d3"
INVENTORY = Inventory(
    (Occurrence(A, 0, "lactate 4.1", 0, 5), Occurrence(B, 1, "norepinephrine started", 6, 9))
)
TEXT = Timeline.complete(INVENTORY, [Entry(A, 10, 8, 12), Entry(B, 3)], TimelineKind.TEXT_ONLY)


def row(
    index: int, time: float | None, value: str = "", event: str = "lab:lactate:blood"
) -> SourceRow:
    return SourceRow(index, time, event, value)


def make_kept_candidate(uid: str, query: int, event: str, rho: float, rank: int = 1) -> Candidate:
    return Candidate(uid, query, event, rank, 0.5, rho, kept=True, fate="kept")


def test_rows_of_a_summary_value_then_distance_then_time_then_index() -> None:
    rows = [
        row(0, 9, "2.0"),
        row(1, 40, "4.1"),
        row(2, 13, "3.0"),
        row(3, 7, "3.0"),
        row(4, 9, "1.0"),
        row(5, 20, "4.10"),
    ]
    assert [r.row_index for r in choose_rows(rows, "lactate 4.1", Entry(A, 10, 8, 12), 6)] == [
        5,
        1,
        0,
        4,
        3,
        2,
    ]


def test_distance_to_bounds() -> None:
    assert distance_to_bounds(7, Entry(A, 10, 8, 12)) == 1
    assert distance_to_bounds(15, Entry(A, 10, 8, 12)) == 3
    assert distance_to_bounds(9, Entry(A, 10, 8, 12)) == 0
    assert distance_to_bounds(9, Entry(A, 3)) == 6
    assert distance_to_bounds(9, Entry(A, None)) == 0
    assert distance_to_bounds(9, Entry(A, None, upper=5)) == 4


def test_rows_after_discharge_grace_and_rows_without_time_are_dropped() -> None:
    rows = {"e": [row(0, 112.0), row(1, 112.1), row(2, None), row(3, -3)]}
    for discharge, expected in ((100.0, [3, 0]), (None, [3, 0, 1])):
        found = expand(
            INVENTORY,
            TEXT,
            [make_kept_candidate(B, 0, "e", 0.5)],
            rows,
            discharge=discharge,
            caps=Caps(),
            config=PipelineConfig(),
        )
        assert [e.row.row_index for e in found.evidence] == expected
        assert found.without_evidence == (A,)


def test_dropped_candidates_bring_no_rows() -> None:
    dropped = Candidate(A, 0, "e", 1, 0.9, 0.01, kept=False, fate="below threshold")
    found = expand(
        INVENTORY,
        TEXT,
        [dropped],
        {"e": [row(0, 1)]},
        discharge=None,
        caps=Caps(),
        config=PipelineConfig(),
    )
    assert found.evidence == ()
    assert found.without_evidence == (A, B)


def test_a_row_counts_once_per_uid_by_its_best_bringer_and_may_serve_two_uids() -> None:
    rows = {"e": [row(0, 9)]}
    candidates = [
        make_kept_candidate(A, 0, "e", 0.3),
        make_kept_candidate(A, 1, "e", 0.7),
        make_kept_candidate(B, 0, "e", 0.2),
    ]
    found = expand(
        INVENTORY, TEXT, candidates, rows, discharge=None, caps=Caps(), config=PipelineConfig()
    )
    assert [(e.uid, e.query, e.rerank_score) for e in found.evidence] == [(A, 1, 0.7), (B, 0, 0.2)]


def test_caps_by_rho_then_inventory_then_query() -> None:
    rows = {"e": [row(i, 9 + i) for i in range(3)], "f": [row(i + 10, 9 + i) for i in range(3)]}
    candidates = [
        make_kept_candidate(A, 0, "e", 0.4),
        make_kept_candidate(A, 1, "f", 0.6),
        make_kept_candidate(B, 0, "e", 0.6),
    ]

    def indices(caps: Caps) -> list[tuple[str, int]]:
        found = expand(
            INVENTORY, TEXT, candidates, rows, discharge=None, caps=caps, config=PipelineConfig()
        )
        return [(e.uid, e.row.row_index) for e in found.evidence]

    assert indices(Caps(per_occurrence=3, per_case=None)) == [
        (A, 10),
        (A, 11),
        (A, 0),
        (B, 0),
        (B, 1),
        (B, 2),
    ]
    assert indices(Caps(per_case=4)) == [(A, 10), (A, 11), (A, 12), (B, 0)]
    assert indices(Caps(per_case=7)) == [(A, 10), (A, 11), (A, 12), (A, 0), (B, 0), (B, 1), (B, 2)]


def test_an_occurrences_own_cap_prefers_rows_that_state_its_value() -> None:
    rows = {
        "e": [row(i, 9 + i, "2.0") for i in range(3)],
        "f": [row(10, 90, "4.1"), row(11, 9, "2.2")],
    }
    candidates = [make_kept_candidate(A, 0, "e", 0.9), make_kept_candidate(A, 1, "f", 0.3)]
    found = expand(
        INVENTORY,
        TEXT,
        candidates,
        rows,
        discharge=None,
        caps=Caps(per_occurrence=2, per_case=None),
        config=PipelineConfig(),
    )
    assert {e.row.row_index for e in found.evidence} == {10, 0}
