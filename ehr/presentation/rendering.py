"""A series in words, for retrieval and for the judge.

Source: protocol, "Structured record" and section 4, "Input". No Django here. Clock times are naive
local, to the minute if seconds are zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from ehr.summarise import Observation, Series

#: The judge reads at most this many series, by clinical priority.
JUDGE_SERIES = 900
NO_TIME = "NA"
#: How a moment is written.
Moment = Callable[[datetime], str]


def clock(time: datetime) -> str:
    """Return ISO 8601 without a zone; seconds only if there are any."""
    if time.microsecond:
        return time.isoformat()
    return time.isoformat(timespec="seconds" if time.second else "minutes")


def retrieval_text(series: Series) -> str:
    """Return the series' summary, which is embedded, reranked and stored.

    The first line names the series, the others describe it.
    """
    unit = series.units[0] if len(series.units) == 1 else ""
    name = _line(series.event)
    lines = [f"{name} ({unit})" if unit else name, _extent(series)]
    if series.numbers is not None:
        lines.append(_statistics(series))
        lines.append(
            f"first {_format_moment(series.first)}; last {_format_moment(series.last)}; {_extremes(series)}"
        )
    elif series.top_values:
        lines.append(f"most frequent values: {_top_values(series)}")
    if series.observations is not None:
        lines.append(
            "all observations: "
            + "; ".join(_format_moment(o, with_unit=not unit) for o in series.observations)
        )
    return "\n".join(lines)


def judge_text(series: Series, moment: Moment = clock) -> str:
    """Return one entry of the judge's list.

    It is one line, and one more with the observations if there are few.
    """

    def mark(observation: Observation, with_unit: bool = False) -> str:
        return f"{_format_value(observation, with_unit)}@{_format_clock(observation, moment)}"

    fields = [
        f"count={series.count}",
        f"time=[{_format_clock(series.first, moment)}, {_format_clock(series.last, moment)}]",
    ]
    if series.numbers is not None:
        lowest, highest = series.numbers.lowest, series.numbers.highest
        fields.append(
            f"numeric_values=[{_format_value(lowest)}, {_format_value(highest)}];"
            f" mean={_number(series.numbers.mean)}"
        )
        if series.numbers.sd is not None:
            fields.append(f"sd={_number(series.numbers.sd)}")
        fields.append(f"extrema=min {mark(lowest)}, max {mark(highest)}")
        if series.first is not None and series.last is not None:
            fields.append(f"first={mark(series.first)}; last={mark(series.last)}")
    elif series.top_values:
        fields.append(f"top_categories={_top_values(series)}")
    if len(series.units) == 1:
        fields.append(f"unit={series.units[0]}")
    text = f"- {_line(series.event)}: {'; '.join(fields)}"
    if series.observations is not None:
        text += "\n  observations: " + ", ".join(
            mark(o, with_unit=len(series.units) > 1) for o in series.observations
        )
    return text


def sort_for_judge(series: Iterable[Series]) -> list[Series]:
    """Sort by clinical priority, then count (most first), then name.

    Source: protocol section 4, "Input".
    """
    return sorted(series, key=lambda s: (s.priority, -s.count, s.event))


def select_for_judge(series: Iterable[Series], limit: int = JUDGE_SERIES) -> list[Series]:
    """Return the series that `judge_record` shows, in its order.

    These are at most `limit`, and every admission row.
    """
    ordered = sort_for_judge(series)
    always = sum(1 for s in ordered if s.priority == 0)
    return ordered[: max(limit, always)]


def judge_record(
    series: Iterable[Series], limit: int = JUDGE_SERIES, moment: Moment = clock
) -> str:
    """Return the whole structured record for the judge, in its markers.

    `moment` writes the times. A last line counts the series left out. `series` are those of one encounter with the rows that
    have no time (`summarise(rows, untimed=True)`). Admission rows come first in priority and are
    included even if they alone exceed `limit`.
    """
    ordered = sort_for_judge(series)
    shown = select_for_judge(ordered, limit)
    rows = sum(s.count for s in ordered)
    lines = [
        "[TABULAR_EHR_SUMMARY_START]",
        f"rows={rows}; event types={len(ordered)}",
        *(judge_text(s, moment) for s in shown),
    ]
    if len(ordered) > len(shown):
        lines.append(f"... and {len(ordered) - len(shown)} more event types omitted.")
    return "\n".join([*lines, "[TABULAR_EHR_SUMMARY_END]"])


def _extent(series: Series) -> str:
    if series.first is None or series.last is None:
        return f"count {series.count}, no time recorded"
    if series.first.time == series.last.time:
        return f"count {series.count}, at {_format_clock(series.first)}"
    return (
        f"count {series.count}, from {_format_clock(series.first)} to {_format_clock(series.last)}"
    )


def _statistics(series: Series) -> str:
    numbers = series.numbers
    assert numbers is not None
    parts = [f"mean {_number(numbers.mean)}"]
    if numbers.sd is not None:
        parts.append(f"SD {_number(numbers.sd)}")
    parts += [f"min {_format_value(numbers.lowest)}", f"max {_format_value(numbers.highest)}"]
    if numbers.count != series.count:
        parts.append(f"{series.count - numbers.count} without a number")
    return ", ".join(parts)


def _extremes(series: Series) -> str:
    assert series.numbers is not None
    return (
        f"min {_format_moment(series.numbers.lowest)}; max {_format_moment(series.numbers.highest)}"
    )


def _top_values(series: Series) -> str:
    text = ", ".join(f"{_line(value)} ({frequency})" for value, frequency in series.top_values)
    return f"{text}, and {series.other_values} other values" if series.other_values else text


def _format_moment(observation: Observation | None, with_unit: bool = False) -> str:
    if observation is None:
        return "without a time"
    value = _format_value(observation, with_unit)
    when = "without a time" if observation.time is None else f"at {clock(observation.time)}"
    return f"{value} {when}" if value else when


def _format_value(observation: Observation, with_unit: bool = False) -> str:
    value = _line(observation.value)
    return f"{value} {observation.unit}" if value and with_unit and observation.unit else value


def _format_clock(observation: Observation | None, moment: Moment = clock) -> str:
    return NO_TIME if observation is None or observation.time is None else moment(observation.time)


def _line(text: str) -> str:
    """Return the text on one line.

    A value with line breaks must not look like another entry of the list.
    """
    return text if text.isprintable() else " ".join(text.split())


def _number(number: float) -> str:
    """Return three decimals at most, more if the number is small.

    Everyday magnitudes have no exponent.
    """
    if number != 0 and (abs(number) < 0.01 or abs(number) >= 1e9):
        return f"{number:.3g}"
    text = f"{number:.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
