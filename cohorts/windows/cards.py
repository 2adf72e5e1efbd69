"""The card of the home page: stays whose membership the record changes."""

from __future__ import annotations

from django.db.models import F
from django.urls import reverse

from accounts.models import Study, User
from accounts.permissions import user_can_open_cases
from accounts.registry import Card, Link
from accounts.wording import format_count
from cohorts.models import WindowResult
from cohorts.values import Source
from jobs.models import JobState
from timelines.access.closed import closed_encounters

SHOWN = 3


def window_card(user: User, study: Study) -> Card | None:
    """Return the newest result of each window with how many stays change; None without one."""
    if not user_can_open_cases(user, study):
        return None
    done = WindowResult.objects.filter(
        version__window__study=study,
        version__window__archived_at__isnull=True,
        state=JobState.SUCCEEDED,
    )
    newest = done.order_by("version__window_id", "-pk").distinct("version__window_id")
    results = sorted(newest.select_related("version__window"), key=lambda r: r.version.window.name)
    if not results:
        return None
    closed = list(closed_encounters(user))
    lines = [_line(result, closed) for result in results[:SHOWN]]
    links = [
        Link(result.version.window.name, reverse("cohorts:window_result", args=[result.public_id]))
        for result in results[:SHOWN]
    ]
    return Card("Windows", lines, links)


def _line(result: WindowResult, closed: list[int]) -> str:
    members = result.members.exclude(encounter__in=closed)
    changed = members.exclude(first=F("second")).count()
    first, second = Source(result.first).words, Source(result.second).words
    stays = format_count(changed, "stay has", "stays have")
    return f"{result.version.window.name}: {stays} another answer {second} than by the {first}."
