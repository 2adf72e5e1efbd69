"""The signing key of an embedded installation.

It is made on first use and stored next to the data; only its owner can read it.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from config.env import MIN_SECRET_LENGTH, EnvError

FILE_NAME = "secret_key"


def stored_secret_key(directory: Path) -> str:
    """Return the key in `directory`; make it if there is none.

    Two processes that start together get the same key. Raises EnvError if the file cannot be read
    or written, or is not a key.
    """
    path = directory / FILE_NAME
    way_out = "Remove it: the next start makes a new one, and everyone signs in again."
    try:
        if not path.exists():
            _create(path)
        key = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise EnvError(
            f"{path} cannot be used as signing key ({error.strerror}). {way_out} Or set SECRET_KEY."
        ) from error
    except UnicodeDecodeError:
        key = ""
    if len(key) < MIN_SECRET_LENGTH:
        raise EnvError(f"{path} is no signing key: it is empty, too short or damaged. {way_out}")
    return key


def _create(path: Path) -> None:
    """Write a key to a temporary file and link it into place.

    The first process to link wins, and no reader ever sees half a key.
    """
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
