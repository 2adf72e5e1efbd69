"""The glossary: one file for GLOSSARY.md, the help page and tooltips.

`python -m accounts.glossary` writes GLOSSARY.md; a test compares the two.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).with_name("glossary.toml")
PAGE = SOURCE.parent.parent / "GLOSSARY.md"


@dataclass(frozen=True)
class Term:
    """One term, its definition, and the spellings that pages explain."""

    name: str
    meaning: str
    shown: tuple[str, ...] = ()

    @property
    def slug(self) -> str:
        """Return the term's anchor on the help page."""
        return "-".join(re.findall(r"\w+", self.name.lower()))


@cache
def terms() -> tuple[Term, ...]:
    """Return all terms in the order of the file."""
    entries = tomllib.loads(SOURCE.read_text(encoding="utf-8"))["term"]
    return tuple(
        Term(entry["name"], entry["meaning"], tuple(entry.get("shown", ()))) for entry in entries
    )


@cache
def terms_by_spelling() -> Mapping[str, Term]:
    """Return the term of each spelling that pages explain."""
    return {spelling: term for term in terms() for spelling in term.shown}


@cache
def spelling_pattern() -> re.Pattern[str]:
    """Return a pattern for whole words that are terms, longest first."""
    longest_first = sorted(terms_by_spelling(), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")


def render() -> str:
    """Return GLOSSARY.md."""
    return "\n".join(
        [
            "# Glossary",
            "",
            "Generated from `accounts/glossary.toml` by `python -m accounts.glossary`.",
            "The help page (`/help/`) and the tooltips of pages use the same file.",
            "",
            "| term | meaning |",
            "|---|---|",
            *(f"| **{term.name}** | {term.meaning} |" for term in terms()),
            "",
        ]
    )


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
