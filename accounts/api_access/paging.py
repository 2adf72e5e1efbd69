"""Pages of lists.

Short lists count and skip. Lists that grow with a cohort continue after the last row of the page
before, so that every page costs the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from django.db.models import Model, QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.request import Request

M = TypeVar("M", bound=Model)
T = TypeVar("T")
MOST = 500
LIMIT = OpenApiParameter(
    "limit",
    {"type": "integer", "minimum": 1, "maximum": MOST},
    description=f"Items per page, at most {MOST}.",
)
OFFSET = OpenApiParameter("offset", {"type": "integer", "minimum": 0}, description="Items to skip.")
AFTER = OpenApiParameter("after", str, description="`next` of the page before.")


class ShortPages(LimitOffsetPagination):
    """Counted pages, for lists that stay short enough to count."""

    default_limit = 50
    max_limit = MOST


def load_page(
    request: Request, rows: Iterable[T], lines: Callable[[list[T]], Sequence[object]] = list
) -> dict[str, Any]:
    """Return {count, next, previous, results} for the requested rows.

    `rows` are a queryset or a sequence; `lines` converts them to results.
    """
    pages = ShortPages()
    found = pages.paginate_queryset(cast(QuerySet[Any], rows), request)
    answer: dict[str, Any] = pages.get_paginated_response(lines(list(found or []))).data
    return answer


def read_number(request: Request, name: str, default: int, least: int, most: int) -> int:
    """Return a whole number of the query. Raises ValidationError."""
    if (asked := request.query_params.get(name)) is None:
        return default
    if not (asked.isascii() and asked.isdigit() and least <= int(asked[:19]) <= most):
        raise serializers.ValidationError({name: [f"A whole number from {least} to {most}."]})
    return int(asked[:19])


def read_limit(request: Request) -> int:
    """Return the requested number of rows. Raises ValidationError."""
    return read_number(request, "limit", 100, 1, MOST)


def read_choice(request: Request, name: str, choices: Sequence[str]) -> str:
    """Return a word of the query, empty if none is sent.

    Raises ValidationError for another word.
    """
    asked = request.query_params.get(name, "")
    if asked and asked not in choices:
        raise serializers.ValidationError({name: [f"One of {', '.join(choices)}."]})
    return asked


def load_next_page(rows: QuerySet[M], request: Request) -> tuple[list[M], str | None]:
    """Return the rows after the public id `after`, and the next `after`.

    The rows are in order of age. Raises Http404 if `after` is none of them, ValidationError.
    """
    limit, after = read_limit(request), request.query_params.get("after", "")
    ordered = rows.order_by("pk")
    if after:
        ordered = ordered.filter(pk__gt=get_object_or_404(rows, public_id=after).pk)
    found: list[Any] = list(ordered[: limit + 1])
    return cut(found, limit, lambda row: str(row.public_id))


def cut(found: list[T], limit: int, name: Callable[[T], str]) -> tuple[list[T], str | None]:
    """Return the page, and the name of its last row if another page follows."""
    return found[:limit], name(found[limit - 1]) if len(found) > limit else None
