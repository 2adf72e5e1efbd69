"""Folders of the server that the operator allowed (IMPORT_FOLDERS)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from ehr.formats.recognition import list_entries
from ehr.uploads.names import UploadRefused

MOST_SHOWN = 500


@dataclass(frozen=True, slots=True)
class ServerFolder:
    """A folder that may be imported; `key` names it in forms."""

    key: str
    path: Path


def list_folders() -> list[ServerFolder]:
    """Return the allowed folders and the folders directly inside them."""
    found = sorted(_find_folders(), key=lambda folder: folder.key)
    return found[:MOST_SHOWN]


def find_folder(key: str) -> ServerFolder:
    """Return an allowed folder. Raises UploadRefused."""
    for folder in list_folders():
        if folder.key == key:
            return folder
    raise UploadRefused("This folder of the server is not allowed, or is not there any more.")


def is_allowed(path: Path) -> bool:
    """Return True for a folder that is still allowed."""
    return any(folder.path == path for folder in list_folders())


def _find_folders() -> Iterator[ServerFolder]:
    for number, root in enumerate(map(Path, settings.IMPORT_FOLDERS), start=1):
        if not root.is_dir():
            continue
        name = root.name or f"folder {number}"
        yield ServerFolder(name, root)
        for inner in list_entries(root):
            # A link could lead out of what the operator allowed.
            if inner.is_dir() and not inner.is_symlink():
                yield ServerFolder(f"{name}/{inner.name}", inner)
