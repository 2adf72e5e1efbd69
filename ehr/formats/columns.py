"""Conversions of columns for every format.

They parse numbers and naive clock times, and return text without nulls.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ehr.schema import CLOCK

Text: TypeAlias = pa.ChunkedArray | pa.Array


def make_texts(*texts: str) -> pa.Array:
    """Return an array of texts; for constants of modules.

    `pa.array` would load pandas with the module where it is installed.
    """
    data = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, data)], dtype=np.int32)
    buffers = pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(data))
    return pa.StringArray.from_buffers(len(texts), *buffers)


#: A plain decimal number; "<0.5", "1,200" and "NaN" are words.
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$"
#: Events whose values are codes.
CODED = r"^(diagnosis:|procedure:.*:billed$)"
#: Texts that say nothing: empty, and the mask of de-identification.
HIDDEN = make_texts("", "___")
#: The unit of rows whose source has a day and no hour: their midnight is not a time.
DATE_ONLY = "date only"
#: In place of a number: for an empty text, and for a text that is no number.
NO_ID, BAD_ID = -1, -2
#: ISO 8601 or "date time", to the minute or finer.
CLOCK_TIME = (
    r"^(\d{3}[1-9]|\d{2}[1-9]0|\d[1-9]00|[1-9]000)-\d{2}-\d{2}([T"
    r" ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?)?$"
)
#: The offset of a time from UTC. Without it, the text is the clock on the wall of the place.
OFFSET = r"^(.{10}[T ][\d:.]{5,15}?) ?(?:Z|[+-](?:0\d|1[0-4])(?::?[0-5]\d)?)$"


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
    or hour of the calendar (year 0, 30 February, 25:00) is unusable too. A time with an offset is
    the local time of that offset: 08:00+01:00 and 08:00Z are both 08:00.
    """
    empty = pc.equal(pc.binary_length(texts), 0)
    local = pc.replace_substring_regex(texts, OFFSET, r"\1")
    shaped = pc.match_substring_regex(local, CLOCK_TIME)
    plain = pc.if_else(shaped, local, pa.scalar(None, pa.string()))
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


def join_texts(left: Text, right: Text, by: str = " ") -> Text:
    """Join both texts of each row by `by`; an empty text is left out."""
    both = pc.binary_join_element_wise(left, right, by)
    return pc.if_else(pc.equal(left, ""), right, pc.if_else(pc.equal(right, ""), left, both))


def event_name(category: str, name: Text, detail: Text | str = "") -> Text:
    """`category:name:detail` in lower case."""
    return pc.utf8_lower(pc.binary_join_element_wise(category, name, detail, ":"))


def parse_ids(texts: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return numbers of subjects and admissions (some exports write 123.0).

    NO_ID for "", BAD_ID for anything else, also for more than eighteen digits.
    """
    empty = pc.equal(pc.binary_length(texts), 0)
    filled = pc.if_else(empty, pa.scalar(None, pa.string()), texts)
    try:
        numbers = filled.cast(pa.int64())
    except pa.ArrowInvalid:
        numbers = None
    if numbers is None or not _are_ids(numbers):
        plain = pc.replace_substring_regex(texts, r"\.0$", "")
        digits = pc.if_else(
            pc.match_substring_regex(plain, r"^\d{1,18}$"), plain, pa.scalar(None, pa.string())
        )
        numbers = pc.if_else(empty, NO_ID, pc.fill_null(digits.cast(pa.int64()), BAD_ID))
    return pc.fill_null(numbers, NO_ID).to_numpy()


def _are_ids(numbers: pa.ChunkedArray) -> bool:
    least, most = pc.min_max(numbers).as_py().values()
    return (least or 0) >= 0 and (most or 0) < 10**18


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
