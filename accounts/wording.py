"""Numbers in sentences, for pages, commands and errors of every app."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """Return "1 case", "2 cases": the number with its noun, which takes a plain s."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
