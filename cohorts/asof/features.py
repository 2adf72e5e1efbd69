"""A file of features: case, name, and the hour of use.

No Django here.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from cohorts.asof.states import State

#: So many lines are read, so many faults named.
MOST_LINES = 100_000
MOST_FAULTS = 20
LONGEST_NAME = 300


class FeatureFileError(ValueError):
    """A file that cannot be used.

    The messages name line and field, never the file's text.
    """

    log_safe = True

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = list(faults)
        super().__init__(" ".join(self.faults))


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of a case that a model uses at an hour."""

    line: int
    case: str
    name: str
    hours: float


def read_features(content: bytes, admitted: Mapping[str, datetime]) -> list[Feature]:
    """Read a CSV with the columns case, name, and hours or time.

    `admitted`: case → admission of the cases of the dataset. Raises FeatureFileError with up to
    `MOST_FAULTS` faults.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FeatureFileError(["The file is not UTF-8 text. Save it as CSV, UTF-8."]) from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise FeatureFileError([f"Line {line}: it has a NUL character. Save the file as CSV."])
    lines = csv.DictReader(io.StringIO(text, newline=""))
    try:
        clock = _check_heads(lines.fieldnames or [])
        return _collect(_read_lines(lines, admitted, clock=clock))
    except csv.Error:
        fault = f"Line {lines.line_num}: it is not CSV. Quote fields that contain quotes."
        raise FeatureFileError([fault]) from None


def _check_heads(names: Iterable[str]) -> bool:
    """Return whether the times are clock times; raise FeatureFileError."""
    found = set(names)
    missing = [name for name in ("case", "name") if name not in found]
    if missing or not found & {"hours", "time"}:
        raise FeatureFileError(
            ["Line 1: the columns must be case, name, and hours or time. Add them to the head."]
        )
    return "hours" not in found


def _collect(read: Iterator[Feature | str]) -> list[Feature]:
    """Return the features if there is no fault; raise FeatureFileError."""
    features: list[Feature] = []
    faults: list[str] = []
    for one in read:
        if isinstance(one, Feature):
            features.append(one)
        else:
            faults.append(one)
        if len(features) > MOST_LINES:
            faults.append(f"The file has more than {MOST_LINES} lines. Split it.")
        if len(faults) >= MOST_FAULTS or len(features) > MOST_LINES:
            break
    if not features and not faults:
        faults.append("Line 2: the file has no feature. Add a line for each feature of a case.")
    if faults:
        raise FeatureFileError(faults)
    return features


def _read_lines(
    lines: csv.DictReader[str], admitted: Mapping[str, datetime], *, clock: bool
) -> Iterator[Feature | str]:
    """Yield each line as a feature, or what is wrong with it."""
    for values in lines:
        line = lines.line_num
        case, name = (str(values.get(key) or "").strip() for key in ("case", "name"))
        hours = _read_time(values, admitted.get(case), clock=clock)
        if None in values:
            yield f"Line {line}: it has more fields than the head. Quote fields with commas."
        elif case not in admitted:
            yield f"Line {line}, case: the dataset has no such case. Correct it or leave it out."
        elif not name or len(name) > LONGEST_NAME:
            yield f"Line {line}, name: enter a name of at most {LONGEST_NAME} characters."
        elif hours is None and clock:
            yield f"Line {line}, time: enter a date and time such as 2150-03-01 14:30."
        elif hours is None:
            yield f"Line {line}, hours: enter hours from admission such as 6 or 6.5."
        else:
            yield Feature(line, case, name, hours)


def _read_time(
    values: Mapping[str, str], admitted: datetime | None, *, clock: bool
) -> float | None:
    """Return the hours from admission; None if they cannot be read."""
    try:
        if not clock:
            hours = float(values["hours"])
            return hours if math.isfinite(hours) else None
        time = datetime.fromisoformat(values["time"].strip())
        if admitted is None or time.tzinfo is not None:
            return None
        return (time - admitted).total_seconds() / 3600
    except (TypeError, ValueError, AttributeError):
        return None


#: From the least to the greatest fault of a feature.
_ORDER = (State.KNOWN, State.UNCERTAIN, State.LATER, State.NOT_YET)


def judge_feature(states: Iterable[State]) -> State | None:
    """Return the best state of a feature's occurrences; None without any.

    A feature is without leakage if one of them was known.
    """
    return min(states, key=_ORDER.index, default=None)
