"""How processes share the slots of an endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def divide_slots(limit: int, wanted: Sequence[tuple[str, int]]) -> Mapping[str, int]:
    """Return holder → slots, of `limit`.

    One each in the given order, and again, until nobody wants more or none is left.
    """
    shares = dict.fromkeys((holder for holder, _ in wanted), 0)
    left, open_ = limit, [(holder, n) for holder, n in wanted if n > 0]
    while left and open_:
        for holder, _ in open_[:left]:
            shares[holder] += 1
        left -= min(left, len(open_))
        open_ = [(holder, n) for holder, n in open_ if shares[holder] < n]
    return shares
