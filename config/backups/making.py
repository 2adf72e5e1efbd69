"""Make a backup: the dump, the files, the manifest; then delete old ones.

The database stays in use. Dump, counts and heads of chains are of one snapshot.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from django.conf import settings
from django.db import DatabaseError
from pyrage.x25519 import Recipient

from accounts.models import User
from config.backups.contents import describe_contents, take_snapshot
from config.backups.encryption import encrypt, read_recipients
from config.backups.errors import BackupError, explain_file_errors
from config.backups.files import write_tar
from config.backups.history import record_failed, record_made
from config.backups.keys import find_needed_keys
from config.backups.manifest import (
    DATABASE_PART,
    ENCRYPTED,
    FILES_PART,
    NAME_FORMAT,
    Contents,
    Manifest,
    Part,
    hash_manifest,
    write_manifest,
)
from config.backups.retention import KEEP_ALL, PARTIAL, Keep, delete_abandoned, delete_expired
from config.backups.streams import Counted, copy, read_while_writing
from config.backups.tools import read_dump
from config.database_roles import connect_as_owner
from timelines.runs.versions import code_revision


def make_backup(
    *,
    folder: Path,
    recipients: Sequence[str] = (),
    keep: Keep = KEEP_ALL,
    tools: Path | None = None,
    by: User | None = None,
) -> Manifest:
    """Make a backup below `folder` and record it; then delete expired ones.

    `recipients` are public keys of age; without one, nothing is encrypted. The backup has its final
    name only when it is complete. Raises BackupError, which is recorded too.
    """
    keys = read_recipients(recipients)
    moment, started = datetime.now(UTC), time.monotonic()
    name = moment.strftime(NAME_FORMAT)
    try:
        with explain_file_errors(), _partial_folder(folder, name) as partial:
            manifest = _write(partial, name, moment, keys, tools)
            partial.rename(folder / name)
            _sync(folder)
            expired = delete_expired(folder, keep)
    except BackupError as error:
        _record_failure(name, by, str(error))
        raise
    seconds = round(time.monotonic() - started, 1)
    detail = {
        "bytes": manifest.bytes,
        "seconds": seconds,
        "encrypted": bool(keys),
        "sha256": hash_manifest(folder / name),
        "expired": len(expired),
    }
    record_made(name=name, by=by, detail=detail)
    return manifest


def _write(
    folder: Path, name: str, moment: datetime, keys: Sequence[Recipient], tools: Path | None
) -> Manifest:
    """Write the parts and the manifest of a backup."""
    contents, dump = _store_database(folder, keys, tools)
    count, files = _store_files(folder, keys)
    manifest = Manifest(
        name=name,
        made_at=moment.isoformat(),
        version=code_revision(),
        contents=contents,
        files=count,
        parts=[dump, files],
        recipients=[str(key) for key in keys],
        keys=find_needed_keys(),
    ).sign()
    write_manifest(folder, manifest)
    _sync(folder)
    return manifest


def _store_database(
    folder: Path, keys: Sequence[Recipient], tools: Path | None
) -> tuple[Contents, Part]:
    """Store the dump, as the owner: only the owner may read the sequences."""
    with (
        connect_as_owner(),
        take_snapshot() as snapshot,
        read_dump(snapshot=snapshot, folder=tools) as stream,
    ):
        part = _store(stream, folder / DATABASE_PART, keys)
        return describe_contents(), part


def _store_files(folder: Path, keys: Sequence[Recipient]) -> tuple[int, Part]:
    """Store the files after the dump: none that the dump names is too new."""
    counts: list[int] = []

    def write(out: IO[bytes]) -> None:
        counts.append(write_tar(Path(settings.MEDIA_ROOT), out))

    with read_while_writing(write) as stream:
        part = _store(stream, folder / FILES_PART, keys)
    return counts[0], part


def _store(stream: IO[bytes], path: Path, keys: Sequence[Recipient]) -> Part:
    """Write the stream to a file that is on the disk afterwards."""
    path = path.with_name(path.name + ENCRYPTED) if keys else path
    with path.open("xb") as file:
        source, target = Counted(stream), Counted(file)
        if keys:
            encrypt(source, target, keys)
        else:
            copy(source, target)
        file.flush()
        os.fsync(file.fileno())
    return Part(path.name, target.bytes, target.sha256, source.bytes, source.sha256)


@contextmanager
def _partial_folder(folder: Path, name: str) -> Iterator[Path]:
    """Make a folder for an unfinished backup; delete it after an error."""
    folder.mkdir(parents=True, exist_ok=True)
    delete_abandoned(folder)
    partial = folder / f".{name}{PARTIAL}"
    partial.mkdir(mode=0o700)
    try:
        yield partial
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _record_failure(name: str, by: User | None, reason: str) -> None:
    """Record the failure, if the database accepts it."""
    try:
        record_failed(name=name, by=by, reason=reason)
    except DatabaseError:
        return


def _sync(folder: Path) -> None:
    """Write the folder's entries to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
