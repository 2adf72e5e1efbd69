"""What can go wrong, as exceptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class OccurrentError(Exception):
    """The server refused a request.

    `status` and `code` are those of docs/reference/api.md; `fields` has the errors of each field.
    """

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        self.status = status
        self.code = str(body.get("code", ""))
        self.detail = str(body.get("detail", ""))
        self.fields: Mapping[str, Sequence[str]] = body.get("fields", {})
        named = "; ".join(f"{name}: {' '.join(words)}" for name, words in self.fields.items())
        super().__init__(f"{self.detail} ({status} {self.code}){f' {named}' if named else ''}")


class ConnectionLost(Exception):
    """The server did not answer, after a few attempts."""


class RunEnded(Exception):
    """A run or an evaluation ended without success; the message says how."""


class TookTooLong(Exception):
    """Something is not finished after the time that was given to wait."""
