"""Stage 5 in both presets: the rows that reach revision, in order.

Values by hand.
"""

import pytest

from timelines.domain import (
    Candidate,
    Entry,
    Inventory,
    NoRows,
    Occurrence,
    SourceRow,
    Timeline,
    TimelineKind,
)
from timelines.pipeline.config import PipelineConfig, Preset, preset_config
from timelines.pipeline.expansion import Caps, choose_rows, expand
from timelines.pipeline.preferences import distance_to_bounds

A, B = "0a1b", "a5d3"
DEFAULT, PUBLISHED = PipelineConfig(), preset_config(Preset.PUBLISHED)
PRESETS = pytest.mark.parametrize("config", [DEFAULT, PUBLISHED], ids=list(Preset))
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


@PRESETS
def test_rows_after_discharge_grace_and_rows_without_time_are_dropped(
    config: PipelineConfig,
) -> None:
    rows = {"e": [row(0, 112.0), row(1, 112.1), row(2, None), row(3, -3)]}
    for discharge, expected in ((100.0, [3, 0]), (None, [3, 0, 1])):
        found = expand(
            INVENTORY,
            TEXT,
            [make_kept_candidate(B, 0, "e", 0.5)],
            rows,
            discharge=discharge,
            caps=Caps(),
            config=config,
        )
        assert [e.row.row_index for e in found.evidence] == expected
        assert found.without_evidence == {A: NoRows.NONE_FOUND}


@PRESETS
def test_dropped_candidates_bring_no_rows(config: PipelineConfig) -> None:
    dropped = Candidate(A, 0, "e", 1, 0.9, 0.01, kept=False, fate="below threshold")
    found = expand(
        INVENTORY,
        TEXT,
        [dropped],
        {"e": [row(0, 1)]},
        discharge=None,
        caps=Caps(),
        config=config,
    )
    assert found.evidence == ()
    assert found.without_evidence == {A: NoRows.BELOW_THRESHOLD, B: NoRows.NONE_FOUND}


@PRESETS
def test_a_row_counts_once_per_uid_by_its_best_bringer_and_may_serve_two_uids(
    config: PipelineConfig,
) -> None:
    rows = {"e": [row(0, 9)]}
    candidates = [
        make_kept_candidate(A, 0, "e", 0.3),
        make_kept_candidate(A, 1, "e", 0.7),
        make_kept_candidate(B, 0, "e", 0.2),
    ]
    found = expand(INVENTORY, TEXT, candidates, rows, discharge=None, caps=Caps(), config=config)
    assert [(e.uid, e.query, e.rerank_score) for e in found.evidence] == [(A, 1, 0.7), (B, 0, 0.2)]


def test_published_caps_by_rho_then_inventory_then_query() -> None:
    rows = {"e": [row(i, 9 + i) for i in range(3)], "f": [row(i + 10, 9 + i) for i in range(3)]}
    candidates = [
        make_kept_candidate(A, 0, "e", 0.4),
        make_kept_candidate(A, 1, "f", 0.6),
        make_kept_candidate(B, 0, "e", 0.6),
    ]

    def indices(caps: Caps) -> list[tuple[str, int]]:
        found = expand(
            INVENTORY, TEXT, candidates, rows, discharge=None, caps=caps, config=PUBLISHED
        )
        return [(e.uid, e.row.row_index) for e in found.evidence]

    assert indices(Caps(per_case=4)) == [(A, 10), (A, 11), (A, 12), (B, 0)]
    assert indices(Caps(per_case=7)) == [(A, 10), (A, 11), (A, 12), (A, 0), (B, 0), (B, 1), (B, 2)]
