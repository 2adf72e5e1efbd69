"""Keep log lines and progress bars out of a command's output."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

#: Libraries read these when they are imported, so set them before any model is loaded.
_NO_BARS = {
    "TQDM_DISABLE": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}


@contextmanager
def quiet_output() -> Iterator[None]:
    """Print only log lines of errors, and no progress bar, meanwhile."""
    for name, value in _NO_BARS.items():
        os.environ.setdefault(name, value)
    handlers = {handler: handler.level for handler in logging.getLogger().handlers}
    for handler, level in handlers.items():
        handler.setLevel(max(level, logging.ERROR))
    try:
        yield
    finally:
        for handler, level in handlers.items():
            handler.setLevel(level)
