"""Numbers in sentences, for pages, commands and errors of every app."""

from __future__ import annotations

from datetime import timedelta


def format_count(count: int, noun: str, nouns: str = "") -> str:
    """Return "1 case", "2 cases": the number with its noun."""
    return f"{count} {inflect_noun(count, noun, nouns)}"


def inflect_noun(count: float, noun: str, nouns: str = "") -> str:
    """Return `noun` for 1, else `nouns`, which is by default `noun` with an s."""
    return noun if count == 1 else nouns or f"{noun}s"


def describe_duration(duration: timedelta) -> str:
    """Return "12 s", "3 min", "5 h" or "2 days": a duration, rounded down."""
    seconds = int(duration.total_seconds())
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min"
    if seconds < 2 * 86400:
        return f"{seconds // 3600} h"
    return format_count(seconds // 86400, "day")
