"""Pages of games, findings and changes, which grow with the cohort."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404

from accounts.api_access.paging import cut
from adjudication.findings.changes import ChangeLine, Changes
from adjudication.findings.pages import FindingPages
from adjudication.models import Finding, Game, JudgeRun


def load_game_page(
    games: QuerySet[Game], run: JudgeRun, after: str, limit: int
) -> tuple[list[Game], str | None]:
    """Return at most `limit` games by age, and `after` of the next page.

    Raises Http404 if `after` is a game of another run.
    """
    rows = games.order_by("pk")
    if after:
        rows = rows.filter(pk__gt=get_object_or_404(Game, run=run, public_id=after).pk)
    return cut(list(rows[: limit + 1]), limit, lambda game: game.public_id)


def load_finding_page(
    pages: FindingPages, after: str, limit: int
) -> tuple[list[Finding], str | None]:
    """Return at most `limit` findings, and `after` of the next page.

    Raises Http404 if `after` is a finding of another run.
    """
    last = get_object_or_404(Finding, run=pages.run, public_id=after) if after else None
    return cut(pages.load(limit + 1, after=last), limit, lambda finding: finding.public_id)


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
    return cut(found, limit, lambda line: line.either.finding.public_id)
