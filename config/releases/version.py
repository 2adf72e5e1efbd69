"""The version of this installation: `pyproject.toml` is its only place."""

from __future__ import annotations

import tomllib
from pathlib import Path

from config.env import BASE_DIR


def read_version(folder: Path = BASE_DIR) -> str:
    """Return the version in the folder's `pyproject.toml`, as "0.2.0"."""
    text = (folder / "pyproject.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text)["project"]["version"])
