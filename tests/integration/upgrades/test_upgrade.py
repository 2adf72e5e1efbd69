"""A database of the release before, with data, is migrated by this code."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from io import StringIO

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.test import Client

from accounts.models import User
from config.services.paths import OWNER_ROLE
from config.services.postgres import binaries
from jobs.models import JobState
from llm_runtime.roles import ModelRoles
from tests.integration.site.test_crawl import make_asker
from tests.marks import deep
from tests.support.crawler import crawl
from tests.worlds.reconstructed import LIGHT_ROLES
from tests.worlds.upgraded import DATABASE, FROM_CODE, RELEASES, connect_to_release
from timelines.models import Run, StageRun
from timelines.runs import tools
from timelines.runs.following import work_inline

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]
#: Rows of each model that are read.
MOST_ROWS = 1000
#: Addresses that each person asks for, from their home page on.
MOST_PAGES = 60


@pytest.fixture(
    params=[*deep(*RELEASES[:-1]), RELEASES[-1]], ids=lambda path: path.name.removesuffix(".sql.xz")
)
def restored(request, transactional_db: None) -> Iterator[None]:
    """Connect to the database of the release, as it was."""
    with connect_to_release(request.param):
        yield


def count_rows() -> dict[str, int]:
    """Return the number of rows of each table that has data."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition"
            " AND relnamespace = 'public'::regnamespace AND relname !~ %s",
            [f"^({FROM_CODE})$"],
        )
        tables = [name for (name,) in cursor.fetchall()]
        found = {}
        for table in tables:
            cursor.execute(f'SELECT count(*) FROM "{table}"')
            (found[table],) = cursor.fetchone()
    return found


def find_chains() -> list[tuple[str, int, str]]:
    """Return the ends of the chains: of the audit trail, and of each packet."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT '', max(sequence), (array_agg(hash ORDER BY sequence DESC))[1] FROM accounts_auditlink"
            " UNION ALL SELECT public_id, chain_length, chain_head FROM adjudication_packet"
        )
        return list(cursor.fetchall())


def test_data_of_the_release_before_is_complete_and_pages_answer(
    restored, monkeypatch, tmp_path, settings
):
    settings.ANCHOR_FILE, settings.ANCHOR_KEY_FILE = tmp_path / "anchors", tmp_path / "key"
    before, chains = count_rows(), find_chains()
    assert before["timelines_entry"] > 50
    assert before["adjudication_decision"] > 3

    call_command("migrate", verbosity=0, stdout=StringIO())

    call_command("migrate", check_unapplied=True, verbosity=0, stdout=StringIO())
    after = count_rows()
    assert {table: after[table] for table in before} == before
    assert find_chains() == chains
    out = StringIO()
    call_command("verify_chain", stdout=out)
    assert "BROKEN" not in out.getvalue()
    for model in apps.get_models():
        list(model._default_manager.all()[:MOST_ROWS])

    go_on(monkeypatch)
    for name in ("admin", "clinician", "author", "reviewer"):
        ask_pages(name)


def test_the_backup_before_an_upgrade_brings_everything_back(restored, services, tmp_path):
    """The steps of docs/upgrades.md, with the programs of PostgreSQL."""
    before, chains = count_rows(), find_chains()
    url = services.build_database_url(OWNER_ROLE, DATABASE)
    dump, programs = tmp_path / "before.dump", binaries(services)

    def execute(*command: str) -> None:
        done = subprocess.run(
            [str(programs / command[0]), *command[1:]], check=False, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")

    execute("pg_dump", "--format", "custom", "--no-comments", "--file", str(dump), url)
    call_command("migrate", verbosity=0, stdout=StringIO())
    connection.close()
    connection.close_pool()
    host = ["--host", str(connection.settings_dict["HOST"]), "--username", OWNER_ROLE]
    execute("dropdb", "--force", *host, DATABASE)
    execute("createdb", *host, "--owner", OWNER_ROLE, DATABASE)
    execute("pg_restore", "--exit-on-error", "--no-owner", "--dbname", url, str(dump))
    assert (count_rows(), find_chains()) == (before, chains)


def go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finish the run that the release before had begun."""
    roles = ModelRoles(LIGHT_ROLES)
    monkeypatch.setattr(tools, "roles", lambda: roles)
    run = Run.objects.order_by("pk").last()
    assert run is not None
    stages = StageRun.objects.filter(case_run__run=run)
    assert stages.filter(state=JobState.QUEUED).exists()
    assert stages.filter(state=JobState.SUCCEEDED).exists()
    work_inline(run, lambda words: None)
    assert not stages.exclude(state=JobState.SUCCEEDED).exists()


def ask_pages(name: str) -> None:
    """Follow links from the person's home page; none may fail."""
    client = Client(raise_request_exception=True)
    client.force_login(User.objects.get(username=name))
    visits = crawl(make_asker(client), "/", each=1, narrowed=1, most=MOST_PAGES)
    assert len(visits) > 10
    assert [v for v in visits if v.status >= 500] == []
