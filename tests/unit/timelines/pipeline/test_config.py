"""The protocol's numbers as settings."""

import json
import re
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.env import BASE_DIR
from timelines.pipeline.config import ConfigError, PipelineConfig, Variant


def test_defaults_are_the_protocols() -> None:
    c = PipelineConfig()
    assert (c.variant, c.rho_threshold, c.top_k_dense, c.top_k_rerank, c.rows_per_summary) == (
        Variant.FULL,
        None,
        10,
        3,
        3,
    )
    assert (c.case_row_cap, c.discharge_grace_hours, c.alternatives, c.max_queries) == (
        100,
        12.0,
        3,
        3,
    )
    assert (c.infer_batch_size, c.query_batch_size, c.embed_batch_size, c.rerank_batch_size) == (
        60,
        180,
        8,
        4,
    )
    assert (c.tag_single_pass_lines, c.tag_chunk_lines, c.query_local_characters) == (500, 450, 700)
    assert (c.revise_note_characters, c.revise_local_characters, c.evidence_field_characters) == (
        30_000,
        220,
        160,
    )


@given(
    variant=st.sampled_from(Variant),
    seed=st.integers(0, 2**31),
    rho=st.none() | st.floats(0, 1),
    grace=st.floats(0, 100),
    alternatives=st.integers(1, 9),
)
def test_json_round_trip(
    variant: Variant, seed: int, rho: float | None, grace: float, alternatives: int
) -> None:
    config = PipelineConfig(
        variant=variant,
        seed=seed,
        rho_threshold=rho,
        discharge_grace_hours=grace,
        alternatives=alternatives,
    )
    assert PipelineConfig.from_dict(json.loads(config.to_json())) == config


def test_json_holds_every_setting_and_missing_ones_take_the_default() -> None:
    assert set(json.loads(PipelineConfig().to_json())) == {f.name for f in fields(PipelineConfig)}
    assert PipelineConfig.from_dict({"variant": "unimodal"}) == replace(
        PipelineConfig(), variant=Variant.UNIMODAL
    )


def test_a_config_of_a_run_from_before_a_setting_was_retired_loads() -> None:
    older = PipelineConfig(seed=7).to_dict() | {"max_context_uids": 5, "rerank_max_tokens": 8192}
    assert PipelineConfig.from_dict(older) == PipelineConfig(seed=7)


def test_every_setting_has_a_reader() -> None:
    """A setting without reader would be recorded and have no effect."""
    texts = [
        path.read_text(encoding="utf-8")
        for path in (BASE_DIR / "timelines").rglob("*.py")
        if path != BASE_DIR / "timelines" / "pipeline" / "config.py"
    ]
    unread = {
        f.name
        for f in fields(PipelineConfig)
        if not any(re.search(rf"\.{f.name}\b", text) for text in texts)
    }
    assert unread == set()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"top_k": 3}, "fields with unknown names: 1"),
        ({"variant": "half"}, "variant is none of full, unimodal, "),
        ({"alternatives": 0}, "alternatives must be greater than or equal to 1"),
        ({"alternatives": True}, "alternatives is no number"),
        ({"alternatives": 2.5}, "alternatives must be a valid integer"),
        ({"alternatives": None}, "alternatives must be a valid integer"),
        ({"rho_threshold": 1.5}, "rho_threshold must be less than or equal to 1"),
        ({"rho_threshold": "0.05"}, "rho_threshold is no number"),
        ({"discharge_grace_hours": -1}, "discharge_grace_hours must be greater than"),
        ({"discharge_grace_hours": float("inf")}, "discharge_grace_hours must be a finite number"),
        ({"min_queries": 4}, "min_queries exceeds max_queries"),
    ],
)
def test_a_wrong_setting_is_named(values: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        PipelineConfig.from_dict(values)


def test_a_whole_number_may_have_a_decimal_point() -> None:
    assert PipelineConfig.from_dict({"alternatives": 2.0, "discharge_grace_hours": 6}) == (
        PipelineConfig(alternatives=2, discharge_grace_hours=6.0)
    )


def test_a_config_that_breaks_a_rule_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="alternatives"):
        PipelineConfig(alternatives=0)
    with pytest.raises(ValueError, match="min_queries exceeds max_queries"):
        replace(PipelineConfig(), min_queries=4)
