"""Bodies of API requests: JSON as the framework reads it, but not too much, not too deep, and no number beyond any float."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import APIException, ParseError
from rest_framework.parsers import JSONParser


class TooMuch(APIException):
    """A body beyond DATA_UPLOAD_MAX_MEMORY_SIZE, which the framework's own parser would read to its end."""

    status_code = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    default_detail = "This is too much at once."
    default_code = "too_large"


class CheckedJSONParser(JSONParser):
    """Raises TooMuch, ParseError."""

    def parse(self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The object in the body."""
        request = (parser_context or {})["request"]
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        if limit is not None and int(request.META.get("CONTENT_LENGTH") or 0) > limit:
            raise TooMuch
        try:
            found = super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise ParseError("This is nested too deep.") from None
        if not isinstance(found, dict):
            raise ParseError("This is not a JSON object.")
        return found
