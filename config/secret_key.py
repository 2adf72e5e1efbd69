"""The signing key of an embedded installation: made on first use, kept beside its data, readable by its owner alone."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

FILE_NAME = "secret_key"


def stored_secret_key(directory: Path) -> str:
    """The key kept in `directory`, made if there is none; two processes that start together end up with the same key."""
    path = directory / FILE_NAME
    if not path.exists():
        _create(path)
    return path.read_text(encoding="ascii").strip()


def _create(path: Path) -> None:
    """Write a key aside and link it into place: whoever links first wins, and no reader ever sees half a key."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(64))
        os.link(aside, path)
    except FileExistsError:
        return
    finally:
        aside.unlink()
