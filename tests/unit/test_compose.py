"""The deployment file is consistent, checked without an engine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from config.env import BASE_DIR
from config.services.supervisor import AFTER_KILL_SECONDS, STOP_SECONDS
from timelines.models import STAGE_ORDER, Stage
from timelines.runs.tools import BACKBONES, find_queue

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
        assert set(named) <= {*compose["volumes"], "../backups"}, name
        if "build" in service:
            assert (
                (FILE.parent / service["build"]["context"] / service["build"]["dockerfile"])
                .resolve()
                .is_file()
            ), name


@pytest.mark.parametrize("profile", [[], ["--profile", "gpu"], ["--profile", "operations"]])
def test_docker_compose_accepts_the_file(profile):
    """`docker compose config` needs no engine."""
    candidates = (["docker", "compose"], ["docker-compose"])
    found = [
        c
        for c in candidates
        if shutil.which(c[0])
        and subprocess.run([*c, "version"], capture_output=True).returncode == 0
    ]
    if not found:
        pytest.skip("docker compose is not installed here")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": os.environ.get("HOME", ""),
        "ALLOWED_HOSTS": "occurrent.example.org",
    }
    checked = subprocess.run(
        [*found[0], "--file", str(FILE), *profile, "config", "--quiet"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_a_worker_with_a_card_can_fetch_its_weights_and_keep_them(compose):
    """The worker may download, and its volume belongs to its user.

    The image forbids the net to every library.
    """
    worker = compose["services"]["gpu-worker"]
    assert worker["environment"]["HF_HUB_OFFLINE"] == "${HF_HUB_OFFLINE:-0}"
    assert set(compose["x-application"]["environment"]) < set(worker["environment"])
    (weights,) = [
        volume.split(":") for volume in worker["volumes"] if volume.startswith("worker-weights")
    ]
    text = (FILE.parent / "gpu-worker.Dockerfile").read_text(encoding="utf-8")
    assert re.search(rf"install --directory --owner occurrent.* {weights[1]}$", text, re.MULTILINE)
    shared = [
        name
        for name, s in compose["services"].items()
        for v in s.get("volumes", [])
        if v.startswith("worker-weights")
    ]
    assert shared == ["gpu-worker"]


def test_keys_of_model_servers_reach_whoever_asks_them(compose):
    for name in ("web", "worker", "gpu-worker"):
        (keys,) = compose["services"][name]["env_file"]
        assert keys == {"path": "../secrets/model_keys.env", "required": False}
    assert "secrets/model_keys.env" in (BASE_DIR / "docs" / "gpu.md").read_text(encoding="utf-8")


def test_every_secret_is_made_by_the_commands_of_the_header(compose):
    header = FILE.read_text(encoding="utf-8").split("x-application")[0]
    made = set(re.findall(r"> secrets/([a-z_]+)", header))
    for names in re.findall(r"for name in ([a-z_ ]+);", header):
        made |= set(names.split())
    assert made == set(compose["secrets"])
    read = header.index("$(cat secrets/database_password)")
    assert header.index("database_password;") < read


def test_only_migrate_and_backup_can_connect_as_the_owner_of_the_tables(compose):
    for name, service in compose["services"].items():
        owner = {"database_owner_url", "database_password"} & set(service.get("secrets", []))
        assert owner == {
            "migrate": {"database_owner_url"},
            "backup": {"database_owner_url"},
            "db": {"database_password"},
        }.get(name, set()), name
    header = FILE.read_text(encoding="utf-8").split("x-application")[0]
    assert len(set(re.findall(r"postgresql://([a-z_]+):", header))) == 2


def test_what_is_waited_for_can_be_waited_for(compose):
    for name, service in compose["services"].items():
        for other, how in service.get("depends_on", {}).items():
            waited = compose["services"][other]
            assert how["condition"] != "service_healthy" or "healthcheck" in waited, (name, other)
            assert (
                how["condition"] != "service_completed_successfully" or waited["restart"] == "no"
            ), (name, other)


def test_without_a_profile_nothing_needs_a_card(compose):
    plain = {name for name, service in compose["services"].items() if "profiles" not in service}
    assert plain == {"db", "broker", "migrate", "web", "beat", "ingest-worker", "worker"}
    assert not [name for name in plain if "deploy" in compose["services"][name]]
    profiles = {name: s["profiles"] for name, s in compose["services"].items() if "profiles" in s}
    cards = {name for name, names in profiles.items() if names == ["gpu"]}
    assert cards == {"vllm", "gpu-worker"}
    assert {name: profiles[name] for name in set(profiles) - cards} == {"backup": ["operations"]}
    for name in cards:
        (device,) = compose["services"][name]["deploy"]["resources"]["reservations"]["devices"]
        assert (device["driver"], device["capabilities"]) == ("nvidia", ["gpu"])
        assert ("count" in device) != ("device_ids" in device)


def test_every_queue_has_a_worker(compose):
    """Every queue has a worker, with and without the profile of a card."""
    worked = re.search(r"WORKER_QUEUES:-([a-z,]+)\}", words(compose["services"]["worker"]))
    assert worked is not None
    wanted = {find_queue(backbone, stage) for backbone in BACKBONES for stage in STAGE_ORDER}
    assert find_queue("rules", Stage.RETRIEVE) == "embed"
    assert wanted <= set(worked[1].split(","))
    assert "--queues embed" in words(compose["services"]["gpu-worker"])
    assert "--queues ingest" in words(compose["services"]["ingest-worker"])


def test_a_worker_with_a_card_does_not_fork(compose):
    assert "--pool solo" in words(compose["services"]["gpu-worker"])
    assert "--pool threads" in words(compose["services"]["worker"])


def test_a_stopped_worker_has_time_to_give_its_jobs_back(compose):
    """Longer than both waits together, for its end and after a kill."""
    workers = {name for name, s in compose["services"].items() if "--queues" in words(s)}
    assert workers == {"ingest-worker", "worker", "gpu-worker"}
    for name in workers:
        service = compose["services"][name]
        assert words(service).startswith("python -m config.services.worker --"), name
        assert service["init"] is True, name
        (seconds,) = re.fullmatch(r"(\d+)s", service["stop_grace_period"]).groups()
        assert int(seconds) > STOP_SECONDS + AFTER_KILL_SECONDS, name
    text = (FILE.parent / "gpu-worker.Dockerfile").read_text(encoding="utf-8")
    assert '\nCMD ["python", "-m", "config.services.worker", "--' in text


def test_every_container_has_a_limit_and_logs_that_rotate(compose):
    """The model server has its cards' memory and no other limit."""
    for name, service in compose["services"].items():
        assert service["logging"]["options"] == {"max-size": "50m", "max-file": "5"}, name
        assert ("mem_limit" in service) != (name == "vllm"), name
    for name in ("ingest-worker", "worker", "gpu-worker"):
        assert compose["services"][name]["mem_limit"] == "${WORKER_MEMORY:-8g}"


def test_the_web_process_is_healthy_when_the_installation_can_work(compose):
    """The image has Python but no curl."""
    check = compose["services"]["web"]["healthcheck"]["test"]
    assert check[:3] == ["CMD", "python", "-c"]
    compile(check[3], "healthcheck", "exec")
    assert "http://127.0.0.1:8000/readyz" in check[3]
    assert "stop_grace_period" in compose["services"]["web"]


def test_a_backup_is_encrypted_and_leaves_the_machine_of_the_database(compose):
    backup = compose["services"]["backup"]
    assert "--recipient ${BACKUP_RECIPIENT:-}" in words(backup)
    folder = backup["volumes"][-1].split(":")[1]
    assert f"--to {folder} " in words(backup)
    for file in (".gitignore", ".dockerignore"):
        assert "backups" in (BASE_DIR / file).read_text(encoding="utf-8")


def test_ports_are_open_to_this_machine_only_and_no_secret_stands_in_the_file(compose):
    assert [
        port
        for s in compose["services"].values()
        for port in s.get("ports", [])
        if not port.startswith("127.0.0.1:")
    ] == []
    for service in compose["services"].values():
        environment = service.get("environment", {})
        assert not [
            key
            for key in environment
            if re.search(r"PASSWORD$|SECRET_KEY$|DATABASE_URL$|API_KEY$", key)
        ]


def test_every_variable_of_the_file_is_explained():
    explained = (BASE_DIR / "docs" / "gpu.md").read_text(encoding="utf-8") + (
        BASE_DIR / ".env.example"
    ).read_text(encoding="utf-8")
    assert [
        name for name in VARIABLE.findall(FILE.read_text(encoding="utf-8")) if name not in explained
    ] == []
