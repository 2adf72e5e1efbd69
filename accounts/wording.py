"""Numbers in sentences, for pages, commands and errors of every app."""

from __future__ import annotations


def format_count(count: int, noun: str, nouns: str = "") -> str:
    """Return "1 case", "2 cases": the number with its noun."""
    return f"{count} {inflect_noun(count, noun, nouns)}"


def inflect_noun(count: float, noun: str, nouns: str = "") -> str:
    """Return `noun` for 1, else `nouns`, which is by default `noun` with an s."""
    return noun if count == 1 else nouns or f"{noun}s"
