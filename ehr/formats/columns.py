"""Conversions of columns for every format.

They parse numbers and naive clock times, and return text without nulls.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from ehr.schema import CLOCK

#: A plain decimal number; "<0.5", "1,200" and "NaN" are words.
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$"
#: Events whose values are codes.
CODED = r"^(diagnosis:|procedure:.*:billed$)"
#: Texts that say nothing: empty, and the mask of de-identification.
HIDDEN = pa.array(["", "___"])
#: ISO 8601 or "date time", to the minute or finer; no zone.
CLOCK_TIME = (
    r"^(\d{3}[1-9]|\d{2}[1-9]0|\d[1-9]00|[1-9]000)-\d{2}-\d{2}([T"
    r" ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?$"
)


def parse_numbers(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The finite number each text states, null for any other text."""
    plain = pc.if_else(pc.match_substring_regex(texts, NUMBER), texts, pa.scalar(None, pa.string()))
    numbers = plain.cast(pa.float64())
    return pc.if_else(pc.is_finite(numbers), numbers, pa.scalar(None, pa.float64()))


def parse_values(
    events: pa.Array | pa.ChunkedArray, values: pa.Array | pa.ChunkedArray
) -> pa.Array | pa.ChunkedArray:
    """Return `parse_numbers(values)`, but null for codes.

    Codes of diagnoses and billed procedures are names, even if they look like numbers.
    """
    codes = pc.match_substring_regex(events, CODED)
    return pc.if_else(codes, pa.scalar(None, pa.float64()), parse_numbers(values))


def clock_times(
    texts: pa.Array | pa.ChunkedArray,
) -> tuple[pa.Array | pa.ChunkedArray, pa.Array | pa.ChunkedArray]:
    """Return (times, wrong): naive clock times, and which texts are unusable.

    Times are null for empty and for unusable texts. A text that looks like a time but names no day
    or hour of the calendar (year 0, 30 February, 25:00) is unusable too.
    """
    empty = pc.equal(pc.binary_length(texts), 0)
    shaped = pc.match_substring_regex(texts, CLOCK_TIME)
    plain = pc.if_else(shaped, texts, pa.scalar(None, pa.string()))
    times = _cast_or_null(plain)
    return times, pc.and_(pc.invert(empty), pc.is_null(times))


def first_present(*parts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return the first part of each row that is neither empty nor masked.

    The mask of de-identification is ___.
    """
    empty = pa.scalar(None, pa.string())
    texts = pc.coalesce(*(pc.if_else(pc.is_in(p, HIDDEN), empty, p) for p in parts))
    return pc.fill_null(texts, "")


def clean_text(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """As text, stripped, "" for null."""
    return pc.utf8_trim_whitespace(pc.fill_null(column.cast(pa.string()), ""))


def _cast_or_null(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    try:
        return texts.cast(CLOCK)
    except pa.ArrowInvalid:
        # One impossible date fails the whole column. Such columns are rare, so their texts are
        # converted one by one.
        return pa.array([_parse_clock(text) for text in texts.to_pylist()], CLOCK)


def _parse_clock(text: str | None) -> object:
    if text is None:
        return None
    try:
        return pa.scalar(text).cast(CLOCK).as_py()
    except (pa.ArrowInvalid, ValueError, OverflowError):
        return None
