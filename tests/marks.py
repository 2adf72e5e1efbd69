"""Marks of single parameters."""

from __future__ import annotations

from typing import Any

import pytest


def deep(*values: Any) -> list[Any]:
    """Return the parameters as ones that only `make test-deep` runs.

    A tuple is one set of them.
    """
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.deep)
        for value in values
    ]
