"""What deleting cases deletes here (`ehr.registry.register_losses`)."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import QuerySet

from adjudication.models import Game, PacketItem
from ehr.models import Encounter
from ehr.registry import Keep, Loss


def adjudication_losses(encounters: QuerySet[Encounter]) -> Iterator[Loss]:
    """Yield findings in packets, which are never deleted, and judged games."""
    cases = encounters.values("pk")
    items = PacketItem.objects.filter(finding__game__comparison__encounter__in=cases)
    yield Loss(
        items.values("finding").distinct().count(),
        "findings in review packets",
        "finding in a review packet",
        Keep.ALWAYS,
    )
    yield Loss(
        Game.objects.filter(comparison__encounter__in=cases).count(), "judged games", "judged game"
    )
