"""A demo case that the rules have reconstructed, for tests of evaluations."""

from __future__ import annotations

import pytest

from ehr.models import Dataset
from llm_runtime.roles import ModelRoles
from tests.paths import DEMO
from tests.worlds.kept import build_once
from tests.worlds.reconstructed import import_folder, run_inline

CASE = "20338077"


@pytest.fixture
def roles(monkeypatch) -> ModelRoles:
    made = ModelRoles({"embedder": {"provider": "hashing"}, "reranker": {"provider": "lexical"}})
    monkeypatch.setattr("timelines.runs.tools.roles", lambda: made)
    return made


@pytest.fixture
def dataset(transactional_db, roles) -> Dataset:
    """Return a demo case that the rules have reconstructed."""
    return reconstruct_case()


@build_once
def reconstruct_case() -> Dataset:
    found = import_folder(DEMO / "cohort", cases=[CASE])
    run_inline(found)
    return found
