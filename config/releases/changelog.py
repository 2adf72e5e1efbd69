"""Read `CHANGELOG.md`, which has the form of Keep a Changelog. No Django."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from packaging.version import Version

UNRELEASED = "Unreleased"
_HEADING = re.compile(r"^## \[(?P<name>[^\]]+)\](?: - (?P<date>\d{4}-\d\d-\d\d))?$")
_NUMBER = re.compile(r"\d+\.\d+\.\d+")


@dataclass(frozen=True, slots=True)
class Section:
    """The changes of one version; the date is "" if it is unreleased."""

    name: str
    date: str
    entries: tuple[str, ...]


def read_changelog(text: str) -> list[Section]:
    """Return the sections as written, newest first.

    Raises ValueError, with the line, for a heading of another form.
    """
    sections: list[Section] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("## "):
            sections.append(_read_heading(number, line))
        elif sections and line.startswith("- "):
            last = sections[-1]
            sections[-1] = Section(last.name, last.date, (*last.entries, line[2:]))
    return sections


def find_released(sections: list[Section]) -> list[Section]:
    """Return the sections of versions."""
    return [section for section in sections if section.name != UNRELEASED]


def find_faults(sections: list[Section], version: str) -> list[str]:
    """Return why `version` cannot be released with this changelog."""
    released = find_released(sections)
    faults = [
        f"CHANGELOG.md lists changes under {UNRELEASED}. Move them under a version newer than"
        f" {released[0].name if released else '0.0.0'} and its date."
        for section in sections
        if section.name == UNRELEASED and section.entries
    ]
    if not released or released[0].name != version:
        newest = released[0].name if released else "no version"
        faults.append(
            f"CHANGELOG.md begins with {newest}, but pyproject.toml says {version}. Describe"
            f" {version}, or correct the version."
        )
    faults += [f"CHANGELOG.md lists no change of {s.name}." for s in released if not s.entries]
    names = [Version(section.name) for section in released]
    faults += [
        f"CHANGELOG.md has {older} after {newer}. Newer versions come first."
        for newer, older in pairwise(names)
        if older >= newer
    ]
    return faults


def _read_heading(number: int, line: str) -> Section:
    match = _HEADING.fullmatch(line)
    if match is None or not (
        match["name"] == UNRELEASED or (_NUMBER.fullmatch(match["name"]) and match["date"])
    ):
        raise ValueError(
            f"CHANGELOG.md, line {number}: write a heading as ## [1.2.3] - 2026-01-31, or"
            f" ## [{UNRELEASED}]."
        )
    return Section(match["name"], match["date"] or "", ())
