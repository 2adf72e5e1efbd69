"""JSON in and out for our own pages.

A body is an object of the right content type; a refusal says so in a sentence.
"""

from __future__ import annotations

import json
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, JsonResponse

from accounts.requests.guard import OddValue, check_json

JSON = "application/json"


class BadBody(ValueError):
    """A body that is no JSON object; the message quotes nothing.

    `status` is the status of the response.
    """

    log_safe = True

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


def json_body(request: HttpRequest) -> dict[str, Any]:
    """Return the object in the body.

    Raises BadBody: 415 for another content type, 413 for too much, 400 for anything but an object.
    The content type matters: a form of another site cannot send JSON without asking first.
    """
    if request.content_type != JSON:
        raise BadBody("Send JSON.", 415)
    try:
        found = json.loads(request.body, parse_constant=_refuse)
    except RequestDataTooBig:
        raise BadBody("The request is too large.", 413) from None
    except (ValueError, RecursionError):
        raise BadBody("The body is not valid JSON.") from None
    if not isinstance(found, dict):
        raise BadBody("The body is not a JSON object.")
    try:
        check_json(found)
    except OddValue as error:
        raise BadBody(str(error)) from None
    return found


def refusal(message: str, status: int, **more: Any) -> JsonResponse:
    """A sentence for the person, with what the page needs to go on."""
    return JsonResponse({"message": message, **more}, status=status)


def read_text(body: dict[str, Any], name: str) -> str:
    """Return a text of a body that `json_body` read, empty if there is none.

    Raises BadBody for anything else.
    """
    found = body.get(name, "")
    if not isinstance(found, str):
        raise BadBody(f"{name} must be text.")
    return found


def _refuse(name: str) -> float:
    raise ValueError("not a number")
