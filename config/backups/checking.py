"""Check a backup without restoring it, and read its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from pyrage.x25519 import Identity

from config.backups.encryption import DAMAGED, decrypt
from config.backups.errors import BackupError
from config.backups.files import read_tar
from config.backups.manifest import DATABASE_PART, FILES_PART, Manifest, Part, read_manifest
from config.backups.streams import Counted, copy, hash_file, read_while_writing
from config.backups.tools import parse_dump


def check_parts(folder: Path, *, without_key: bool = False) -> Manifest:
    """Check the signature of the manifest and the digest of each part.

    `without_key`: the key that signed it is lost. Raises BackupError.
    """
    manifest = read_manifest(folder)
    if not (without_key or manifest.is_signed_by_us()):
        raise BackupError(
            f"The manifest of {manifest.name} was changed, or another SECRET_KEY signed it. Set the"
            " SECRET_KEY of the installation that made it. If that key is lost, add --without-key."
        )
    for part in manifest.parts:
        _check_part(folder / part.name, part)
    return manifest


def check_whole(
    folder: Path, manifest: Manifest, identities: Sequence[Identity], tools: Path | None
) -> None:
    """Decrypt and parse every part, without a database. Raises BackupError."""
    with open_part(folder, manifest.find_part(DATABASE_PART), identities) as stream:
        parse_dump(stream, folder=tools)
    with open_part(folder, manifest.find_part(FILES_PART), identities) as stream:
        count = read_tar(stream)
    if count != manifest.files:
        raise BackupError(f"{manifest.name} has {count} files instead of {manifest.files}.")


@contextmanager
def open_part(folder: Path, part: Part, identities: Sequence[Identity]) -> Iterator[IO[bytes]]:
    """Read the plain bytes of a part; check their digest at the end."""
    with (
        (folder / part.name).open("rb") as file,
        read_while_writing(partial(_write_plain, file, part, identities)) as stream,
    ):
        yield stream


def _write_plain(
    file: IO[bytes], part: Part, identities: Sequence[Identity], out: IO[bytes]
) -> None:
    source, target = Counted(file), Counted(out)
    if part.is_encrypted:
        decrypt(source, target, identities)
    else:
        copy(source, target)
    if (target.bytes, target.sha256) != (part.plain_bytes, part.plain_sha256):
        raise BackupError(DAMAGED)


def _check_part(path: Path, part: Part) -> None:
    try:
        found = hash_file(path)
    except OSError as error:
        raise BackupError(
            f"{path} cannot be read ({error.strerror}). Use another backup."
        ) from None
    if found != (part.bytes, part.sha256):
        raise BackupError(f"{path} was changed or damaged. Use another backup.")
