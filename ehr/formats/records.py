"""Cut CSV bytes into whole records (RFC 4180).

Each record has its beginning and its line, and its quotation marks are checked. Arrow alone would
read a value that is cut inside its quotation marks as if it were whole, and would count no line
breaks. All of this works on columns of bytes, without a loop over records.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ehr.formats.base import Rejection, WrongFile, describe_packing
from ehr.formats.limits import Limits

LONGEST_RECORD = 16 << 20
BOM = codecs.BOM_UTF8
COMMA, QUOTE, LF, CR = 44, 34, 10, 13
AROUND_QUOTES = np.array([COMMA, QUOTE, LF, CR], np.uint8)
LOOSE_QUOTE = (
    "a quotation mark is not closed, not doubled inside its value, or is inside a value without"
    " quotation marks"
)

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Records:
    """Whole records of a file, without blank lines.

    `starts` and `ends` (without the line break) point into `data`; `lines` are the lines on which
    they begin, from 1.
    """

    data: memoryview
    starts: Ints
    ends: Ints
    lines: Ints
    quotes: Ints

    def __len__(self) -> int:
        return len(self.starts)

    def text(self, i: int) -> str:
        """Return record i exactly as the file has it."""
        return bytes(self.data[self.starts[i] : self.ends[i]]).decode()

    def fields(self) -> Ints:
        """How many fields each record has."""
        commas = np.flatnonzero(np.frombuffer(self.data, np.uint8) == COMMA)
        commas = commas[np.searchsorted(self.quotes, commas) % 2 == 0]
        return np.searchsorted(commas, self.ends) - np.searchsorted(commas, self.starts) + 1


def read_records(
    path: Path, name: str, limits: Limits, *, block_bytes: int, most_bytes: int | None = None
) -> Iterator[Records]:
    """Yield the file's records in pieces; the first record is the header.

    Raises WrongFile, OSError.
    """
    rest, line = b"", 1
    for piece in _pieces(path, name, limits, block_bytes, most_bytes):
        data = np.frombuffer(rest + piece, np.uint8)
        breaks, quotes = _line_breaks(data, last=not piece), np.flatnonzero(data == QUOTE)
        outside = breaks[np.searchsorted(quotes, breaks) % 2 == 0]
        cut = len(data) if not piece else int(outside[-1]) + 1 if len(outside) else 0
        if cut:
            whole, breaks, quotes = data[:cut], breaks[breaks < cut], quotes[quotes < cut]
            _check_text(whole, breaks, line, name)
            _check_quotes(whole, quotes, breaks, line, name)
            yield _records(whole, outside, breaks, quotes, line)
            line += len(breaks)
        rest = data[cut:].tobytes()
        if len(rest) > LONGEST_RECORD:
            reason = (
                f"a row is longer than {LONGEST_RECORD >> 20} MB, or a quotation mark is never"
                " closed"
            )
            raise WrongFile(Rejection(name, reason, line))


def _pieces(
    path: Path, name: str, limits: Limits, block_bytes: int, most_bytes: int | None
) -> Iterator[bytes]:
    """Yield the file's bytes uncompressed and without byte order mark.

    An empty piece is the end. Raises WrongFile for too many bytes.
    """
    if reason := describe_packing(path):
        raise WrongFile(Rejection(name, reason))
    size, total = path.stat().st_size, 0
    with (
        path.open("rb") as raw,
        pa.input_stream(
            raw, compression="gzip" if path.suffix.lower() == ".gz" else None
        ) as stream,
    ):
        while piece := stream.read(block_bytes):
            if not total and piece.startswith(BOM):
                piece = piece[len(BOM) :]
            total += len(piece)
            if reason := limits.find_excess(total, size, most_bytes):
                raise WrongFile(Rejection(name, reason))
            yield piece
    yield b""


def _line_breaks(data: Bytes, *, last: bool) -> Ints:
    """Return the last byte of every line break: LF, CR LF, or CR alone.

    A CR at the end waits for the next byte.
    """
    feeds = np.flatnonzero(data == LF)
    returns = np.flatnonzero(data == CR)
    if not len(returns):
        return feeds
    following = np.append(data, 0 if last else LF)[returns + 1]
    return np.sort(np.concatenate([feeds, returns[following != LF]]))


def _records(data: Bytes, outside: Ints, breaks: Ints, quotes: Ints, line: int) -> Records:
    ends = (
        outside if len(outside) and outside[-1] + 1 == len(data) else np.append(outside, len(data))
    )
    starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)
    crlf = (ends > starts) & (data[ends - 1] == CR) & (data[np.minimum(ends, len(data) - 1)] == LF)
    ends = ends - crlf
    filled = ends > starts
    starts, ends = starts[filled], ends[filled]
    return Records(data.data, starts, ends, line + np.searchsorted(breaks, starts), quotes)


def _check_text(data: Bytes, breaks: Ints, line: int, name: str) -> None:
    try:
        codecs.utf_8_decode(data.data, "strict", True)
    except UnicodeDecodeError as error:
        raise WrongFile(
            Rejection(name, "the line is not UTF-8 text", _find_line(breaks, line, error.start))
        ) from None


def _check_quotes(data: Bytes, quotes: Ints, breaks: Ints, line: int, name: str) -> None:
    """Raise WrongFile unless quotation marks enclose whole values.

    Every opening mark begins a value, every closing mark ends one; a doubled mark closes and opens
    again.
    """
    if not len(quotes):
        return
    closing = quotes[1::2]
    opening = quotes[0::2][: len(closing)]
    opens = (opening == 0) | np.isin(data[opening - 1], AROUND_QUOTES)
    closes = (closing == len(data) - 1) | np.isin(
        data[np.minimum(closing + 1, len(data) - 1)], AROUND_QUOTES
    )
    wrong = np.flatnonzero(~(opens & closes))
    if len(wrong):
        raise WrongFile(Rejection(name, LOOSE_QUOTE, _find_line(breaks, line, opening[wrong[0]])))
    if len(quotes) % 2:
        raise WrongFile(
            Rejection(
                name,
                "the quotation mark that opens here is never closed",
                _find_line(breaks, line, quotes[-1]),
            )
        )


def _find_line(breaks: Ints, line: int, offset: int | np.int64) -> int:
    return line + int(np.searchsorted(breaks, offset))
