"""PostgreSQL's own dump and restore, with streams instead of files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.db import connection

from config.backups.errors import BackupError
from config.services.errors import ServiceError
from config.services.paths import default_paths
from config.services.postgres import binaries

SERVICE = "occurrent_backup"
#: libpq's names of what Django calls otherwise.
SIGN_IN = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
QUOTED = re.compile(r'"[^"]*"?')


@contextmanager
def read_dump(*, snapshot: str, folder: Path | None) -> Iterator[IO[bytes]]:
    """Read the dump of our schema in the state of the snapshot."""
    options = [
        "--format=custom",
        "--compress=gzip:1",
        f"--snapshot={snapshot}",
        f"--schema={_schema()}",
        "--no-owner",
        "--no-privileges",
    ]
    with _run("pg_dump", options, folder, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield process.stdout


def load_dump(stream: IO[bytes], *, folder: Path | None) -> None:
    """Load a dump into the empty schema of the current connection.

    Extensions and the schema itself are not loaded: only an administrator may make them.
    """
    options = ["--exit-on-error", "--no-owner", "--no-privileges", f"--schema={_schema()}"]
    with _run("pg_restore", options, folder, stdin=stream):
        pass


def parse_dump(stream: IO[bytes], *, folder: Path | None) -> None:
    """Read a dump to its end, without a database. Raises BackupError."""
    command = [find_tool("pg_restore", folder), "--file=/dev/null"]
    done = subprocess.run(command, stdin=stream, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        said = explain(done.stderr.decode(errors="replace"))
        raise BackupError(f"The dump of the database is damaged: {said}")


def find_tool(name: str, folder: Path | None) -> str:
    """Return the path of a tool of PostgreSQL.

    It is in `folder`, else in the package with the embedded server, else on the PATH. Raises
    BackupError.
    """
    if folder is not None:
        found = shutil.which(name, path=str(folder))
    else:
        try:
            found = str(binaries(default_paths()) / name)
        except ServiceError:
            found = shutil.which(name)
    if found is None:
        raise BackupError(
            f"{name} was not found. Install PostgreSQL's client programs, or give their folder with"
            " --tools."
        )
    return found


def explain(output: str) -> str:
    """Return the first error of a tool, without anything in quotes.

    Values of rows are quoted in errors, or follow in further lines.
    """
    lines = [line for line in output.splitlines() if ": error: " in line]
    words = lines[0].partition(": error: ")[2] if lines else "it said nothing"
    return QUOTED.sub("…", words)[:300]


@contextmanager
def _run(
    name: str, options: Sequence[str], folder: Path | None, **streams: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a tool on the database of the current connection.

    Raises BackupError if it fails. An error in the body ends the tool.
    """
    with service_file() as file, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [find_tool(name, folder), f"--dbname=service={SERVICE}", *options],
            env={**os.environ, "PGSERVICEFILE": str(file)},
            stderr=errors,
            **streams,
        )
        try:
            yield process
        except BaseException:
            process.kill()
            raise
        finally:
            status = process.wait()
        if status:
            errors.seek(0)
            said = explain(errors.read().decode(errors="replace"))
            raise BackupError(f"{name} failed: {said}")


@contextmanager
def service_file() -> Iterator[Path]:
    """Write the connection's address to a file that only we can read.

    A password in the arguments of a program would be in the list of processes.
    """
    known = connection.settings_dict
    values = {SIGN_IN[name]: known[name] for name in SIGN_IN if known[name]}
    values |= {name: value for name, value in known["OPTIONS"].items() if name != "pool"}
    with tempfile.NamedTemporaryFile("w", prefix="occurrent-", encoding="utf-8") as file:
        file.write(f"[{SERVICE}]\n")
        file.writelines(f"{name}={value}\n" for name, value in values.items())
        file.flush()
        yield Path(file.name)


def _schema() -> str:
    """Return the name of our schema."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema()")
        (name,) = cursor.fetchone()
    return str(name)
