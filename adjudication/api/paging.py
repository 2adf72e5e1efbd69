"""Pages of lists.

Short lists count and skip. Games, findings and changes continue after the last row of the page
before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.pagination import LimitOffsetPagination
from rest_framework.request import Request

from adjudication.findings.changes import ChangeLine, Changes
from adjudication.models import Finding, Game, JudgeRun

M = TypeVar("M", bound=Model)
T = TypeVar("T")
MOST = 500
LIMIT = OpenApiParameter("limit", int, description=f"Items per page, at most {MOST}.")
OFFSET = OpenApiParameter("offset", int, description="Items to skip.")
AFTER = OpenApiParameter("after", str, description="`next` of the page before.")


class ShortPages(LimitOffsetPagination):
    """Counted pages, for lists that stay short enough to count."""

    default_limit = 50
    max_limit = MOST


def load_page(
    request: Request, rows: QuerySet[M], lines: Callable[[list[M]], Sequence[object]] = list
) -> dict[str, Any]:
    """Return {count, next, previous, results} for the requested rows.

    `lines` converts the rows to results.
    """
    pages = ShortPages()
    found = pages.paginate_queryset(rows, request)
    answer: dict[str, Any] = pages.get_paginated_response(lines(list(found or []))).data
    return answer


def read_limit(request: Request) -> int:
    """Return the requested number of rows. Raises ValidationError."""
    asked = request.query_params.get("limit", "100")
    if not asked.isascii() or not asked.isdigit() or not 1 <= int(asked[:9]) <= MOST:
        raise serializers.ValidationError({"limit": [f"A whole number from 1 to {MOST}."]})
    return int(asked)


def load_game_page(
    games: QuerySet[Game], run: JudgeRun, after: str, limit: int
) -> tuple[list[Game], str | None]:
    """Return at most `limit` games by age, and `after` of the next page.

    Raises Http404 if `after` is a game of another run.
    """
    rows = games.order_by("pk")
    if after:
        rows = rows.filter(pk__gt=get_object_or_404(Game, run=run, public_id=after).pk)
    return _cut(list(rows[: limit + 1]), limit, lambda game: game.public_id)


def load_finding_page(
    findings: QuerySet[Finding], run: JudgeRun, after: str, limit: int
) -> tuple[list[Finding], str | None]:
    """Return at most `limit` findings by game, and `after` of the next page.

    Raises Http404 if `after` is a finding of another run.
    """
    rows = findings.order_by("game_id", "ordinal")
    if after:
        last = get_object_or_404(Finding, game__run=run, public_id=after)
        later = Q(game_id__gt=last.game_id) | Q(ordinal__gt=last.ordinal)
        rows = rows.filter(later, game_id__gte=last.game_id)
    return _cut(list(rows[: limit + 1]), limit, lambda finding: finding.public_id)


def load_change_page(
    changes: Changes, runs: Sequence[JudgeRun], after: str, limit: int
) -> tuple[list[ChangeLine], str | None]:
    """Return at most `limit` changes of two runs, and the next `after`.

    Raises Http404 if `after` is a finding of other runs.
    """
    place = None
    if after:
        findings = Finding.objects.select_related("game__comparison__encounter")
        place = get_object_or_404(findings, game__run__in=runs, public_id=after)
    found = changes.load_lines(place, limit + 1)
    return _cut(found, limit, lambda line: line.either.finding.public_id)


def _cut(found: list[T], limit: int, public_id: Callable[[T], str]) -> tuple[list[T], str | None]:
    """Return the page, and its last public id if another page follows."""
    return found[:limit], public_id(found[limit - 1]) if len(found) > limit else None
