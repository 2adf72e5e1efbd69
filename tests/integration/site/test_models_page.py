"""The Models page: reachability, context, load and the last error.

It opens at once and never waits long for a server.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from functools import cached_property

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Role
from llm_runtime import roles as roles_module
from llm_runtime import views
from llm_runtime.models import ModelCall, ModelRequestText
from llm_runtime.providers.openai_http import OpenAIModel
from llm_runtime.roles import ModelRoles
from llm_runtime.servers import health
from llm_runtime.servers.health import check_health
from tests import factories
from tests.model_server import Answer, ModelServer

pytestmark = pytest.mark.django_db


def silent(request: object, number: int) -> Answer:
    return Answer("12")


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A server that answers is waited for, however busy the machine."""
    monkeypatch.setattr(health, "PATIENCE", 60.0)


@pytest.fixture
def client() -> Client:
    found = Client()
    found.force_login(factories.make_user(factories.make_study(), Role.ADMIN))
    return found


def test_each_model_is_asked_once_whatever_it_serves():
    with ModelServer(silent, model="large") as server:
        down = {
            "provider": "openai",
            "base_url": "http://127.0.0.1:9/v1",
            "model": "gone",
            "context": 4096,
        }
        entries = {
            "large": server.options(),
            "gone": down,
            "keyless": {**server.options(), "api_key_env": "NO_SUCH_KEY"},
        }
        roles = ModelRoles(
            {"language_model": "large", "judge": "missing", "embedder": {"provider": "hashing"}},
            entries,
        )
        lines = check_health(roles, views.ROLES)
    by_model = {(line.model, line.names): line for line in lines}
    large = by_model["large", ("large",)]
    assert (large.reachable, large.context, large.running, large.waiting) == (True, 32768, 3, 2)
    assert large.roles == ("tagger", "timer", "query_writer", "reviser")
    gone = by_model["gone", ("gone",)]
    assert (gone.reachable, gone.context) == (False, 4096)
    assert "could not be reached" in gone.trouble
    assert "NO_SUCH_KEY is not set" in by_model["large", ("keyless",)].trouble
    assert by_model["hashing-64", ()].reachable is None
    assert [line.trouble for line in lines if line.roles == ("judge",)] == [
        "role 'judge': no model has the name that is set; MODEL_ENDPOINTS has: gone, keyless, large"
    ]
    assert server.requests == []


def test_models_that_are_asked_by_files_say_so_with_the_context_in_force(client, monkeypatch):
    entries = {
        "outside": {"provider": "exchange", "model": "strong"},
        "bad": {"provider": "openai", "model": "m"},
    }
    roles = ModelRoles({"language_model": "outside"}, entries)
    monkeypatch.setattr(views, "configured_roles", lambda: roles)
    outside, bad = check_health(roles, views.ROLES)
    assert (outside.endpoint, outside.context, outside.reachable, outside.output) == (
        "exchange",
        128_000,
        None,
        "schema",
    )
    assert "missing options: base_url" in bad.trouble
    text = ModelRequestText.objects.create(sha256="0" * 64, body="{}")
    ModelCall.objects.create(
        owner_type="x", owner_id="1", role="judge", model=outside.name, prompt="p", prompt_sha256="0" * 64, request=text, part="p",
        attempt=1, seconds=0.0, outcome="pending", reasons=["Pending: the answer comes from outside"],
    )  # fmt: skip
    fragment = client.get(reverse("llm_runtime:health")).content.decode()
    assert "asked by files" in fragment
    assert "in the worker" not in fragment
    assert "Pending" not in fragment


def test_the_embedder_of_a_baseline_is_listed_by_itself():
    roles = ModelRoles(
        {
            "embedder": {"provider": "hashing"},
            "tkw2_embedder": {"provider": "hashing", "dimension": 8},
        }
    )
    assert [(line.model, line.roles) for line in check_health(roles, views.ROLES)] == [
        ("hashing-64", ("embedder", "matcher")),
        ("hashing-8", ("tkw2_embedder",)),
    ]


def test_servers_of_embeddings_and_scores_are_asked_too():
    with ModelServer(silent, model="large") as server:
        there = {"base_url": server.options()["base_url"], "model": "large"}
        spec = {
            "embedder": {"provider": "openai_embeddings", **there},
            "reranker": {"provider": "openai_rerank", **there, "threshold": 0.05, "model": "other"},
            "matcher": {
                "provider": "openai_embeddings",
                "base_url": "http://127.0.0.1:9/v1",
                "model": "gone",
            },
        }
        embedder, reranker, matcher = check_health(
            ModelRoles(spec), ("embedder", "reranker", "matcher")
        )
    assert (embedder.reachable, embedder.context, embedder.running, embedder.output) == (
        True,
        32768,
        3,
        "",
    )
    assert (reranker.reachable, reranker.trouble) == (
        False,
        f"the server at {reranker.endpoint} does not serve the model other",
    )
    assert (matcher.reachable, matcher.trouble) == (
        False,
        "gone: the server could not be reached, or broke off (1 attempt)",
    )


def test_a_model_that_the_server_does_not_serve_is_told():
    with ModelServer(silent, model="large") as server:
        (line,) = check_health(
            ModelRoles({"judge": {**server.options(), "model": "small"}}), ("judge",)
        )
    assert (line.reachable, "does not serve the model small" in line.trouble) == (False, True)


def test_the_client_is_loaded_before_the_servers_time_counts(monkeypatch):
    timed = []

    class Watched(OpenAIModel):
        @cached_property
        def _library(self):
            timed.append(asyncio._get_running_loop() is not None)
            return super()._library

    monkeypatch.setitem(roles_module.PROVIDERS, "openai", (__name__, "Watched"))
    monkeypatch.setitem(globals(), "Watched", Watched)
    with ModelServer(silent, model="large") as server:
        (line,) = check_health(ModelRoles({"judge": server.options()}), ("judge",))
    assert (line.reachable, line.trouble) == (True, "")
    assert timed == [False], "servers are asked, and timed, inside a loop of asyncio"


def test_a_client_library_that_is_missing_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    (line,) = check_health(
        ModelRoles(
            {"judge": {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "model": "m"}}
        ),
        ("judge",),
    )
    assert "pip install openai" in line.trouble


def test_a_server_that_accepts_and_says_nothing_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(health, "PATIENCE", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"http://127.0.0.1:{mute.getsockname()[1]}/v1"
        begun = time.monotonic()
        (line,) = check_health(
            ModelRoles({"judge": {"provider": "openai", "base_url": url, "model": "m"}}), ("judge",)
        )
    assert time.monotonic() - begun < 60, "the operating system's own limit is minutes"
    assert (line.reachable, line.trouble) == (False, "no answer within 0.3 s")


def test_the_page_opens_without_asking_and_its_fragment_tells_the_last_error(client, monkeypatch):
    with ModelServer(silent, model="large") as server:
        roles = ModelRoles({"judge": server.options()})
        monkeypatch.setattr(views, "configured_roles", lambda: roles)
        text = ModelRequestText.objects.create(sha256="0" * 64, body="{}")
        ModelCall.objects.create(
            owner_type="x", owner_id="1", role="judge", model=roles.language_model("judge").name, prompt="p", prompt_sha256="0" * 64,
            request=text, part="p", attempt=1, seconds=1.0, outcome="unavailable", reasons=["Unavailable: the server was too slow"],
        )  # fmt: skip
        page = client.get(reverse("llm_runtime:models")).content.decode()
        assert reverse("llm_runtime:health") in page
        assert "tagger, timer, query_writer, reviser" in page
        fragment = client.get(reverse("llm_runtime:health")).content.decode()
    assert "reachable" in fragment
    assert "UTC: Unavailable: the server was too slow" in fragment
    assert ">3<" in fragment
