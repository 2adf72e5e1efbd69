"""Limits of one import, set by IMPORT_… (config/settings.py)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Maximum sizes of the parts of an import.

    `expansion`: how many times its own size a compressed file may become. Bytes are counted
    uncompressed.
    """

    note_bytes: int = 1_000_000
    case_rows: int = 2_000_000
    case_bytes: int = 500_000_000
    expansion: int = 200


DEFAULT_LIMITS = Limits()
