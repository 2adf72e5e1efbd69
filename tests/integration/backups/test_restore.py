"""A backup restored into an empty installation is the installation.

Every count, digest and hash chain agrees. The same after a kill of the database and the loss of its
data; then an interrupted run continues to its end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from accounts.audit.chain import current_head
from accounts.models import AuditLink
from config.backups.encryption import create_key
from config.backups.making import make_backup
from config.services.paths import APPLICATION_ROLE, ServicePaths
from jobs.leases.claims import claim
from llm_runtime.roles import ModelRoles
from tests.paths import DEMO
from tests.worlds.backed_up import destroy_database, digest_tables, start_quickly
from tests.worlds.database_roles import manage
from tests.worlds.judged import make_judged_world
from tests.worlds.reconstructed import LIGHT_ROLES, import_folder, run_inline
from tests.worlds.reviewed import build_open_world, decide_all, uphold_finding
from timelines.models import Run, StageRun
from timelines.runs import tools
from timelines.runs.actions import start_run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, pytest.mark.long]

#: Works on a run to its end, as a worker does; verifies the chains; exports both runs.
CONTINUE = """
from django.core.management import call_command
from timelines.models import Run, StageRun
from timelines.runs.following import work_inline
run = Run.objects.get(public_id="{run}")
work_inline(run, print)
print(StageRun.objects.filter(case_run__run=run).exclude(state="succeeded").count(), "left")
call_command("verify_chain", "--audit-head", "{head}")
for name in ("{run}", "{finished}"):
    options = ["--dataset", "intro", "--format", "jsonl", "--run", name]
    call_command("export_timelines", *options, "--out", "{folder}/" + name)
"""


@pytest.fixture
def interrupted(monkeypatch, tmp_path) -> tuple[Run, Run]:
    """A finished run and one whose first stage is at work.

    Beside them there are a packet with decisions, and two files.
    """
    monkeypatch.setattr(settings, "MEDIA_ROOT", tmp_path / "files")
    monkeypatch.setattr(tools, "roles", lambda: ModelRoles(LIGHT_ROLES))
    world = build_open_world(make_judged_world(1), reviewers=1)
    assert decide_all(world, world.reviewers[0], uphold_finding)
    dataset = import_folder(DEMO / "intro", name="intro")
    finished = run_inline(dataset)
    run = start_run(dataset=dataset, backbone="rules", by=None)
    stage = StageRun.objects.filter(case_run__run=run).order_by("pk")[0]
    assert claim(StageRun, stage.pk) is not None
    for name, content in {"uploads/a/notes.csv": b"a,b\n" * 1000, "exports/b.zip": b"\0"}.items():
        path = tmp_path / "files" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    return finished, run


def restore(paths: ServicePaths, backup: Path, *options: str):
    return manage(paths, "restore", "--from", str(backup), *options, SECRET_KEY=settings.SECRET_KEY)


def source_url() -> str:
    known = connection.settings_dict
    return f"postgresql://{known['USER']}@{known['HOST'].replace('/', '%2F')}/{known['NAME']}"


def test_a_restored_installation_is_the_same_and_its_run_continues(
    interrupted, private_services, tmp_path
):
    finished, run = interrupted
    paths, key = private_services, tmp_path / "key.txt"
    events = AuditLink.objects.count()
    head, before = str(current_head()), digest_tables(source_url(), events)
    manifest = make_backup(folder=tmp_path / "backups", recipients=[create_key(key)])
    backup = tmp_path / "backups" / manifest.name
    assert manifest.contents.audit_head == head
    assert len(manifest.contents.packet_heads) == 1
    [packet_head] = manifest.contents.packet_heads.values()
    assert packet_head != "0:"
    assert b"notes.csv" not in (backup / "files.tar.age").read_bytes()

    start_quickly(paths)
    restored = restore(paths, backup, "--identity", str(key))
    assert restored.returncode == 0, restored.stderr
    assert "all counts and heads agree. 1 interrupted job queued again" in restored.stdout
    check_content(paths, before, events)
    check_refusals(paths, backup, key)

    destroy_database(paths)
    start_quickly(paths)
    (paths.var / "files" / "later").touch()
    again = restore(paths, backup, "--identity", str(key), "--replace-everything")
    assert again.returncode == 0, again.stderr
    assert not (paths.var / "files" / "later").exists()
    check_content(paths, before, events)
    check_continued(paths, run, finished, head, tmp_path)


def check_content(paths: ServicePaths, before: Mapping[str, tuple[Any, ...]], events: int) -> None:
    """Every table, file and right is as it was; the interrupted stage waits."""
    assert digest_tables(paths.database_owner_url, events) == before
    assert (paths.var / "files" / "uploads" / "a" / "notes.csv").read_bytes() == b"a,b\n" * 1000
    assert (paths.var / "files" / "exports" / "b.zip").read_bytes() == b"\0"
    with closing(psycopg.connect(paths.database_url, autocommit=True)) as application:
        check_rights(application)
        interrupted = "SELECT state, attempt FROM timelines_stagerun WHERE fence = 1000001"
        assert application.execute(interrupted).fetchall() == [("queued", 0)]


def check_continued(paths: ServicePaths, run: Run, finished: Run, head: str, folder: Path) -> None:
    """The run ends as the undisturbed one did; the chains are whole."""
    names = {"run": run.public_id, "finished": finished.public_id}
    script = CONTINUE.format(**names, head=head, folder=folder)
    roles = {"MODEL_ROLES": json.dumps(LIGHT_ROLES)}
    done = manage(paths, "shell", "--no-imports", "--command", script, **roles)
    assert done.returncode == 0, done.stderr
    assert "\n0 left\n" in done.stdout
    assert done.stdout.count("whole") == 2
    assert "BROKEN" not in done.stdout
    lines = [(folder / name).read_text() for name in names.values()]
    assert lines[0] == lines[1] != ""


def check_rights(application: psycopg.Connection) -> None:
    """The application's role has its rights again, and no others."""
    owned = "SELECT current_user, count(*) FROM pg_class WHERE relowner = current_user::regrole"
    assert application.execute(owned).fetchall() == [(APPLICATION_ROLE, 0)]
    rights = "SELECT has_table_privilege('ehr_note', p) FROM unnest(ARRAY['INSERT', 'TRUNCATE']) p"
    assert application.execute(rights).fetchall() == [(True,), (False,)]
    public = """
        SELECT count(*) FROM pg_proc p, aclexplode(coalesce(proacl, acldefault('f', proowner))) a
        WHERE prosecdef AND pronamespace = 'public'::regnamespace AND a.grantee = 0
    """
    assert application.execute(public).fetchone() == (0,)
    with pytest.raises(psycopg.DatabaseError, match="append-only"):
        application.execute("DELETE FROM accounts_auditevent")


def check_refusals(paths: ServicePaths, backup: Path, key: Path) -> None:
    """What is in use is neither replaced unasked nor while it is used."""
    identity = ("--identity", str(key))
    refused = restore(paths, backup, *identity)
    assert refused.returncode == 1
    assert "This installation is not empty: " in refused.stderr
    assert "2 files in" in refused.stderr
    assert "add --replace-everything" in refused.stderr
    with closing(psycopg.connect(paths.database_url)):
        used = restore(paths, backup, *identity, "--replace-everything")
    assert used.returncode == 1
    assert "1 other connections use the database. Stop the web processes" in used.stderr
    keyless = restore(paths, backup, "--replace-everything")
    assert "encrypted. Add --identity" in keyless.stderr
