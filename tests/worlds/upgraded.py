"""Databases of earlier releases, to be migrated by this code.

`fill_database` and `dump_database` make the file of a release, `connect_to_release` gets it back.
"""

from __future__ import annotations

import lzma
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from django.contrib.contenttypes.models import ContentType
from django.core.cache import cache
from django.db import connection
from packaging.version import Version

from adjudication.models import Packet
from config.database_roles import set_connection
from config.services.paths import OWNER_ROLE, default_paths
from config.services.postgres import binaries
from ehr.models import Dataset
from tests.worlds.demo_review import review_all
from tests.worlds.demo_world import make_demo
from timelines.models import StageRun
from timelines.runs.actions import start_run
from timelines.runs.following import execute_preparation, execute_stage

DATABASE = "occurrent_upgrade"
FIXTURES = Path(__file__).resolve().parents[1] / "data" / "upgrades"
#: Their files, oldest release first.
RELEASES = sorted(
    FIXTURES.glob("*.sql.xz"), key=lambda path: Version(path.name.removesuffix(".sql.xz"))
)
#: Stages of the run half done: none of them needs a model.
DONE_STAGES = 3
#: Tables that a release fills from its code.
FROM_CODE = "django_migrations|django_content_type|auth_permission"
_MIGRATION = re.compile(
    r"^INSERT INTO public\.django_migrations .*?VALUES\n(?P<rows>.*?);$", re.MULTILINE | re.DOTALL
)
#: Lines for psql alone.
_FOR_PSQL = re.compile(r"^\\(?:un)?restrict .*\n", re.MULTILINE)
_APPLIED = re.compile(r"^\s*\(\d+, '(\w+)', '(\w+)'", re.MULTILINE)


def fill_database() -> None:
    """Make a finished demo, decisions, and a run half done."""
    demo = make_demo()
    review_all({"reviewer": demo.people["reviewer"]}, [Packet.objects.get().public_id])
    run = start_run(dataset=Dataset.objects.latest("pk"), backbone="rules", by=None)
    execute_preparation(run.preparation.pk)
    for stage in StageRun.objects.filter(case_run__run=run).order_by("pk")[:DONE_STAGES]:
        execute_stage(stage.pk)


def dump_database(path: Path) -> None:
    """Write the connected database as SQL without roles, compressed."""
    database = connection.settings_dict
    command = [
        str(binaries(default_paths()) / "pg_dump"), "--no-owner", "--no-privileges", "--no-comments",
        "--rows-per-insert=500", "--host", str(database["HOST"]), "--username", str(database["USER"]),
        str(database["NAME"]),
    ]  # fmt: skip
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    text = _FOR_PSQL.sub("", text).replace(f"'{socket.gethostname()}:", "'host:")
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def read_dump(path: Path) -> str:
    return lzma.decompress(path.read_bytes()).decode()


def find_applied(dump: str) -> set[tuple[str, str]]:
    """Return the migrations that the release had applied, as (app, name)."""
    match = _MIGRATION.search(dump)
    assert match is not None
    return set(_APPLIED.findall(match["rows"]))


@contextmanager
def connect_to_release(path: Path) -> Iterator[None]:
    """Restore the file into a new database, and connect to it as the owner."""
    before = connection.settings_dict
    server = {"host": before["HOST"], "user": OWNER_ROLE, "dbname": before["NAME"]}
    _recreate(server)
    with psycopg.connect(**{**server, "dbname": DATABASE}) as target:
        target.execute(read_dump(path).encode())
    set_connection({**before, "NAME": DATABASE})
    _forget()
    try:
        yield
    finally:
        set_connection(before)
        _drop(server)
        _forget()


def _recreate(server: dict[str, Any]) -> None:
    _drop(server)
    with psycopg.connect(**server, autocommit=True) as other:
        other.execute(f"CREATE DATABASE {DATABASE}")


def _drop(server: dict[str, Any]) -> None:
    with psycopg.connect(**server, autocommit=True) as other:
        other.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")


def _forget() -> None:
    """Forget what this process remembers of a database."""
    ContentType.objects.clear_cache()
    cache.clear()
