"""Compare the locked requirements with what they lock. No Django."""

from __future__ import annotations

import re
from pathlib import Path

from packaging.requirements import Requirement

LOCKS = ("web", "models", "dev", "bench", "verification")
_PINNED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)", re.MULTILINE)


def find_lock_faults(folder: Path) -> list[str]:
    """Return a sentence for each direct dependency that its lock lacks."""
    return [
        f"requirements/{name}.txt does not lock {wanted}. Run: make lock"
        for name in LOCKS
        for wanted in _read_wanted(folder / f"{name}.in")
        if not _is_met(wanted, _read_pinned(folder / f"{name}.txt"))
    ]


def _read_wanted(path: Path) -> list[Requirement]:
    lines = path.read_text(encoding="utf-8").splitlines()
    stated = [line.partition("#")[0].strip() for line in lines if not line.startswith("-")]
    return [Requirement(text) for text in stated if text]


def _read_pinned(path: Path) -> dict[str, str]:
    return {_normal(name): version for name, version in _PINNED.findall(path.read_text("utf-8"))}


def _is_met(wanted: Requirement, pinned: dict[str, str]) -> bool:
    found = pinned.get(_normal(wanted.name))
    return found is not None and wanted.specifier.contains(found, prereleases=True)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
