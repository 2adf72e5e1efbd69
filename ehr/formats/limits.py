"""Limits of one import, set by IMPORT_… (config/settings.py)."""

from __future__ import annotations

from dataclasses import dataclass

#: A compressed file may always grow to this size.
FREE_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Maximum sizes of the parts of an import.

    `expansion`: how many times its own size a gzipped or Parquet file may become. Bytes are counted
    uncompressed; `case_bytes` are of a case's file, or of its rows' text if a file has several
    cases.
    """

    note_bytes: int = 1_000_000
    case_rows: int = 2_000_000
    case_bytes: int = 500_000_000
    expansion: int = 200

    def find_excess(self, read: int, file_bytes: int, most_bytes: int | None) -> str:
        """Return why a file must not be read further, "" if it may.

        `read` bytes, uncompressed, came from a file of `file_bytes`; `most_bytes` is its own limit.
        """
        if most_bytes is not None and read > most_bytes:
            return f"the file has more than {most_bytes:,} bytes (IMPORT_CASE_BYTES)"
        if read > max(FREE_BYTES, self.expansion * file_bytes):
            return f"the file becomes more than {self.expansion} times as large (IMPORT_EXPANSION)"
        return ""


DEFAULT_LIMITS = Limits()
