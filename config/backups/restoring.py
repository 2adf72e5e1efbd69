"""Restore a backup, and prove that nothing is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from pyrage.x25519 import Identity

from accounts.models import User
from config.backups.checking import check_parts, open_part
from config.backups.contents import check_contents, find_old_faults, find_server_major
from config.backups.errors import BackupError
from config.backups.files import empty_folder, read_tar
from config.backups.history import record_restored
from config.backups.manifest import DATABASE_PART, FILES_PART, Manifest, hash_manifest
from config.backups.target import check_target, close_functions, drop_everything
from config.backups.tools import load_dump
from config.database_roles import connect_as_owner
from jobs.actions import recover
from jobs.registry import kinds

INCOMPLETE = "The database is incomplete now: restore again with --replace-everything."


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored, and how many interrupted jobs were queued again.

    `faults` were in the chains and notes already when the backup was made.
    """

    manifest: Manifest
    jobs: int
    faults: list[str]


def restore_backup(
    *,
    folder: Path,
    identities: Sequence[Identity] = (),
    replace: bool = False,
    without_key: bool = False,
    tools: Path | None = None,
    say: Callable[[str], None] = lambda words: None,
    by: User | None = None,
) -> Restored:
    """Restore the backup in `folder` and compare everything with its manifest.

    `replace` allows what is here to be deleted. `without_key`: the key that signed it is lost.
    Raises BackupError.
    """
    say("checking the backup")
    manifest = check_parts(folder, without_key=without_key)
    # Until `migrate` grants it, the application's role can read and write nothing.
    with connect_as_owner():
        _check_versions(manifest)
        check_target(replace=replace)
        say("restoring the database")
        _restore_database(folder, manifest, identities, tools)
        say("restoring the files")
        _restore_files(folder, manifest, identities)
        say("comparing counts, chains and notes")
        check_contents(manifest.contents)
        faults = find_old_faults()
    call_command("migrate", verbosity=0)
    jobs = sum(recover(jobs=kind.job_class._default_manager.all()) for kind in kinds())
    detail: dict[str, str | int] = {
        "sha256": hash_manifest(folder),
        "audit_head": manifest.contents.audit_head,
    }
    detail |= {"jobs": jobs, "faults": len(faults)}
    record_restored(name=manifest.name, by=by, detail=detail)
    return Restored(manifest, jobs, faults)


def _check_versions(manifest: Manifest) -> None:
    """Raise BackupError for a backup of a newer version of us or PostgreSQL."""
    if newer := sorted(set(manifest.contents.migrations) - _find_known_migrations()):
        raise BackupError(
            f"{manifest.name} was made by a newer version ({manifest.version}), which has"
            f" {newer[0]}. Install that version, then restore."
        )
    if (major := find_server_major()) < manifest.contents.server_major:
        raise BackupError(
            f"{manifest.name} is of PostgreSQL {manifest.contents.server_major}; this is {major}."
            " Use a server of that version or newer."
        )


def _find_known_migrations() -> set[str]:
    """Return the migrations of this version, and those that they replace."""
    migrations = MigrationLoader(None).disk_migrations
    replaced = (key for migration in migrations.values() for key in migration.replaces)
    return {f"{app}.{name}" for app, name in (*migrations, *replaced)}


def _restore_database(
    folder: Path, manifest: Manifest, identities: Sequence[Identity], tools: Path | None
) -> None:
    """Replace the database. Raises BackupError, also if it ends half-way."""
    part = manifest.find_part(DATABASE_PART)
    if part.is_encrypted:
        _check_key(folder, manifest, identities)
    drop_everything()
    try:
        with open_part(folder, part, identities) as stream:
            load_dump(stream, folder=tools)
    except BackupError as error:
        raise BackupError(f"{error} {INCOMPLETE}") from None
    close_functions()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def _check_key(folder: Path, manifest: Manifest, identities: Sequence[Identity]) -> None:
    """Decrypt the smaller part, so that nothing is dropped for a wrong key."""
    part = min(manifest.parts, key=lambda part: part.bytes)
    with open_part(folder, part, identities) as stream:
        while stream.read(1 << 20):
            pass


def _restore_files(folder: Path, manifest: Manifest, identities: Sequence[Identity]) -> None:
    """Replace the files below MEDIA_ROOT."""
    target = Path(settings.MEDIA_ROOT)
    target.mkdir(parents=True, exist_ok=True)
    empty_folder(target)
    with open_part(folder, manifest.find_part(FILES_PART), identities) as stream:
        count = read_tar(stream, target)
    if count != manifest.files:
        raise BackupError(f"{count} files were restored instead of {manifest.files}. {INCOMPLETE}")
