"""A small case and a model server in this process, for model runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ehr.models import Dataset
from llm_runtime.base import ModelRequest
from llm_runtime.calls.server_facts import NO_FACTS, ServerFacts
from llm_runtime.roles import ModelRoles
from tests import factories
from tests.model_server import Answer, ModelServer
from tests.unit.timelines.prompted.answers import make_good_answer
from timelines.models import Run
from timelines.runs import tools
from timelines.runs.following import work_inline

NOTE = """HISTORY OF PRESENT ILLNESS

Cough for two days before admission. Fever began yesterday.

HOSPITAL COURSE

Lactate was measured on arrival. Vancomycin was started six hours later. Pressors followed on hospital day two.
"""
LOCAL_ROLES: Mapping[str, Any] = {
    "embedder": {"provider": "hashing"},
    "reranker": {"provider": "lexical", "threshold": 0.0},
}


def make_answer(request: ModelRequest, number: int) -> str:
    """Return a valid answer to any request."""
    return make_good_answer(request)


def make_server(
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[[ModelRequest, int], Answer | str] = make_answer,
    **options: Any,
) -> ModelServer:
    """A server that serves every language role; enter it before use."""
    server = ModelServer(answer)
    use_server(monkeypatch, server, **options)
    return server


def use_server(
    monkeypatch: pytest.MonkeyPatch,
    server: ModelServer,
    facts: ServerFacts = NO_FACTS,
    **options: Any,
) -> ModelRoles:
    """Let every language role of this process be served by that server."""
    roles = ModelRoles(
        {**LOCAL_ROLES, "language_model": "fake"}, {"fake": server.options(**options)}, facts=facts
    )
    monkeypatch.setattr(tools, "roles", lambda: roles)
    return roles


def small_dataset(cases: int = 1) -> Dataset:
    """Cases with the same small note and one series each."""
    made = factories.make_dataset(name="cohort")
    for number in range(cases):
        encounter = factories.make_encounter(made, case_id=f"case-{number}")
        factories.make_note(encounter, NOTE if number == 0 else NOTE + f"\nCase {number}.\n")
        event = "med:vancomycin:administered"
        factories.make_series(
            encounter,
            event,
            [factories.make_row(encounter, event, 6.5)],
            summary="vancomycin administered at 6.5 h",
        )
    return made


def finish_run(run: Run) -> Run:
    """Do all that can be done in this process."""
    work_inline(run, lambda words: None)
    run.refresh_from_db()
    return run
