"""Numbers in sentences, for pages, commands and errors of every app."""

from __future__ import annotations


def counted(count: int, noun: str, nouns: str = "") -> str:
    """Return "1 case", "2 cases": the number with its noun."""
    return f"{count} {noun_for(count, noun, nouns)}"


def noun_for(count: float, noun: str, nouns: str = "") -> str:
    """Return `noun` for 1, else `nouns`, which is by default `noun` with an s."""
    return noun if count == 1 else nouns or f"{noun}s"
