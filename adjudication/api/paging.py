"""Pages of lists. Short lists count and skip; findings go on from where the last page ended, at the same speed wherever that is."""

from __future__ import annotations

from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet
from django.http import Http404
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.request import Request
from rest_framework.response import Response

from adjudication.models import Finding, JudgeRun

M = TypeVar("M", bound=Model)
MOST = 500
LIMIT = OpenApiParameter("limit", int, description=f"How many at once, at most {MOST}.")
OFFSET = OpenApiParameter("offset", int, description="How many to leave out before them.")
AFTER = OpenApiParameter("after", str, description="`next` of the page before.")


class ShortPages(LimitOffsetPagination):
    """Counted pages, for lists that stay short enough to count."""

    default_limit = 50
    max_limit = MOST


def page_of(request: Request, rows: QuerySet[M]) -> tuple[ShortPages, list[M]]:
    """The asked rows, and what makes the answer of them."""
    pages = ShortPages()
    found = pages.paginate_queryset(rows, request)
    return pages, list(found or [])


def paged(pages: ShortPages, bodies: Any) -> Response:
    """{count, next, previous, results}."""
    return pages.get_paginated_response(bodies)


def limit_of(request: Request, default: int = 100) -> int:
    """How many findings at once. Raises ValidationError."""
    asked = request.query_params.get("limit", str(default))
    if not asked.isascii() or not asked.isdigit() or not 1 <= int(asked[:9]) <= MOST:
        raise serializers.ValidationError({"limit": [f"A whole number from 1 to {MOST}."]})
    return int(asked)


def findings_after(findings: QuerySet[Finding], run: JudgeRun, after: str, limit: int) -> tuple[list[Finding], str | None]:
    """At most `limit` findings in the order of games, and how the next page is asked for. Raises Http404 for a finding of another run."""
    rows = findings.order_by("game_id", "ordinal")
    if after:
        place = Finding.objects.filter(game__run=run, public_id=after).values_list("game_id", "ordinal").first()
        if place is None:
            raise Http404
        game, ordinal = place
        rows = rows.filter(Q(game_id__gt=game) | Q(ordinal__gt=ordinal), game_id__gte=game)
    found = list(rows[: limit + 1])
    return found[:limit], found[limit - 1].public_id if len(found) > limit else None
