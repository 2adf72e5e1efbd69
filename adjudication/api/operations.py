"""One operation of the API: its OpenAPI description and its response."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from http import HTTPStatus
from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from adjudication.api.errors import describe_errors

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
    takes: type[Body] | None = None,
    status: HTTPStatus = HTTPStatus.OK,
    parameters: Sequence[OpenApiParameter] = (),
) -> Callable[[Callable[..., Any]], Callable[..., HttpResponseBase]]:
    """Respond with the method's result, described by the serializer `gives`.

    `many`: a list of them. Without `gives` the response is empty (204). Methods for files return
    their response themselves. `refuses`: statuses besides 401 and 404, and 400 for a body.
    """
    if gives is None:
        answers: Mapping[Any, Any] = {HTTPStatus.NO_CONTENT.value: None}
    elif isinstance(gives, Mapping):
        answers = gives
    else:
        answers = {status.value: gives(many=True) if many else gives}

    def made(method: Callable[..., Any]) -> Callable[..., HttpResponseBase]:
        @extend_schema(
            operation_id=name,
            tags=[tag],
            parameters=list(parameters),
            request=takes,
            responses={**answers, **describe_errors(*refuses, *([400] if takes else []))},
        )
        @wraps(method)
        def answer(*args: Any, **ids: Any) -> HttpResponseBase:
            found = method(*args, **ids)
            if gives is None:
                return Response(status=HTTPStatus.NO_CONTENT)
            if isinstance(gives, Mapping):
                assert isinstance(found, HttpResponseBase)
                return found
            return Response(gives(found, many=many).data, status=status)

        return answer

    return made
