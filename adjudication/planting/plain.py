"""Tallies of planted differences as plain values for storage. No Django."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from adjudication.planting.recall import Difference, Tally
from adjudication.planting.twins import Plant

#: How the keys of each count are built again.
_KEYS: Mapping[str, Callable[..., Any]] = {
    **dict.fromkeys(
        ("planted", "found", "reported", "true"), lambda kind, size: (Difference(kind), size)
    ),
    **dict.fromkeys(("kinds", "kinds_found"), lambda kind: Plant(kind)),
    **dict.fromkeys(("decided", "right"), lambda kind: Difference(kind)),
}


def tally_to_plain(counts: Tally) -> dict[str, list[list[Any]]]:
    """Return each count as a list of [*key, number]."""
    return {
        name: [
            [*(map(str, key) if isinstance(key, tuple) else [str(key)]), n]
            for key, n in getattr(counts, name).items()
        ]
        for name in _KEYS
    }


def tally_from_plain(plain: Mapping[str, Any]) -> Tally:
    """Build it from `tally_to_plain`'s result. Raises ValueError."""
    return Tally(
        **{
            name: Counter({make(*line[:-1]): line[-1] for line in plain[name]})
            for name, make in _KEYS.items()
        }
    )
