"""The key that signs anchors: a file outside the database. No Django."""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)


class AnchorError(Exception):
    """The anchor file or its key cannot be used; the words say the fix."""

    log_safe = True


def load_or_make_key(path: Path) -> Ed25519PrivateKey:
    """Return the key in `path`; make it if there is none.

    Only its owner can read it. The caller has the lock of the anchor file, so that two processes do not both make one. Raises
    AnchorError.
    """
    try:
        if not path.exists():
            _make(path)
    except OSError as error:
        raise _unusable(path, error) from None
    return load_key(path)


def find_key(path: Path) -> Ed25519PrivateKey | None:
    """Return the key in `path`, or None if there is none. Raises AnchorError."""
    try:
        there = path.exists()
    except OSError as error:  # its folder is closed to this account
        raise _unusable(path, error) from None
    return load_key(path) if there else None


def load_key(path: Path) -> Ed25519PrivateKey:
    """Return the key in `path`. Raises AnchorError."""
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise _unusable(path, error) from None
    except (ValueError, TypeError):  # TypeError: a key with a password
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise AnchorError(
            f"{path} is not an Ed25519 key without a password. Make one with: openssl genpkey"
            " -algorithm ed25519"
        )
    return key


def describe_key(key: Ed25519PrivateKey) -> str:
    """Return the public key, 64 hex digits."""
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pem = Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(pem)
        file.flush()
        os.fsync(file.fileno())


def _unusable(path: Path, error: OSError) -> AnchorError:
    return AnchorError(
        f"{path} cannot be used as key of anchors ({error.strerror}). Check its path and"
        " permissions, or set ANCHOR_KEY_FILE."
    )
