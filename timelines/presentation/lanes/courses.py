"""When a drug ran, or a line was in, from its rows of the record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from timelines.presentation.lanes.rows import RecordRow

#: A bar this short or shorter is a dose.
DOSE_HOURS = 0.1
#: Bars of one drug with a gap of at most this are one: a bag was changed.
_SAME_BAR = 0.26
#: Doses with a gap of at most this belong to one course.
COURSE_GAP = 36.0
#: A start without an end is a dose, unless rows of the same drug say otherwise.
_ENDS = frozenset({"end", "stop"})
ORDERS = "order"


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of time; `end` equals `start` for a dose."""

    start: float
    end: float
    dose: str = ""


@dataclass(frozen=True, slots=True)
class Course:
    """Bars of one drug or line.

    `runs`: from the first to the last dose, cut at long gaps. `ordered`: the record has orders
    alone, and an order is not an administration.
    """

    bars: tuple[Bar, ...]
    runs: tuple[tuple[float, float], ...]
    dose: str
    ordered: bool = False


def find_course(rows: Iterable[RecordRow]) -> Course | None:
    """Return the course of one drug or line; None without a row.

    Orders count only if no administration is recorded.
    """
    known = sorted(rows, key=lambda row: row.hours)
    given = [row for row in known if row.category != ORDERS]
    used = given or known
    bars = _merge(_bars(used))
    if not bars:
        return None
    return Course(
        tuple(bars), tuple(_runs(bars)), dose_words([b.dose for b in bars]), ordered=not given
    )


def dose_words(doses: Sequence[str]) -> str:
    """Return doses in words; "" if none is known.

    "1 g × 6", "5–15 mg/h", "1 g, then 500 mg".
    """
    known = [dose for dose in doses if dose]
    if not known:
        return ""
    if len(set(known)) == 1:
        return known[0] if len(known) == 1 else f"{known[0]} × {len(known)}"
    numbers = [dose.partition(" ") for dose in known]
    if len({unit for _, _, unit in numbers}) == 1 and all(_is_number(n) for n, _, _ in numbers):
        ordered = sorted((n for n, _, _ in numbers), key=float)
        return f"{ordered[0]}–{ordered[-1]} {numbers[0][2]}"
    return f"{known[0]}, then {known[-1]}"


def _bars(rows: Sequence[RecordRow]) -> list[Bar]:
    """Pair starts with ends of the same name; what has no end is a dose."""
    found: list[Bar] = []
    opened: dict[str, RecordRow] = {}
    for row in rows:
        stem = row.event.rpartition(":")[0]
        if row.act in _ENDS:
            start = opened.pop(stem, None)
            if start is not None:
                found.append(Bar(start.hours, row.hours, _dose(start)))
            continue
        if stem in opened:
            found.append(_as_dose(opened.pop(stem)))
        if row.act == "start":
            opened[stem] = row
        else:
            found.append(_as_dose(row))
    found += [_as_dose(row) for row in opened.values()]
    return sorted(found, key=lambda bar: (bar.start, bar.end))


def _as_dose(row: RecordRow) -> Bar:
    return Bar(row.hours, row.hours, _dose(row))


def _dose(row: RecordRow) -> str:
    """A number without a unit says nothing."""
    value = row.value.strip()
    return f"{value} {row.unit.strip()}" if value and row.unit.strip() else ""


def _merge(bars: Sequence[Bar]) -> list[Bar]:
    """Join bars that touch, unless the dose changes; short ones become doses."""
    found: list[Bar] = []
    for bar in bars:
        short = bar.end - bar.start <= DOSE_HOURS
        last = found[-1] if found else None
        if (
            last is not None
            and not short
            and last.end > last.start
            and bar.start - last.end <= _SAME_BAR
            and bar.dose == last.dose
        ):
            found[-1] = Bar(last.start, max(last.end, bar.end), last.dose)
        else:
            found.append(Bar(bar.start, bar.start if short else bar.end, bar.dose))
    return found


def _runs(bars: Sequence[Bar]) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for bar in bars:
        if found and bar.start - found[-1][1] <= COURSE_GAP:
            found[-1] = (found[-1][0], max(found[-1][1], bar.end))
        else:
            found.append((bar.start, bar.end))
    return found


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
