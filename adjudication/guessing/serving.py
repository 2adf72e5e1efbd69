"""What a reviewer gets of a blinded item, by side. No Django."""

from __future__ import annotations

from adjudication.blinding.rows import ShownRow
from adjudication.blinding.visibility import SERIES_WITH_ROWS, BlindedItem, ShownSide
from adjudication.guessing.served import ServedItem, ServedSide


def serve_item(item: BlindedItem, *, case: str, pairing: str, first_is_left: bool) -> ServedItem:
    """Return the item as the guess test reads it.

    Note and record are the same for both sides, so of them only the order of the series counts, for
    a side with a row.
    """
    series = tuple(s.event for s in item.series[:SERIES_WITH_ROWS])
    left, right = (_serve_side(side, item.near, series) for side in (item.left, item.right))
    return ServedItem(case, pairing, *((left, right) if first_is_left else (right, left)))


def _serve_side(side: ShownSide, near: tuple[ShownRow, ...], series: tuple[str, ...]) -> ServedSide:
    row = () if side.row is None else (side.row,)
    rows = {"row": row, "near": near, "only here": side.alone}
    texts = {place: tuple(r.event for r in found) for place, found in rows.items()}
    texts |= {f"{place}, time": tuple(r.when for r in found) for place, found in rows.items()}
    numbers = {f"{place}, hours": tuple(r.at for r in found) for place, found in rows.items()}
    return ServedSide({**texts, "series": series if row else ()}, numbers)
