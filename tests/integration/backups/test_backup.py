"""`backup` and `check_backup`: what they store, record, keep and refuse."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from accounts.audit.chain import current_head
from accounts.models import AuditEvent
from config.backups.contents import find_old_faults
from config.backups.errors import BackupError
from config.backups.history import last_backup, last_good_backup
from config.backups.making import make_backup
from config.backups.manifest import Manifest, read_manifest, write_manifest
from config.backups.restoring import restore_backup
from config.backups.retention import Keep
from ehr.models import Note
from tests import factories
from tests.factories import change_past_guards

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture(autouse=True)
def files(monkeypatch, tmp_path) -> Path:
    """The folder of uploads and exports of this test, with one file."""
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "upload.csv").write_text("a,b\n")
    monkeypatch.setattr(settings, "MEDIA_ROOT", folder)
    return folder


@pytest.fixture
def made(tmp_path) -> tuple[Path, Manifest]:
    """A backup of a study, not encrypted."""
    factories.make_study()
    manifest = make_backup(folder=tmp_path / "backups")
    return tmp_path / "backups" / manifest.name, manifest


def run(command: str, *arguments: object) -> tuple[str, str]:
    """(stdout, stderr) of a command."""
    out, err = StringIO(), StringIO()
    call_command(command, *map(str, arguments), stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_a_backup_describes_itself_and_is_recorded(tmp_path):
    study = factories.make_study()
    head = str(current_head())
    folder, key = tmp_path / "backups", tmp_path / "key"
    public, _ = run("create_backup_key", "--to", key)
    said, warned = run("backup", "--to", folder, "--recipient", public.strip())
    [backup] = folder.iterdir()
    assert str(backup) in said
    assert "SECRET_KEY" in said
    assert warned == ""
    manifest = read_manifest(backup)
    assert manifest.contents.rows["accounts_study"] == 1
    assert manifest.contents.audit_head == head != "0:"
    assert "ehr.0001_schema" in manifest.contents.migrations
    assert manifest.files == 1
    assert manifest.recipients == [public.strip()]
    assert {path.name for path in backup.iterdir()} == {
        "database.dump.age",
        "files.tar.age",
        "manifest.json",
    }
    assert backup.stat().st_mode & 0o777 == 0o700
    for path in backup.iterdir():
        assert study.name.encode() not in path.read_bytes(), path.name
        assert settings.SECRET_KEY.encode() not in path.read_bytes()

    last = last_backup()
    assert last is not None
    assert last == last_good_backup()
    assert (last.ok, last.name, last.encrypted) == (True, manifest.name, True)
    assert last.bytes == manifest.bytes == sum(part.bytes for part in manifest.parts)
    unread, _ = run("check_backup", "--from", backup)
    assert "unchanged; without --identity it was not read" in unread
    whole, _ = run("check_backup", "--from", backup, "--identity", key)
    assert f"{manifest.name} is whole: " in whole
    assert f"1 file, audit head {head}" in whole


def test_without_a_key_a_warning_says_who_can_read_it(tmp_path):
    _, warned = run("backup", "--to", tmp_path / "backups")
    assert "everybody who can read the folder" in warned
    last = last_backup()
    assert last is not None
    assert not last.encrypted


def test_no_backup_is_no_last_backup():
    assert last_backup() is None
    assert last_good_backup() is None


def test_a_failed_backup_leaves_nothing_and_is_recorded(tmp_path, made):
    with pytest.raises(CommandError, match="Not backed up: pg_dump was not found"):
        run("backup", "--to", tmp_path / "backups", "--tools", tmp_path)
    assert list((tmp_path / "backups").iterdir()) == [made[0]]
    last, good = last_backup(), last_good_backup()
    assert last is not None
    assert good is not None
    assert not last.ok
    assert last.reason.startswith("pg_dump was not found")
    assert good.name == made[1].name
    (tmp_path / "taken").touch()
    with pytest.raises(
        CommandError, match=r"taken: File exists\. Free space or mend the folder, then try again"
    ):
        run("backup", "--to", tmp_path / "taken")
    with pytest.raises(CommandError, match="begins with age1"):
        run("backup", "--to", tmp_path / "backups", "--recipient", "age1x")
    with pytest.raises(CommandError, match="0 or more"):
        run("backup", "--to", tmp_path / "backups", "--keep-daily", "-1")


def test_a_dump_that_breaks_off_is_no_backup(tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "pg_dump").write_text(
        "#!/bin/sh\necho half\necho 'pg_dump: error: gone' >&2\nexit 1\n"
    )
    (tools / "pg_dump").chmod(0o755)
    with pytest.raises(BackupError, match="pg_dump failed: gone"):
        make_backup(folder=tmp_path / "backups", tools=tools)
    assert list((tmp_path / "backups").iterdir()) == []


def test_expired_backups_go_after_the_new_one_is_there(tmp_path, made):
    old = made[0].rename(made[0].with_name("occurrent-20200101T020000Z"))
    make_backup(folder=tmp_path / "backups", keep=Keep(monthly=2))
    assert old.exists()
    assert len(list((tmp_path / "backups").iterdir())) == 2
    event = AuditEvent.objects.filter(action="backup.make").latest("id")
    assert event.detail["expired"] == 0
    kept = make_backup(folder=tmp_path / "others", keep=Keep(daily=1))
    assert [path.name for path in (tmp_path / "others").iterdir()] == [kept.name]


def test_faults_from_before_the_backup_are_listed():
    assert find_old_faults() == []
    factories.make_study()
    event = AuditEvent.objects.latest("id")
    note = factories.make_note(factories.make_encounter(), "Fever since Monday.")
    change_past_guards(AuditEvent.objects.filter(pk=event.pk), action="study.other")
    change_past_guards(Note.objects.filter(pk=note.pk), text="Fever since Sunday.")
    [first, last] = find_old_faults()
    assert first.startswith("audit trail, link 1: its event")
    assert last == "1 notes differ from their SHA-256"


@pytest.mark.parametrize("name", ["database.dump", "files.tar"])
def test_a_changed_part_is_found_without_a_database(made, name):
    backup, _ = made
    path = backup / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(CommandError, match=f"{name} was changed or damaged"):
        run("check_backup", "--from", backup)
    path.unlink()
    with pytest.raises(CommandError, match=f"{name} cannot be read"):
        run("check_backup", "--from", backup)


def test_a_backup_by_somebody_else_is_refused(made, monkeypatch):
    backup, _ = made
    monkeypatch.setattr(settings, "SECRET_KEY", "another key of thirty-two characters")
    with pytest.raises(CommandError, match="another SECRET_KEY signed it"):
        run("check_backup", "--from", backup)
    assert "is whole" in run("check_backup", "--from", backup, "--without-key")[0]


def resign(backup: Path, manifest: Manifest, **changes: Any) -> None:
    """Give the backup a manifest with other contents."""
    contents = replace(manifest.contents, **changes)
    write_manifest(backup, replace(manifest, contents=contents).sign())


def test_backups_of_newer_versions_are_refused_before_anything_is_dropped(made):
    backup, manifest = made
    newer = [*manifest.contents.migrations, "ehr.9999_future"]
    resign(backup, manifest, migrations=newer)
    with pytest.raises(BackupError, match=r"newer version .* which has ehr\.9999_future"):
        restore_backup(folder=backup, replace=True)
    resign(backup, manifest, server_major=99)
    with pytest.raises(BackupError, match="is of PostgreSQL 99"):
        restore_backup(folder=backup, replace=True)
    resign(backup, manifest)
    with pytest.raises(BackupError, match="not empty: 1 rows in accounts_study"):
        restore_backup(folder=backup)


def test_a_manifest_whose_counts_differ_from_its_dump_is_refused(made, files):
    backup, manifest = made
    values = json.loads((backup / "manifest.json").read_text())
    assert values["contents"]["rows"]["accounts_study"] == 1
    (files / "later").touch()
    write_manifest(backup, replace(manifest, files=2).sign())
    with pytest.raises(CommandError, match="has 1 files instead of 2"):
        run("check_backup", "--from", backup)
