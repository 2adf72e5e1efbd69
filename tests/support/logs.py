"""The log of this process, as every process of an installation writes it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config.logging import JsonFormatter


@contextmanager
def collect_log(path: Path) -> Iterator[Path]:
    """Write everything that is logged, at the most verbose level, to a file."""
    handler = logging.FileHandler(path)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield path
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        handler.close()
