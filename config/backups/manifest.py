"""What a backup contains, as a signed file next to its parts.

The manifest has names, counts, digests and heads of chains, no contents. It is signed with
SECRET_KEY, because anybody can encrypt to a public key: without a signature, another backup could
be put in the place of ours.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.crypto import constant_time_compare, salted_hmac

from config.backups.errors import BackupError

FILE_NAME = "manifest.json"
FORMAT = 1
NAME_FORMAT = "occurrent-%Y%m%dT%H%M%SZ"
DATABASE_PART, FILES_PART = "database.dump", "files.tar"
ENCRYPTED = ".age"


@dataclass(frozen=True, slots=True)
class Part:
    """A file of a backup; `plain` is what was encrypted."""

    name: str
    bytes: int
    sha256: str
    plain_bytes: int
    plain_sha256: str

    @property
    def is_encrypted(self) -> bool:
        return self.name.endswith(ENCRYPTED)


@dataclass(frozen=True, slots=True)
class Contents:
    """What a database contains at one moment, as counts and heads.

    `rows` is by table, `packet_heads` by packet ("12:ab…").
    """

    rows: dict[str, int]
    migrations: list[str]
    audit_head: str
    packet_heads: dict[str, str]
    server_major: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description of one backup.

    `keys` names the secrets that a restored installation needs and that are not in the backup.
    """

    name: str
    made_at: str
    version: str
    contents: Contents
    files: int
    parts: list[Part]
    recipients: list[str]
    keys: dict[str, str]
    signature: str = ""

    @property
    def bytes(self) -> int:
        """Return the size of all parts."""
        return sum(part.bytes for part in self.parts)

    def find_part(self, name: str) -> Part:
        """Return the part of that name, encrypted or not. Raises BackupError."""
        for part in self.parts:
            if part.name.removesuffix(ENCRYPTED) == name:
                return part
        raise BackupError(f"{self.name}: the manifest lists no part {name}. Use another backup.")

    def sign(self) -> Manifest:
        """Return it with the signature of the current SECRET_KEY."""
        return replace(self, signature=self._sign_with(settings.SECRET_KEY))

    def is_signed_by_us(self) -> bool:
        """Return True if SECRET_KEY, or one of its fallbacks, signed it."""
        keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
        return any(constant_time_compare(self.signature, self._sign_with(key)) for key in keys)

    def _sign_with(self, key: str) -> str:
        words = json.dumps(asdict(replace(self, signature="")), sort_keys=True)
        return salted_hmac("config.backups", words, secret=key, algorithm="sha256").hexdigest()


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest into the folder of its backup."""
    values = {"format": FORMAT, **asdict(manifest)}
    (folder / FILE_NAME).write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a backup. Raises BackupError."""
    path = folder / FILE_NAME
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BackupError(
            f"{path} cannot be read ({error.strerror}). Give the folder of one backup."
        ) from None
    except ValueError:
        raise BackupError(f"{path} is no manifest: it is damaged. Use another backup.") from None
    if not isinstance(values, dict) or values.pop("format", None) != FORMAT:
        raise BackupError(
            f"{path} has another format than {FORMAT}. Use the version of Occurrent that made it."
        )
    try:
        return _parse(values)
    except (KeyError, TypeError, AttributeError):
        raise BackupError(f"{path} is no manifest: it is damaged. Use another backup.") from None


def hash_manifest(folder: Path) -> str:
    """Return the SHA-256 of a backup's manifest, which names all its digests."""
    return hashlib.sha256((folder / FILE_NAME).read_bytes()).hexdigest()


def read_time(name: str) -> datetime:
    """Return when the backup of that name was made. Raises ValueError."""
    return datetime.strptime(name, NAME_FORMAT)


def _parse(values: dict[str, Any]) -> Manifest:
    parts = [Part(**part) for part in values.pop("parts")]
    if any(Path(part.name).name != part.name for part in parts):
        raise TypeError("a part is in another folder")
    return Manifest(**{**values, "contents": Contents(**values["contents"])}, parts=parts)
