"""Bodies of API requests: JSON objects with values that can be stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from rest_framework.exceptions import ParseError, ValidationError
from rest_framework.parsers import DataAndFiles, JSONParser, MultiPartParser

from accounts.requests.guard import OddValue, check_json, find_odd_text


class CheckedJSONParser(JSONParser):
    """Parses a JSON object and checks that it can be stored.

    Raises ParseError or ValidationError (400) if the framework's own parser would fail or return
    what cannot be stored.
    """

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The object in the body."""
        try:
            found = super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise ParseError("The body is nested too deeply.") from None
        if not isinstance(found, dict):
            raise ParseError("The body is not a JSON object.")
        try:
            check_json(found)
        except OddValue as error:
            raise ValidationError({error.field: [str(error)]}) from None
        return found


class CheckedFilesParser(MultiPartParser):
    """Parses a form with files, and checks its texts.

    Raises ParseError (400), RequestDataTooBig (413).
    """

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> DataAndFiles[Any, Any]:
        """The fields and files in the body."""
        try:
            found = super().parse(stream, media_type, parser_context)
        except RequestDataTooBig:
            raise
        except SuspiciousOperation:
            raise ParseError("The form cannot be read. Send fewer files and fields.") from None
        if sentence := find_odd_text(found.data):
            raise ParseError(sentence)
        return found
