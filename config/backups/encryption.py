"""Encryption of backups to public keys, in the age format.

The machine that makes backups has the public key alone, so that somebody who takes the machine
cannot read them. The command line of age opens the files too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyrage
from pyrage.x25519 import Identity, Recipient

from config.backups.errors import BackupError
from config.backups.streams import Counted

DAMAGED = "A part of the backup is damaged. Use another backup."


def read_recipients(texts: Sequence[str]) -> list[Recipient]:
    """Return the public keys. Raises BackupError for a malformed one."""
    try:
        return [Recipient.from_str(text) for text in texts]
    except pyrage.RecipientError:
        raise BackupError(
            "--recipient is no public key of age. It begins with age1; `manage.py create_backup_key`"
            " makes one."
        ) from None


def read_identities(path: Path) -> list[Identity]:
    """Return the secret keys of a file, as age-keygen writes it.

    Raises BackupError; its message repeats nothing of the file.
    """
    try:
        lines = path.read_text(encoding="ascii").splitlines()
        return [
            Identity.from_str(line.strip()) for line in lines if line.strip()[:1] not in ("", "#")
        ]
    except OSError as error:
        raise BackupError(f"{path} cannot be read ({error.strerror}).") from None
    except (UnicodeDecodeError, pyrage.IdentityError):
        raise BackupError(
            f"{path} is no file of secret keys. Each line is AGE-SECRET-KEY-1…, or begins with #."
        ) from None


def create_key(path: Path) -> str:
    """Write a new secret key to a new file; return its public key.

    Raises BackupError if the file is there or cannot be written.
    """
    identity = Identity.generate()
    public = str(identity.to_public())
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise BackupError(f"{path}: {error.strerror}. Choose a new file.") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"# public key: {public}\n{identity}\n")
    return public


def encrypt(source: Counted, target: Counted, recipients: Sequence[Recipient]) -> None:
    """Encrypt the source to the target. Raises what reading or writing did."""
    _run(pyrage.encrypt_io, source, target, recipients, "The encryption failed.")


def decrypt(source: Counted, target: Counted, identities: Sequence[Identity]) -> None:
    """Decrypt the source to the target.

    Raises BackupError for a wrong key or damaged data.
    """
    if not identities:
        raise BackupError("The backup is encrypted. Add --identity FILE with its secret key.")
    _run(pyrage.decrypt_io, source, target, identities, DAMAGED)


def _run(
    function: Callable[..., Any], source: Counted, target: Counted, keys: Sequence[Any], words: str
) -> None:
    try:
        function(source, target, list(keys))
    except (pyrage.EncryptError, pyrage.DecryptError, OSError) as error:
        if cause := source.error or target.error:
            raise cause from None
        if "No matching keys" in str(error):
            words = "The backup is encrypted to another key. Give the file of its secret key."
        raise BackupError(words) from None
