"""Error responses of the API: one body for all.

It has a code for programs and a sentence for people. Sentences come from exceptions that are marked
as free of patient text. They never reveal more than the page would. Upper apps register their own
exceptions in `AppConfig.ready`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404
from drf_spectacular.utils import OpenApiExample, OpenApiResponse
from rest_framework.exceptions import APIException, NotFound, ValidationError
from rest_framework.response import Response
from rest_framework.serializers import CharField, DictField, IntegerField, ListField, Serializer
from rest_framework.views import exception_handler

from accounts.permissions import NotAllowed
from accounts.requests.limits import TooManyRequests
from accounts.sign_in.password_check import WrongPassword

#: One message for what does not exist, what belongs to another person, and what the framework would
#: call by its model's name.
MISSING = "It does not exist, or you cannot access it."


class Refusal(APIException):
    """A 4xx response: code, message and details."""

    def __init__(self, status: HTTPStatus, code: str, words: str, **more: Any) -> None:
        super().__init__(words, code)
        self.status_code = status
        self.code = code
        self.words = words
        self.more = more


class ErrorSerializer(Serializer[Any]):
    """The body of every 4xx response."""

    code = CharField(help_text="A code for programs.")
    detail = CharField(help_text="A message for people.")
    fields = DictField(  # type: ignore[assignment]  # the name of the framework's own property, which only bodies go by
        child=ListField(child=CharField()),
        required=False,
        help_text="Field names with their errors.",
    )
    standing = CharField(required=False, help_text="409: public id of your current decision.")
    left = IntegerField(required=False, help_text="409 not_finished: items still to decide.")
    retry_after = IntegerField(required=False, help_text="429 throttled: seconds to wait.")


#: Builds the response to an exception of that class.
Build = Callable[[Any], Refusal]


def build_sentence(error: Exception) -> str:
    """Return the message of an exception as a sentence."""
    return f"{str(error)[:1].upper()}{str(error)[1:]}".rstrip(".") + "."


def build_refused(error: Exception) -> Refusal:
    """Return the response to values that a rule of the application forbids."""
    return Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "refused", build_sentence(error))


def build_not_now(error: Exception) -> Refusal:
    """Return the response to an action that the state does not allow."""
    return Refusal(HTTPStatus.CONFLICT, "not_now", build_sentence(error))


def _build_missing(error: Exception) -> Refusal:
    return Refusal(HTTPStatus.NOT_FOUND, "not_found", MISSING)


def _build_too_large(error: Exception) -> Refusal:
    return Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", "The request is too large.")


def _build_wrong_password(error: WrongPassword) -> Refusal:
    if error.wait:
        return Refusal(
            HTTPStatus.TOO_MANY_REQUESTS, "throttled", str(error), retry_after=error.wait
        )
    return Refusal(HTTPStatus.FORBIDDEN, "wrong_password", str(error))


def _build_too_many(error: TooManyRequests) -> Refusal:
    return Refusal(HTTPStatus.TOO_MANY_REQUESTS, "throttled", str(error), retry_after=error.wait)


def _build_not_allowed(error: NotAllowed) -> Refusal:
    return Refusal(HTTPStatus.FORBIDDEN, "not_allowed", str(error))


def _build_denied(error: PermissionDenied) -> Refusal:
    return Refusal(HTTPStatus.FORBIDDEN, "not_allowed", "You are not allowed to do this.")


_builders: dict[type[Exception], Build] = {
    Refusal: lambda error: error,
    Http404: _build_missing,
    NotFound: _build_missing,
    RequestDataTooBig: _build_too_large,
    WrongPassword: _build_wrong_password,
    TooManyRequests: _build_too_many,
    NotAllowed: _build_not_allowed,
    PermissionDenied: _build_denied,
}


def register_refusals(builders: Mapping[type[Exception], Build]) -> None:
    """Add the responses to an app's exceptions; the nearest class counts."""
    _builders.update(builders)


def handle_error(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """Handle exceptions of all views of this API; return None for a fault."""
    if (refusal := _build_refusal(error)) is not None:
        answer = Response(
            {"code": refusal.code, "detail": refusal.words, **refusal.more},
            status=refusal.status_code,
        )
        if "retry_after" in refusal.more:
            answer["Retry-After"] = str(refusal.more["retry_after"])
        return answer
    response = exception_handler(error, dict(context))
    if response is None:
        return None
    if isinstance(error, ValidationError):
        response.data = {
            "code": "invalid",
            "detail": "Some fields are invalid.",
            "fields": _fields(error.detail),
        }
        return response
    code = (
        error.default_code
        if isinstance(error, APIException)
        else HTTPStatus(response.status_code).name.lower()
    )
    detail = response.data.get("detail", "") if isinstance(response.data, dict) else ""
    response.data = {"code": code, "detail": str(detail)}
    return response


def _build_refusal(error: Exception) -> Refusal | None:
    """Return the response to an exception of the application."""
    build = next((_builders[c] for c in type(error).__mro__ if c in _builders), None)
    return None if build is None else build(error)


def _fields(detail: Any) -> dict[str, list[str]]:
    """Map fields to messages, however deep the framework nests them."""
    if isinstance(detail, Mapping):
        return {
            str(name): [str(w) for words in _fields(inner).values() for w in words]
            for name, inner in detail.items()
        }
    if isinstance(detail, list | tuple):
        return {
            "": [str(w) for inner in detail for words in _fields(inner).values() for w in words]
        }
    return {"": [str(detail)]}


#: Any address may refuse odd text, a missing or throttled token, a role, a one-time password.
EVERYWHERE = (400, 401, 403, 404, 429)
_SAYS = {
    400: ("invalid", "Some fields are invalid."),
    401: ("not_authenticated", "Authentication credentials were not provided."),
    403: ("not_allowed", "This needs the role study admin in this study."),
    404: ("not_found", MISSING),
    409: ("conflict", "You have decided on this item already. Nothing was changed."),
    412: ("changed", "It was changed meanwhile. Read it again, and send its new ETag."),
    413: ("too_large", "The request is too large."),
    415: ("unsupported_media_type", "Unsupported media type in request."),
    422: ("refused", "There is no such answer."),
    428: ("etag_required", "Send the ETag of what you read as If-Match."),
    429: ("throttled", "Too many attempts. Try again in 15 min."),
}


def describe_errors(*statuses: int) -> dict[int, OpenApiResponse]:
    """Describe these error responses for OpenAPI, and those of every address."""
    found = {}
    for status in sorted({*EVERYWHERE, *statuses}):
        code, detail = _SAYS[status]
        example = OpenApiExample(
            code,
            value={"code": code, "detail": detail},
            status_codes=[str(status)],
            response_only=True,
        )
        found[status] = OpenApiResponse(
            ErrorSerializer, description=HTTPStatus(status).phrase, examples=[example]
        )
    return found
