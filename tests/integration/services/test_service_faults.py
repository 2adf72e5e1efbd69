"""A damaged installation names the fault and ends, or recovers.

Nothing crashes in a loop.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest
import redis

from config.env import BASE_DIR
from config.services import broker, embedded, postgres
from config.services.errors import ServiceError
from config.services.processes import end, find_processes
from tests.marks import deep

pytestmark = pytest.mark.slow

#: Longer than any start here takes, shorter than anybody waits.
SECONDS = 300


def build_environment(var: Path) -> dict[str, str]:
    return {
        **os.environ,
        "OCCURRENT_VAR": str(var),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "WORKER_CONCURRENCY": "1",
    }


def run(module: str, var: Path, *arguments: str, **options) -> subprocess.CompletedProcess[str]:
    """Run a module of the services to its end, as in a terminal."""
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(
        command,
        cwd=BASE_DIR,
        env=build_environment(var),
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        **options,
    )


def start(var: Path, **options) -> subprocess.CompletedProcess[str]:
    return run("config.services", var, "start", **options)


def check_messages(result: subprocess.CompletedProcess[str], *words: str) -> None:
    assert result.returncode == 1, result
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in result.stderr, result.stderr


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def directory(path: Path) -> None:
    path.mkdir(parents=True)


def file(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()


@pytest.mark.parametrize(
    ("place", "make"),
    [
        pytest.param("lock/services", directory, marks=pytest.mark.deep),
        pytest.param("lock", file, marks=pytest.mark.deep),
        pytest.param("run", file, marks=pytest.mark.deep),
        pytest.param("log", file, marks=pytest.mark.deep),
        pytest.param("broker", file, marks=pytest.mark.deep),
        ("postgres", file),
        pytest.param("run/broker.sock", directory, marks=pytest.mark.deep),
        pytest.param("run/.s.PGSQL.5432", directory, marks=pytest.mark.deep),
    ],
)
def test_something_else_in_the_place_of_a_file_is_named(private_services, place, make):
    paths = private_services
    folder = {"run": paths.sockets, "lock": paths.locks}.get(place.split("/")[0])
    found = folder.joinpath(*place.split("/")[1:]) if folder else paths.state / place
    make(found)
    result = start(paths.var)
    check_messages(result, str(found), "Move it away, then try again.")
    found.rmdir() if found.is_dir() else found.unlink()
    assert start(paths.var).returncode == 0


@pytest.mark.parametrize("var", ["/sys/occurrent", "/dev/null/occurrent"])
def test_a_directory_that_cannot_be_written_is_named(var):
    for module in ("config.services", "config.services.serve"):
        arguments = ("start",) if module == "config.services" else ("--port", str(free_port()))
        check_messages(
            run(module, Path(var), *arguments),
            "/occurrent" if var.startswith("/sys") else "/dev/null",
        )


@pytest.mark.deep
def test_a_full_disk_is_named_and_leaves_nothing_half_made(private_services):
    """A limit on the size of files simulates the disk.

    Writing fails in the middle of a file.
    """
    # these are copies if the servers' user cannot read the packages
    postgres.binaries(private_services), broker.binary(private_services)
    result = start(
        private_services.var,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )
    check_messages(result, "PostgreSQL could not create its data", "Free space")
    assert start(private_services.var).returncode == 0


@pytest.mark.parametrize("content", [None, *deep("", "garbage\n")])
def test_a_damaged_version_file_is_named(private_services, content):
    paths = private_services
    embedded.ensure_running(paths, ["postgres"])
    embedded.stop(paths, ["postgres"])
    version = paths.postgres_data / "PG_VERSION"
    kept = version.read_text()
    version.unlink() if content is None else version.write_text(content)
    check_messages(start(paths.var), str(paths.postgres_data), "start empty")
    version.write_text(kept)
    assert embedded.ensure_running(paths, ["postgres"]) == ["postgres"]


@pytest.mark.deep
@pytest.mark.parametrize("damaged", ["global/pg_control", "postgresql.conf"])
def test_what_postgres_says_of_damaged_data_is_shown(private_services, damaged):
    paths = private_services
    embedded.ensure_running(paths, ["postgres"])
    embedded.stop(paths, ["postgres"])
    (paths.postgres_data / damaged).unlink()
    check_messages(start(paths.var), "PostgreSQL did not start", Path(damaged).name)


@pytest.mark.deep
def test_lost_rules_of_access_are_written_again(private_services):
    paths = private_services
    embedded.ensure_running(paths, ["postgres"])
    embedded.stop(paths, ["postgres"])
    for name in ("pg_hba.conf", "pg_ident.conf"):
        (paths.postgres_data / name).unlink()
    assert embedded.ensure_running(paths, ["postgres"]) == ["postgres"]


def write_garbage(data: Path) -> None:
    for path in (data / "appendonlydir").iterdir():
        path.write_bytes(b"\x00garbage\xff" * 100)


def write_garbage_manifest(data: Path) -> None:
    [manifest] = (data / "appendonlydir").glob("*.manifest")
    manifest.write_text("garbage\n")


def replace_folder_by_file(data: Path) -> None:
    shutil.rmtree(data / "appendonlydir")
    (data / "appendonlydir").touch()


@pytest.mark.parametrize(
    "damage", [write_garbage, *deep(write_garbage_manifest, replace_folder_by_file)]
)
def test_a_broker_with_a_damaged_file_starts_empty_and_says_so(private_services, damage):
    paths = private_services
    embedded.ensure_running(paths, ["broker"])
    with closing(redis.Redis(unix_socket_path=str(paths.sockets / "broker.sock"))) as client:
        client.rpush("pipeline", *range(10))
    embedded.stop(paths, ["broker"])
    damage(paths.broker_data)
    result = start(paths.var)
    assert result.returncode == 0, result.stderr
    assert f"{paths.state / 'broker.damaged'}" in result.stderr
    assert "broker: started" in result.stdout
    with closing(redis.Redis(unix_socket_path=str(paths.sockets / "broker.sock"))) as client:
        assert client.llen("pipeline") == 0
    assert list((paths.state / "broker.damaged").iterdir())


@pytest.mark.deep
def test_a_broker_that_cannot_start_keeps_its_file(private_services, monkeypatch):
    paths = private_services
    embedded.ensure_running(paths, ["broker"])
    embedded.stop(paths, ["broker"])
    before = sorted(path.name for path in paths.broker_data.rglob("*"))
    monkeypatch.setattr(broker, "OPTIONS", {**broker.OPTIONS, "nonsense": "yes"})
    with pytest.raises(ServiceError, match="The broker did not start"):
        embedded.ensure_running(paths, ["broker"])
    assert sorted(path.name for path in paths.broker_data.rglob("*")) == before
    assert not (paths.state / "broker.damaged").exists()


@pytest.mark.deep
def test_sockets_left_by_dead_servers_are_no_obstacle(private_services):
    paths = private_services
    embedded.ensure_running(paths)
    for data in (paths.postgres_data, paths.broker_data):
        end(find_processes(data), signal=signal.SIGKILL, patience=60)
    assert (paths.sockets / "broker.sock").is_socket()
    assert (paths.sockets / ".s.PGSQL.5432").is_socket()
    assert embedded.ensure_running(paths) == ["postgres", "broker"]


@pytest.mark.parametrize("content", ["", *deep("short", None)])
def test_a_damaged_signing_key_ends_the_start_with_what_to_do(private_services, content):
    var = private_services.var
    var.mkdir(parents=True)
    (var / "secret_key").mkdir() if content is None else (var / "secret_key").write_text(content)
    result = run("config.services.serve", var, "--port", str(free_port()))
    check_messages(result, str(var / "secret_key"), "the next start makes a new one")
    assert "serving on" not in result.stdout


@pytest.mark.deep
def test_a_log_that_cannot_be_written_ends_the_start(private_services):
    log = private_services.var / "log" / "worker.log"
    log.mkdir(parents=True)
    result = run("config.services.serve", private_services.var, "--port", str(free_port()))
    check_messages(result, str(log), "Move it away")
    assert "serving on" not in result.stdout


@pytest.mark.deep
def test_make_run_brings_an_empty_database_up_to_date_and_lets_browsers_keep_its_files(
    private_services,
):
    port = free_port()
    command = [sys.executable, "-m", "config.services.serve", "--port", str(port)]
    server = subprocess.Popen(
        command,
        cwd=BASE_DIR,
        env=build_environment(private_services.var),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        assert any("serving on" in line for line in server.stdout)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/sign-in/", timeout=60) as page:
            assert page.status == 200
            files = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', page.read().decode()))
        assert len(files) > 3
        for file in files:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{file}", timeout=60) as answer:
                assert answer.headers["Cache-Control"] == "max-age=31536000, public, immutable", (
                    file
                )
    finally:
        server.terminate()
        server.wait(timeout=180)


@pytest.mark.deep
def test_make_run_on_an_external_database_says_what_to_do(private_services):
    paths = private_services
    embedded.ensure_running(paths)
    external = {"DATABASE_URL": paths.database_owner_url, "BROKER_URL": paths.broker_url}
    with pytest.MonkeyPatch.context() as patch:
        for key, value in external.items():
            patch.setenv(key, value)
        check_messages(
            run("config.services.serve", paths.var, "--port", str(free_port())), "manage.py migrate"
        )
        patch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
        said = run("config.services.serve", paths.var, "--port", str(free_port()))
        check_messages(said, "DATABASE_URL")
