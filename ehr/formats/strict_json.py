"""Read JSON objects of other people's files strictly.

Keys are unique, numbers are finite and of limited size, and every error is a BadJson.
"""

from __future__ import annotations

import json
from typing import Any


class BadJson(ValueError):
    """The text is no usable JSON object; the message does not quote it."""

    log_safe = True

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


def read_object(text: str) -> dict[str, Any]:
    """The object. Raises BadJson."""
    try:
        value = json.loads(text, object_pairs_hook=_build_object, parse_constant=_no_constant)
    except BadJson:
        raise
    except json.JSONDecodeError as error:
        raise BadJson("not JSON", error.lineno) from None
    except ValueError:
        raise BadJson("not JSON: a number has too many digits") from None
    except RecursionError:
        raise BadJson("not JSON: nested too deeply") from None
    if not isinstance(value, dict):
        raise BadJson("not a JSON object")
    return value


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise BadJson("a key appears twice")
    return values


def _no_constant(_: str) -> None:
    raise BadJson("not JSON: NaN and Infinity are no numbers")
