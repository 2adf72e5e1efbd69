"""Bodies of API requests: JSON objects as the framework reads them, but none that is nested beyond all reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class CheckedJSONParser(JSONParser):
    """Raises ParseError (400) where the framework's own parser would fail or give something that is no object."""

    def parse(self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The object in the body."""
        try:
            found = super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise ParseError("This is nested too deep.") from None
        if not isinstance(found, dict):
            raise ParseError("This is not a JSON object.")
        return found
