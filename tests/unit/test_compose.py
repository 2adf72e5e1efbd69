"""The deployment file holds together. No engine runs here, so this is what can be said of it without one."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from config.env import BASE_DIR
from timelines.models import STAGE_ORDER, Stage
from timelines.tools import BACKBONES, queue_of

FILE = BASE_DIR / "docker" / "compose.yaml"
VARIABLE = re.compile(r"\$\{([A-Z_]+)(?::[-?][^}]*)?\}")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load(FILE.read_text(encoding="utf-8"))


def words(service: dict[str, Any]) -> str:
    return str(service.get("command", ""))


def test_everything_a_service_names_is_there(compose):
    services = compose["services"]
    for name, service in services.items():
        assert ("image" in service) != ("build" in service), name
        assert set(service.get("depends_on", {})) <= set(services), name
        assert set(service.get("secrets", [])) <= set(compose["secrets"]), name
        named = [volume.split(":")[0] for volume in service.get("volumes", [])]
        assert set(named) <= set(compose["volumes"]), name
        if "build" in service:
            assert (FILE.parent / service["build"]["context"] / service["build"]["dockerfile"]).resolve().is_file(), name


def test_what_is_waited_for_can_be_waited_for(compose):
    for name, service in compose["services"].items():
        for other, how in service.get("depends_on", {}).items():
            waited = compose["services"][other]
            assert how["condition"] != "service_healthy" or "healthcheck" in waited, (name, other)
            assert how["condition"] != "service_completed_successfully" or waited["restart"] == "no", (name, other)


def test_without_a_profile_nothing_needs_a_card(compose):
    plain = {name for name, service in compose["services"].items() if "profiles" not in service}
    assert plain == {"db", "broker", "migrate", "web", "beat", "ingest-worker", "worker"}
    assert not [name for name in plain if "deploy" in compose["services"][name]]
    cards = {name for name, service in compose["services"].items() if service.get("profiles") == ["gpu"]}
    assert cards == {"vllm", "gpu-worker"}
    for name in cards:
        (device,) = compose["services"][name]["deploy"]["resources"]["reservations"]["devices"]
        assert (device["driver"], device["capabilities"]) == ("nvidia", ["gpu"])
        assert ("count" in device) != ("device_ids" in device)


def test_every_queue_has_a_worker(compose):
    """With the profile, the queue that the worker leaves is the one that the worker with a card takes."""
    worked = re.search(r"WORKER_QUEUES:-([a-z,]+)\}", words(compose["services"]["worker"]))
    assert worked is not None
    wanted = {queue_of(backbone, stage) for backbone in BACKBONES for stage in STAGE_ORDER}
    assert queue_of("rules", Stage.RETRIEVE) == "embed"
    assert wanted <= set(worked[1].split(","))
    assert "--queues embed" in words(compose["services"]["gpu-worker"])
    assert "--queues ingest" in words(compose["services"]["ingest-worker"])


def test_a_worker_with_a_card_does_not_fork(compose):
    assert "--pool solo" in words(compose["services"]["gpu-worker"])
    assert "--pool threads" in words(compose["services"]["worker"])


def test_ports_are_open_to_this_machine_only_and_no_secret_stands_in_the_file(compose):
    assert [port for s in compose["services"].values() for port in s.get("ports", []) if not port.startswith("127.0.0.1:")] == []
    for service in compose["services"].values():
        environment = service.get("environment", {})
        assert not [key for key in environment if re.search(r"PASSWORD$|SECRET_KEY$|DATABASE_URL$|API_KEY$", key)]


def test_every_variable_of_the_file_is_explained():
    explained = (BASE_DIR / "docs" / "gpu.md").read_text(encoding="utf-8") + (BASE_DIR / ".env.example").read_text(encoding="utf-8")
    assert [name for name in VARIABLE.findall(FILE.read_text(encoding="utf-8")) if name not in explained] == []
