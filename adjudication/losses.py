"""What deleting cases deletes here (`ehr.registry.register_losses`)."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Count, Q, QuerySet

from adjudication.models import Game, JudgeRun, Packet, PacketItem
from ehr.models import Dataset, Encounter
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


def dataset_losses(dataset: Dataset) -> Iterator[Loss]:
    """Yield packets, which are never deleted, and judge runs of the dataset."""
    items = PacketItem.objects.filter(finding__game__comparison__encounter__dataset=dataset)
    packets = Packet.objects.filter(pk__in=items.values("packet"))
    yield Loss(packets.count(), "review packets", "review packet", Keep.ALWAYS)
    yield Loss(len(_only_judge_runs(dataset)), "judge runs", "judge run")


def delete_of_dataset(dataset: Dataset) -> None:
    """Delete judge runs over this dataset alone that have no packet."""
    JudgeRun.objects.filter(pk__in=_only_judge_runs(dataset)).delete()


def _only_judge_runs(dataset: Dataset) -> list[int]:
    counted = JudgeRun.objects.filter(study=dataset.study_id).annotate(
        all=Count("datasets", distinct=True),
        this=Count("datasets", distinct=True, filter=Q(datasets=dataset)),
    )
    alone = counted.filter(all=1, this=1, packets__isnull=True)
    return list(alone.values_list("pk", flat=True))
