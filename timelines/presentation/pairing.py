"""Match the occurrences of two inventories of the same note.

They are matched by the overlap of their spans. No Django here. One-to-one, intersection over union
at least `LEAST_OVERLAP`, largest first (protocol section 3, "Span recall").
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from timelines.presentation.segments import Span

LEAST_OVERLAP = 0.4


def overlap(first: Span, second: Span) -> float:
    """Intersection over union of two spans, 0…1."""
    shared = min(first.end, second.end) - max(first.start, second.start)
    if shared <= 0:
        return 0.0
    return shared / (first.end - first.start + second.end - second.start - shared)


def pair_spans(ours: Sequence[Span], theirs: Sequence[Span]) -> dict[str, str]:
    """Return our key → their key.

    The earlier span of ours, then of theirs, wins a tie.
    """
    ordered = sorted(theirs, key=lambda s: (s.start, s.end, s.key))
    starts = [s.start for s in ordered]
    longest = max((s.end - s.start for s in ordered), default=0)
    found = []
    for a in ours:
        for b in ordered[bisect_left(starts, a.start - longest) : bisect_left(starts, a.end)]:
            if (share := overlap(a, b)) >= LEAST_OVERLAP:
                found.append((-share, a.start, b.start, a.key, b.key))
    taken: dict[str, str] = {}
    used: set[str] = set()
    for _, _, _, a_key, b_key in sorted(found):
        if a_key not in taken and b_key not in used:
            taken[a_key] = b_key
            used.add(b_key)
    return taken
