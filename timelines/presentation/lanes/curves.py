"""The curve of one measurement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ehr.presentation.sparkline import thin
from timelines.presentation.lanes.rows import RecordRow


@dataclass(frozen=True, slots=True)
class Curve:
    """Points as (hours, value), thinned; `low` and `high` are of all values."""

    event: str
    points: tuple[tuple[float, float], ...]
    low: float
    high: float
    unit: str

    @property
    def words(self) -> str:
        """Return the range with its unit: "0.9–3.1 mg/dL"."""
        low, high = _plain(self.low), _plain(self.high)
        return f"{low if low == high else f'{low}–{high}'} {self.unit}".strip()


def choose_series(
    events: Mapping[str, Sequence[RecordRow]], cited: Collection[str]
) -> Sequence[RecordRow]:
    """Return the rows of the series to draw.

    A cited one, else a systolic pressure, else the longest.
    """
    return events[
        max(
            events,
            key=lambda event: (
                event in cited,
                "systolic" in event,
                sum(row.number is not None for row in events[event]),
                event,
            ),
        )
    ]


def find_curve(rows: Iterable[RecordRow]) -> Curve | None:
    """Return the curve of one series; None without a number."""
    known = sorted((row for row in rows if row.number is not None), key=lambda row: row.hours)
    if not known:
        return None
    points = [(row.hours, row.number) for row in known if row.number is not None]
    values = [value for _, value in points]
    unit, _ = Counter(row.unit for row in known).most_common(1)[0]
    return Curve(known[0].event, tuple(thin(points)), min(values), max(values), unit)


def _plain(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".") if abs(number) < 100 else f"{number:.0f}"
