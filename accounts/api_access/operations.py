"""One operation of the API: its OpenAPI description and its response."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, wraps
from http import HTTPStatus
from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api_access.errors import describe_errors
from accounts.api_access.etags import ETAG, IF_MATCH
from accounts.api_access.idempotency import KEY, answer_once

Body = serializers.Serializer[Any]


def make_choices(kind: Iterable[str]) -> list[tuple[str, str]]:
    """Return choices of a field whose values are their own labels."""
    return [(str(value), str(value)) for value in kind]


#: (status, content type) → type of the file.
Files = Mapping[tuple[int, str], OpenApiTypes | type[Body]]


def operation(
    tag: str,
    name: str,
    gives: type[Body] | Files | None,
    refuses: Sequence[int] = (),
    many: bool = False,
    takes: type[Body] | Mapping[str, type[Body]] | None = None,
    status: HTTPStatus = HTTPStatus.OK,
    parameters: Sequence[OpenApiParameter] = (),
    etag: Callable[[Any], str] | None = None,
    edits: bool = False,
    starts: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., HttpResponseBase]]:
    """Respond with the method's result, described by the serializer `gives`.

    `many`: a list of them. Without `gives` the response is empty (204). Methods for files return
    their response themselves. `refuses`: statuses besides those of every address (`errors.EVERYWHERE`) and of bodies.
    `etag` makes the ETag of a result; a method that `edits` checks it (`etags.check_match`). One
    that `starts` something may be sent again with its Idempotency-Key.
    """
    if gives is None:
        answers: Mapping[Any, Any] = {HTTPStatus.NO_CONTENT.value: None}
    elif isinstance(gives, Mapping):
        answers = gives
    else:
        answers = {status.value: gives(many=True) if many else gives}
    headers = [
        *([ETAG] if etag else []),
        *([IF_MATCH] if edits else []),
        *([KEY] if starts else []),
    ]
    also = [*([413, 415] if takes else []), *([409] if starts else [])]
    also += [412, 428] if edits else []

    def respond(method: Callable[..., Any], *args: Any, **ids: Any) -> HttpResponseBase:
        found = method(*args, **ids)
        if gives is None:
            return Response(status=HTTPStatus.NO_CONTENT)
        if isinstance(gives, Mapping):
            assert isinstance(found, HttpResponseBase)
            return found
        response = Response(gives(found, many=many).data, status=status)
        if etag is not None:
            response["ETag"] = etag(found)
        return response

    def made(method: Callable[..., Any]) -> Callable[..., HttpResponseBase]:
        @extend_schema(
            operation_id=name,
            tags=[tag],
            parameters=[*parameters, *headers],
            request=takes,
            responses={**answers, **describe_errors(*refuses, *also)},
        )
        @wraps(method)
        def answer(view: Any, request: Request, *args: Any, **ids: Any) -> HttpResponseBase:
            respond_now = partial(respond, method, view, request, *args, **ids)
            return answer_once(request, respond_now) if starts else respond_now()

        return answer

    return made
