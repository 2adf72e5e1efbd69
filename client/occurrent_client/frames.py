"""Rows as a table of pandas or polars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, Literal

Library = Literal["pandas", "polars"]


def make_frame(rows: Iterable[Mapping[str, Any]], library: Library | None = None) -> Any:
    """Return the rows as a DataFrame, of pandas if it is installed.

    Raises ImportError with what to install.
    """
    for name in [library] if library else ["pandas", "polars"]:
        try:
            return import_module(name).DataFrame(list(map(dict, rows)))
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
    raise ImportError(f"Install {library or 'pandas or polars'} to get tables.")
